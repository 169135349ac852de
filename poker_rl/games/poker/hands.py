"""Hands of poker as short rows of bytes: their cards and actions, and nothing the rules can tell.

A table takes 768 bytes; most of it is what the actions so far have led to. A row keeps the deal and
the actions, and the rules play as many of them again as are asked for.
"""

from __future__ import annotations

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.table_checks import check_decks
from poker_rl.games.tables import Tables


class Hands:
    """Packs tables of a game whose records keep their `line` of actions.

    Attributes:
        width: bytes of a row.

    Raises:
        Refused: if the game is of another kind.
    """

    def __init__(self, game: Game) -> None:
        if not {"line", "moves"} <= set(game.table.names or ()):
            raise Refused(f"tables of {game.name} do not keep their actions; those of poker do")
        self._dealt = int(game.record["dealt"].max())
        self._row = np.dtype(
            [("deck", "i1", self._dealt), ("variant", "u1"), ("line", game.table["line"])]
        )
        self.width = self._row.itemsize
        self._tables = Tables(game, 0, 0)

    def pack(self, records: np.ndarray) -> np.ndarray:
        """Tables [B], all their actions so far -> [B, width] uint8."""
        rows = np.zeros(len(records), self._row)
        rows["deck"] = records["deck"][:, : self._dealt]
        rows["variant"] = records["variant"]
        played = np.arange(rows["line"].shape[1]) < records["moves"][:, None]
        rows["line"] = np.where(played, records["line"], 0)
        return rows.view(np.uint8).reshape(len(rows), self.width)

    def tables(self, rows: np.ndarray, moves: np.ndarray) -> Tables:
        """The tables as they were after so many actions [B]; good until the next call."""
        hands = np.ascontiguousarray(rows).view(self._row)[:, 0]
        self._tables.use(np.zeros(len(hands), self._tables.records.dtype))
        self._tables.deal(decks=hands["deck"], variants=hands["variant"])
        self._tables.replay(hands["line"], moves)
        return self._tables

    def check(self, rows: np.ndarray, moves: np.ndarray) -> None:
        """Check rows from a file: whether so many of their actions [B] can be played.

        Raises:
            ValueError: if they can't.
        """
        hands = np.ascontiguousarray(rows).view(self._row)[:, 0]
        check_decks(self._tables.game, hands["deck"], hands["variant"])
        if int(moves.max(initial=0)) > hands["line"].shape[1]:
            raise ValueError(f"{moves.max()} actions of a hand, at most {hands['line'].shape[1]}")
        self.tables(rows, moves)

    def action(self, rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """The action taken after so many [B], [B] int64."""
        line = np.ascontiguousarray(rows).view(self._row)[:, 0]["line"]
        action: np.ndarray = line[np.arange(len(line)), moves].astype(np.int64)
        return action
