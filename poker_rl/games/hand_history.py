"""Hand histories: the cards and actions of a hand, from which the rules replay it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables


@dataclass(frozen=True)
class HandHistory:
    """The cards and actions of a hand that is over or still in play."""

    deck: tuple[int, ...]  # all cards that the hand may use, in the order dealt
    actions: tuple[int, ...]
    variant: int = 0  # index of the game's definition in play


def hand_history_from_record(game: Game, record: np.void, actions: tuple[int, ...]) -> HandHistory:
    """Return the history of a hand from its actions and its table's record, which has the cards."""
    variant = int(record["variant"])
    deck = record["deck"][: game.definitions[variant]["dealt"]]
    return HandHistory(tuple(deck.tolist()), actions, variant)


def replay_hand(game: Game, history: HandHistory) -> Iterator[np.ndarray]:
    """Yield a copy of the table, an array of one record, before each action and after the last."""
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.array([history.deck]), variants=history.variant)
    yield tables.records.copy()
    for action in history.actions:
        tables.step(np.array([action]))
        yield tables.records.copy()


class TablePacker:
    """Converter of poker tables to rows of bytes, which take less memory in a replay buffer.

    A row has `row_bytes` bytes: the cards, the index of the definition and the actions. The record
    of a poker table has at least 768 bytes.
    """

    def __init__(self, game: Game) -> None:
        if not {"line", "moves"} <= set(game.table_dtype.names or ()):
            raise ConfigError(f"tables of {game.name} do not keep their actions; those of poker do")
        line_dtype = game.table_dtype["line"]
        self._cards_dealt = int(game.definitions["dealt"].max())
        fields = ("deck", "i1", self._cards_dealt), ("variant", "u1"), ("line", line_dtype)
        self._row_dtype = np.dtype(list(fields))
        self.row_bytes = self._row_dtype.itemsize
        self._tables = Tables(game, 0, 0)

    def pack(self, records: np.ndarray) -> np.ndarray:
        """Return the cards and actions of B tables as rows of bytes, [B, row_bytes] uint8."""
        rows = np.zeros(len(records), self._row_dtype)
        rows["deck"] = records["deck"][:, : self._cards_dealt]
        rows["variant"] = records["variant"]
        is_played = np.arange(rows["line"].shape[1]) < records["moves"][:, None]
        rows["line"] = np.where(is_played, records["line"], 0)
        return rows.view(np.uint8).reshape(len(rows), self.row_bytes)

    def unpack_tables(self, rows: np.ndarray, move_counts: np.ndarray) -> Tables:
        """Return the tables of packed rows after their first `move_counts` [B] actions.

        The next call overwrites these tables.
        """
        packed_hands = self._view_hands(rows)
        self._tables.load_records(np.zeros(len(packed_hands), self._tables.records.dtype))
        self._tables.deal(decks=packed_hands["deck"], variants=packed_hands["variant"])
        self._tables.replay(packed_hands["line"], move_counts)
        return self._tables

    def get_next_actions(self, rows: np.ndarray, move_counts: np.ndarray) -> np.ndarray:
        """Return each packed row's action after its first `move_counts` actions, [B] int64."""
        lines = self._view_hands(rows)["line"]
        return np.asarray(lines[np.arange(len(lines)), move_counts], np.int64)

    def _view_hands(self, rows: np.ndarray) -> np.ndarray:
        hands: np.ndarray = np.ascontiguousarray(rows).view(self._row_dtype)[:, 0]
        return hands
