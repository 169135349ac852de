"""Many tables of one game, advanced together.

The loops below are written once and compiled for each game's rules: their globals are the rules
module's, so `step` in a loop is that game's `step`. Each has a serial and a parallel form; waking
threads costs more than a short loop saves, so the parallel one is for calls worth milliseconds.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def, name-defined"

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game, choose, rule

PARALLEL_ROWS = 16_384


def deal_loop(game, tables, rows):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        choose(game, table)
        deal(game[table.variant], table)
        start(game[table.variant], table)


def start_loop(game, tables, rows):
    for i in prange(len(rows)):
        start(game[tables[rows[i]].variant], tables[rows[i]])


def legal_loop(game, tables, rows, out):
    for i in prange(len(rows)):
        legal(game[tables[rows[i]].variant], tables[rows[i]], out[i])


def step_loop(game, tables, rows, actions):
    illegal = 0
    for i in prange(len(rows)):
        step(game[tables[rows[i]].variant], tables[rows[i]], actions[i])
        illegal += tables[rows[i]].error != 0
    return illegal


def replay_loop(game, tables, rows, lines, counts):
    illegal = 0
    for i in prange(len(rows)):
        table = tables[rows[i]]
        for j in range(counts[i]):
            step(game[table.variant], table, lines[i, j])
            if table.error != 0:
                illegal += 1
                break
    return illegal


def observe_loop(game, tables, rows, out):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        observe(game[table.variant], table, table.to_act, out[i])


def history_loop(game, tables, rows, out, lengths):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        lengths[i] = history(game[table.variant], table, table.to_act, out[i])


def reveal_loop(game, tables, rows, out):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        reveal(game[table.variant], table, table.to_act, out[i])


def infoset_loop(game, tables, rows, out):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        infoset(game[table.variant], table, table.to_act, out[i])


def redeal_loop(game, tables, rows):
    for i in prange(len(rows)):
        redeal(game[tables[rows[i]].variant], tables[rows[i]])


def payoffs_loop(game, tables, rows, out):
    for i in prange(len(rows)):
        payoffs(game[tables[rows[i]].variant], tables[rows[i]], out[i])


def advance_loop(game, tables, actions, observations, masks, won, over):
    illegal = 0
    for i in prange(len(actions)):
        table = tables[i]
        played = game[table.variant]
        step(played, table, actions[i])
        illegal += table.error != 0
        over[i] = table.over
        if table.over and table.error == 0:
            payoffs(played, table, won[i])
            choose(game, table)
            played = game[table.variant]
            deal(played, table)
            start(played, table)
        observe(played, table, table.to_act, observations[i])
        legal(played, table, masks[i])
    return illegal


@rule
def first_wrong_deck(decks, dealt, cards):
    """Return the first row whose first `dealt` cards are not different ones below `cards`, or -1.

    Args:
        decks: [B, D] int64.
        dealt: [B] int64.
    """
    last_row = np.full(cards, -1)  # in which each card was seen
    for i in range(len(decks)):
        for j in range(dealt[i]):
            card = decks[i, j]
            if card < 0 or card >= cards or last_row[card] == i:
                return i
            last_row[card] = i
    return -1


@cache
def compiled(loop: Any, rules: ModuleType, parallel: bool) -> Any:
    """`loop` with `rules` for its globals, compiled; numba keeps it on disk under its own name."""
    names = {**vars(rules), "choose": choose, "prange": numba.prange if parallel else range}
    bound = FunctionType(loop.__code__, names, loop.__name__)
    bound.__qualname__ = f"{rules.__name__}.{loop.__name__}.{'parallel' if parallel else 'serial'}"
    return numba.njit(
        bound, cache=True, nogil=True, error_model="numpy", parallel=parallel, boundscheck=False
    )


def copied(records: np.ndarray) -> np.ndarray:
    """A copy of tables [B], byte by byte: numpy goes field by field, six times as slowly."""
    whole = np.ascontiguousarray(records)
    return whole.view(np.uint8).copy().view(records.dtype)


class Tables:
    """`count` tables of one game. What a method returns is new memory and may be kept.

    Args:
        game: the game played.
        count: number of tables, B.
        seed: start of the tables' random states; table i of a seed always sees the same cards.

    Raises:
        ValueError: from `step`, `replay` and `advance`, if an action was illegal or the hand was
            over. That table is as it was before this action, and every other action was played.
    """

    def __init__(self, game: Game, count: int, seed: int) -> None:
        self.game = game
        self.records = np.zeros(count, game.table)
        if count:  # a seed takes longer than all the rest
            self.records["key"] = np.random.SeedSequence(seed).generate_state(count, np.uint64)
        self.records["over"] = 1  # until a hand is dealt
        self._record = game.record
        self._all = np.arange(count)

    def use(self, records: np.ndarray) -> None:
        """Take these tables, [B] of the game's dtype, in place of the present ones."""
        self.records = np.ascontiguousarray(records)
        self._all = np.arange(len(records))

    def run(self, loop: Any, rows: np.ndarray | None, *arrays: np.ndarray) -> Any:
        """Run one of this module's loops over some rows, all of them if None; what it returns."""
        rows = self._all if rows is None else np.ascontiguousarray(rows, np.int64)
        parallel = len(rows) >= PARALLEL_ROWS and numba.get_num_threads() > 1
        return compiled(loop, self.game.rules, parallel)(self._record, self.records, rows, *arrays)

    def count(self, rows: np.ndarray | None) -> int:
        """Number of rows meant by `rows`."""
        return len(self.records) if rows is None else len(rows)

    def deal(
        self,
        rows: np.ndarray | None = None,
        decks: np.ndarray | None = None,
        variants: np.ndarray | int = 0,
    ) -> None:
        """Start new hands, with cards from `decks` [B, dealt] if given, else random ones.

        Args:
            decks: the cards of each hand in the order dealt, integers. Where definitions deal
                different numbers of cards, a row may have as many as the longest of them.
            variants: which of the game's definitions the tables given cards play, [B] or for all.

        Raises:
            ValueError: if decks or variants are none of the game; then no hand is started.
        """
        if decks is None:
            self.run(deal_loop, rows)
            return
        tables = self._all if rows is None else rows
        variant = np.broadcast_to(variants, len(tables))
        if len(variant) and not 0 <= variant.min() <= variant.max() < len(self._record):
            raise ValueError(f"variants: {variants} is not in 0 to {len(self._record) - 1}")
        decks = np.asarray(decks)
        self._check_decks(decks, self._record["dealt"][variant].astype(np.int64))
        self._deal_unchecked(decks, variant, rows)

    def _deal_unchecked(
        self, decks: np.ndarray, variants: np.ndarray, rows: np.ndarray | None = None
    ) -> None:
        """Start new hands with decks [B, dealt] of other tables of the game, which are its cards.

        A row may have more cards than a hand needs.
        """
        tables = self._all if rows is None else rows
        self.records["deck"][tables, : decks.shape[1]] = decks
        self.records["variant"][tables] = variants
        self.run(start_loop, rows)

    def _check_decks(self, decks: np.ndarray, dealt: np.ndarray) -> None:
        """Check that decks are integers [B, dealt], and those of a row different cards.

        Args:
            dealt: the number of cards that each hand needs, [B].

        Raises:
            ValueError: if they are not.
        """
        least, most = dealt.max(initial=0), self._record["dealt"].max()
        if decks.dtype.kind not in "iu":
            raise ValueError(f"decks: cards are integers, not {decks.dtype}")
        if decks.ndim != 2 or len(decks) != len(dealt) or not least <= decks.shape[1] <= most:
            raise ValueError(
                f"decks: the shape {decks.shape} is not ({len(dealt)}, {least}), a row for each"
                f" table with the cards of a hand"
            )
        shuffled = Tables(self.game, 1, 0)
        shuffled.deal()
        cards = int(shuffled.records["deck"].max()) + 1  # a shuffled deck holds all cards
        wrong = first_wrong_deck(np.ascontiguousarray(decks, np.int64), dealt, cards)
        if wrong >= 0:
            row = decks[wrong, : dealt[wrong]].tolist()
            raise ValueError(f"decks: {row} is not {len(row)} different cards of 0 to {cards - 1}")

    def definitions(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The definition each table plays by, [B] records of the game's."""
        variant = self.records["variant"]
        # whole records: indexing goes field by field
        return self._record.take(variant if rows is None else variant[rows])

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        """What each seat to act sees, [B, W] of the game's dtype."""
        shape = self.count(rows), self.game.observation_size
        out = np.empty(shape, self.game.observation_dtype)
        self.run(observe_loop, rows, out)
        return out

    def history(self, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The actions so far as each seat to act sees them, oldest first.

        Returns:
            steps [B, L, F] float32, L being the length of the longest, and lengths [B] int64; a
            shorter one ends in zeros.

        Raises:
            Refused: if the game's rules tell no history.
        """
        if not self.game.history_size:
            raise Refused(f"game: {self.game.name} tells no history of actions")
        count, width = self.count(rows), self.game.history_size
        lengths = np.empty(count, np.int64)
        self.run(history_loop, rows, np.empty((count, 0, width), np.float32), lengths)
        out = np.zeros((count, int(lengths.max(initial=0)), width), np.float32)
        self.run(history_loop, rows, out, lengths)
        return out, lengths

    def reveal(self, rows: np.ndarray | None = None) -> np.ndarray:
        """What is hidden from each seat to act, [B, H] uint8."""
        out = np.empty((self.count(rows), self.game.hidden_size), np.uint8)
        self.run(reveal_loop, rows, out)
        return out

    def legal(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Which actions each seat to act may take, [B, A] bool."""
        out = np.empty((self.count(rows), self.game.actions), np.bool_)
        self.run(legal_loop, rows, out)
        return out

    def infosets(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Key of the information set of each seat to act, [B] bytes."""
        out = np.empty((self.count(rows), self.game.infoset_size), np.uint8)
        self.run(infoset_loop, rows, out)
        return out.view(f"S{self.game.infoset_size}")[:, 0]

    def redeal(self, rows: np.ndarray | None = None) -> None:
        """Draw anew what each seat to act can't see, by its table's own random state.

        Raises:
            Refused: if the game's rules don't tell how.
        """
        if not hasattr(self.game.rules, "redeal"):
            raise Refused(f"game: the rules of {self.game.name} have no `redeal`")
        self.run(redeal_loop, rows)

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Play one action [B] at each table."""
        if len(actions) != self.count(rows):
            raise ValueError(f"{len(actions)} actions for {self.count(rows)} tables")
        if self.run(step_loop, rows, np.ascontiguousarray(actions, np.int64)):
            raise self._illegal(actions, self._all if rows is None else rows)

    def replay(self, lines: np.ndarray, counts: np.ndarray) -> None:
        """Play the first counts [B] of the actions in lines [B, L] at each table."""
        if self.run(replay_loop, None, lines.astype(np.int64), counts.astype(np.int64)):
            raise self._illegal(["of a line"] * len(lines), self._all)

    def _illegal(self, actions: Sequence[object] | np.ndarray, rows: np.ndarray) -> ValueError:
        first = int(np.flatnonzero(self.records["error"][rows])[0])
        self.records["error"][rows] = 0  # the table takes the next action as if this had not been
        where = self.game.infoset_name(self.records[rows[first]])
        return ValueError(f"illegal action {actions[first]} at table {rows[first]}: {where}")

    def payoffs(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Chips won by each seat of finished hands, [B, seats] int64, each row summing to zero."""
        out = np.zeros((self.count(rows), self.game.seats), np.int64)
        self.run(payoffs_loop, rows, out)
        return out

    def advance(
        self,
        actions: np.ndarray,
        observations: np.ndarray,
        masks: np.ndarray,
        won: np.ndarray,
        over: np.ndarray,
    ) -> None:
        """Play one action [B] at every table, redeal those that end, and look at all of them.

        Writes in place: observations [B, W], of the game's dtype, and masks [B, A] of the seats now
        to act, and, where over [B] is 1, the chips won [B, seats] int64 in the hand that ended.
        """
        parallel = len(actions) >= PARALLEL_ROWS and numba.get_num_threads() > 1
        loop = compiled(advance_loop, self.game.rules, parallel)
        if loop(self._record, self.records, actions, observations, masks, won, over):
            raise self._illegal(actions, self._all)


def tables_of(game: Game, records: np.ndarray) -> Tables:
    """These tables [B] themselves: threads that share a game or a player make some of their own."""
    tables = Tables(game, 0, 0)
    tables.use(records)
    return tables
