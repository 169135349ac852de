"""A batch of tables of one game, whose hands are played in compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game, jit
from poker_rl.games.table_loops import (
    acting_seat_output_rule_loop,
    compile_loop,
    deal_loop,
    observe_history_loop,
    output_rule_loop,
    replay_loop,
    step_autoreset_loop,
    step_loop,
    table_rule_loop,
)

MIN_PARALLEL_ROWS = 4096  # with fewer rows, starting threads costs more than it saves


def copy_records(records: np.ndarray) -> np.ndarray:
    """Return a copy of tables [B]; copying bytes is faster than NumPy's copy field by field."""
    contiguous = np.ascontiguousarray(records)
    return contiguous.view(np.uint8).copy().view(records.dtype)


class Tables:
    """A batch of B tables of one game; methods return new arrays, never views of the tables.

    `records` [B] has the record of each table. A method that takes `rows` works only on the tables
    with these indices, unless `rows` is None; the B in its shapes counts these tables. A is the
    number of actions, W the number of features of an observation. For a given `seed`, table i gets
    the same cards however many tables there are.

    Raises:
        ConfigError: if a method needs an optional compiled function that the game does not have.
        ValueError: from `step`, `replay` and `step_autoreset`, if an action is illegal or the hand
            is over. That table stays as it was before this action; the other tables do advance.
    """

    def __init__(self, game: Game, count: int, seed: int) -> None:
        self.game = game
        self.records = np.zeros(count, game.table_dtype)
        if count:  # an empty batch needs no keys, which take most of the time here
            self.records["key"] = np.random.SeedSequence(seed).generate_state(count, np.uint64)
        self.records["over"] = 1  # no hand is in play until the first deal
        self._definitions = game.definitions
        self._all_rows = np.arange(count)

    def load_records(self, records: np.ndarray) -> None:
        """Replace all tables with the tables in `records` [B]; a contiguous array is not copied."""
        self.records = np.ascontiguousarray(records)
        self._all_rows = np.arange(len(records))

    def run_table_loop(
        self, loop: Any, rows: np.ndarray | None, *arrays: np.ndarray | None, rule: str = ""
    ) -> Any:
        """Run a loop of `table_loops` and return its result; see `compile_loop` for `rule`."""
        rows = self._resolve_rows(rows)
        parallel = len(rows) >= MIN_PARALLEL_ROWS and numba.get_num_threads() > 1
        compiled_loop = compile_loop(loop, self.game.rules, parallel, rule)
        return compiled_loop(self._definitions, self.records, rows, *arrays)

    def _resolve_rows(self, rows: np.ndarray | None) -> np.ndarray:
        return self._all_rows if rows is None else np.ascontiguousarray(rows, np.int64)

    def deal(
        self,
        rows: np.ndarray | None = None,
        decks: np.ndarray | None = None,
        variants: np.ndarray | int = 0,
    ) -> None:
        """Start new hands with random cards or with the cards of `decks`.

        Args:
            decks: the cards of each hand in the order dealt, [B, D] integers, where D is at least
                the number of cards that a hand uses; ValueError is raised for invalid cards.
            variants: index of the definition for each deck, [B] or one integer for all.
        """
        if decks is None:
            self.run_table_loop(deal_loop, rows)
            return
        rows = self._resolve_rows(rows)
        decks = np.broadcast_to(decks, (len(rows), decks.shape[-1]))
        variants = np.broadcast_to(variants, len(rows))
        check_decks(self.game, decks, variants)
        self.records["deck"][rows, : decks.shape[1]] = decks
        self.records["variant"][rows] = variants
        self.run_table_loop(table_rule_loop, rows, rule="start")

    def gather_definitions(self) -> np.ndarray:
        """Return the definition in play at each table, [B] records."""
        # `take` copies whole records; indexing would copy field by field.
        return self._definitions.take(self.records["variant"])

    def count_seats(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the number of seats of the hand at each table, [B] int64."""
        variants = self.records["variant"] if rows is None else self.records["variant"][rows]
        seats: np.ndarray = self._definitions["seats"].astype(np.int64)
        return seats.take(variants)

    def _apply_rule(
        self, loop: Any, rule: str, rows: np.ndarray | None, size: int, dtype: Any
    ) -> np.ndarray:
        """Return the array [B, size] that a rule writes; raise ConfigError if the game lacks it."""
        if not size:
            raise ConfigError(f"game: {self.game.name} has no rule `{rule}`")
        out = np.zeros((len(self._resolve_rows(rows)), size), dtype)
        self.run_table_loop(loop, rows, out, rule=rule)
        return out

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the observation of each seat to act, [B, W] of `game.feature_dtype`."""
        size, dtype = self.game.observation_size, self.game.feature_dtype
        return self._apply_rule(acting_seat_output_rule_loop, "observe", rows, size, dtype)

    def write_observations(self, out: np.ndarray, *, sorted_suits: bool = False) -> None:
        """Write observations into `out` [B, W], with suits in canonical order if `sorted_suits`."""
        rule = "observe_sorted" if sorted_suits else "observe"
        self.run_table_loop(acting_seat_output_rule_loop, None, out, rule=rule)

    def observe_history(self, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions so far as each seat to act sees them, oldest first.

        The first array has F features of each action, [B, L, F] float32, padded with zeros to the
        length L of the longest sequence. The second has the number of actions, [B] int64.
        """
        step_size = self.game.history_step_size
        if not step_size:
            raise ConfigError(f"game: {self.game.name} has no rule `observe_history`")
        count = len(self._resolve_rows(rows))
        lengths = np.empty(count, np.int64)
        no_steps = np.empty((count, 0, step_size), np.float32)
        self.run_table_loop(observe_history_loop, rows, no_steps, lengths)
        out = np.zeros((count, int(lengths.max(initial=0)), step_size), np.float32)
        self.run_table_loop(observe_history_loop, rows, out, lengths)
        return out, lengths

    def observe_hidden_cards(
        self, rows: np.ndarray | None = None, *, sorted_suits: bool = False
    ) -> np.ndarray:
        """Return the cards hidden from each seat to act as H features, [B, H] uint8."""
        rule = "observe_hidden_cards_sorted" if sorted_suits else "observe_hidden_cards"
        size = self.game.hidden_card_size
        return self._apply_rule(acting_seat_output_rule_loop, rule, rows, size, np.uint8)

    def legal_mask(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the action mask of each seat to act, [B, A] bool."""
        return self._apply_rule(output_rule_loop, "legal", rows, self.game.action_count, np.bool_)

    def infoset_keys(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the key of the information set of each seat to act, [B] byte strings."""
        size = self.game.infoset_key_size
        keys = self._apply_rule(acting_seat_output_rule_loop, "infoset", rows, size, np.uint8)
        return keys.view(f"S{size}")[:, 0]

    def resample_hidden_cards(self) -> None:
        """Redeal at random the cards that each seat to act cannot see; random states advance."""
        if not hasattr(self.game.rules, "resample_hidden_cards"):
            raise ConfigError(f"game: {self.game.name} has no rule `resample_hidden_cards`")
        self.run_table_loop(table_rule_loop, None, rule="resample_hidden_cards")

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Play one action at each table; actions are [B]."""
        rows = self._resolve_rows(rows)
        if len(actions) != len(rows):
            raise ValueError(f"{len(actions)} actions for {len(rows)} tables")
        if self.run_table_loop(step_loop, rows, np.ascontiguousarray(actions, np.int64)):
            raise self._illegal_action_error(actions, rows)

    def replay(self, action_lines: np.ndarray, move_counts: np.ndarray) -> None:
        """Play the first `move_counts[i]` actions of row `action_lines[i]` at each table i."""
        arrays = action_lines.astype(np.int64), move_counts.astype(np.int64)
        if self.run_table_loop(replay_loop, None, *arrays):
            raise self._illegal_action_error(["of a line"] * len(action_lines), self._all_rows)

    def _illegal_action_error(
        self, actions: Sequence[object] | np.ndarray, rows: np.ndarray
    ) -> ValueError:
        first_index = int(np.flatnonzero(self.records["error"][rows])[0])
        self.records["error"][rows] = 0  # so that the next action is not counted as illegal
        row = rows[first_index]
        infoset_name = self.game.infoset_name(self.records[row])
        return ValueError(f"illegal action {actions[first_index]} at table {row}: {infoset_name}")

    def payoffs(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the chips that each seat won in finished hands, [B, seats]; rows sum to 0."""
        return self._apply_rule(output_rule_loop, "payoffs", rows, self.game.seats, np.int64)

    def step_autoreset(
        self,
        actions: np.ndarray,
        seats: np.ndarray,
        observations: np.ndarray | None,
        legal_masks: np.ndarray,
        payoffs: np.ndarray,
        is_over: np.ndarray,
    ) -> None:
        """Play one action [B] at every table, and start a new hand at each table whose hand ends.

        The other arguments are output arrays: the seats to act next, [B] int64; their observations,
        [B, W], or None to leave these out; their action masks, [B, A]; the chips won by each seat
        where a hand has just ended, [B, seats] int64 (other rows stay unchanged); and `is_over`,
        [B], 1 where a hand has just ended, else 0.
        """
        arrays = actions, seats, observations, legal_masks, payoffs, is_over
        if self.run_table_loop(step_autoreset_loop, None, *arrays):
            raise self._illegal_action_error(actions, self._all_rows)


def tables_from_records(game: Game, records: np.ndarray) -> Tables:
    """Return a `Tables` object of the tables in `records` [B], which shares their memory."""
    tables = Tables(game, 0, 0)
    tables.load_records(records)
    return tables


def check_decks(game: Game, decks: np.ndarray, variants: np.ndarray) -> None:
    """Raise ValueError unless the cards that each hand uses are distinct cards of the game.

    With other cards the compiled rules would read outside of their arrays.
    """
    if ((variants < 0) | (variants >= len(game.definitions))).any():
        raise ValueError(f"variants: not all are in 0 to {len(game.definitions) - 1}")
    dealt, cards = (game.definitions[key].astype(np.int64) for key in ("dealt", "cards"))
    decks, variants = np.ascontiguousarray(decks, np.int64), variants.astype(np.int64)
    row = _find_wrong_deck(decks, variants, dealt, cards)
    if row >= 0:
        count, max_card = dealt[variants[row]], cards[variants[row]] - 1
        deck = decks[row, :count].tolist()
        raise ValueError(f"decks: {deck} is not {count} different cards of 0 to {max_card}")


@jit
def _find_wrong_deck(decks, variants, dealt, cards):  # type: ignore[no-untyped-def]
    """Return the index of the first row of `decks` with missing, invalid or equal cards, or -1."""
    last_row_of_card = np.full(cards.max(), -1)
    for i in range(len(decks)):
        if decks.shape[1] < dealt[variants[i]]:
            return i
        for j in range(dealt[variants[i]]):
            card = decks[i, j]
            if card < 0 or card >= cards[variants[i]] or last_row_of_card[card] == i:
                return i
            last_row_of_card[card] = i
    return -1
