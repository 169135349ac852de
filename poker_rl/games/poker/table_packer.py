"""Packing of poker tables into short rows of bytes, for replay buffers.

A table takes 768 bytes, but its state follows from the cards and the actions. A row has only these;
to restore a table, the rules replay the actions.
"""

from __future__ import annotations

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables


class TablePacker:
    """Packer of tables into rows with the cards and actions of their hands.

    Attributes:
        row_bytes: number of bytes in a row.
    """

    def __init__(self, game: Game) -> None:
        if not {"line", "moves"} <= set(game.table_dtype.names or ()):
            raise ConfigError(f"tables of {game.name} do not keep their actions; those of poker do")
        self._cards_dealt = int(game.definitions["dealt"].max())
        self._row_dtype = np.dtype(
            [
                ("deck", "i1", self._cards_dealt),
                ("variant", "u1"),
                ("line", game.table_dtype["line"]),
            ]
        )
        self.row_bytes = self._row_dtype.itemsize
        self._tables = Tables(game, 0, 0)

    def pack(self, records: np.ndarray) -> np.ndarray:
        """Return the cards and actions of tables [B] as rows, [B, row_bytes] uint8."""
        rows = np.zeros(len(records), self._row_dtype)
        rows["deck"] = records["deck"][:, : self._cards_dealt]
        rows["variant"] = records["variant"]
        is_played = np.arange(rows["line"].shape[1]) < records["moves"][:, None]
        rows["line"] = np.where(is_played, records["line"], 0)
        return rows.view(np.uint8).reshape(len(rows), self.row_bytes)

    def unpack_tables(self, rows: np.ndarray, move_counts: np.ndarray) -> Tables:
        """Return the tables after the first `move_counts` [B] actions of each row.

        The next call overwrites these tables.
        """
        packed_hands = self._view_hands(rows)
        self._tables.load_records(np.zeros(len(packed_hands), self._tables.records.dtype))
        self._tables.deal(decks=packed_hands["deck"], variants=packed_hands["variant"])
        self._tables.replay(packed_hands["line"], move_counts)
        return self._tables

    def get_next_actions(self, rows: np.ndarray, move_counts: np.ndarray) -> np.ndarray:
        """Return the action after the first `move_counts` [B] actions of each row, [B] int64."""
        lines = self._view_hands(rows)["line"]
        return np.asarray(lines[np.arange(len(lines)), move_counts], np.int64)

    def _view_hands(self, rows: np.ndarray) -> np.ndarray:
        hands: np.ndarray = np.ascontiguousarray(rows).view(self._row_dtype)[:, 0]
        return hands
