"""Settings of poker variants with no-limit betting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from poker_rl.config.input_checks import PositiveFloat
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.poker_game import PokerGame, StackSize, list_by_seat, require
from poker_rl.games.poker.table_dtypes import (
    ALL_IN_SIZE,
    FULL_POT,
    MAX_BET_SIZES,
    MAX_MOVES,
    NO_LIMIT_TABLE_DTYPE,
    RAISE,
)

MAX_RAISE_LEVELS = 8  # an observation distinguishes 0 to 7 raises on a street


@dataclass(kw_only=True, frozen=True)
class NoLimitPoker(PokerGame, DisplayedPoker):
    """A poker variant with no-limit betting.

    If `bet_sizes` is empty, action k >= 2 is a raise to k chips, counted over the whole hand.
    Otherwise action 2 + i raises by the share `bet_sizes[i]` of the pot after calling, rounded to
    whole chips and limited to legal raises; a bet size of `all_in` raises to the whole stack. See
    `betting` for `short_bets_reopen`.
    """

    stacks: StackSize | list[StackSize]
    min_bet: StackSize
    short_bets_reopen: bool
    bet_sizes: list[PositiveFloat | Literal["all_in"]]

    table_dtype = NO_LIMIT_TABLE_DTYPE

    def __post_init__(self) -> None:
        super().__post_init__()
        blind, size_count = max(self.blinds, default=0), len(self.bet_sizes)
        require(self.min_bet >= blind, f"min_bet: {self.min_bet} is less than the blind of {blind}")
        require(size_count <= MAX_BET_SIZES, f"bet_sizes: {size_count}, at most {MAX_BET_SIZES}")
        sizes = self._bet_sizes_in_hundredths
        for size, hundredths in zip(self.bet_sizes, sizes, strict=True):
            is_share = hundredths <= ALL_IN_SIZE and hundredths / FULL_POT == size
            problem = f"{size} is not all_in or hundredths of the pot, such as 0.33"
            require(size == "all_in" or is_share, f"bet_sizes: {problem}")
        problem = f"[{', '.join(map(str, self.bet_sizes))}] is not in rising order, all_in last"
        require(sizes == sorted(set(sizes)), f"bet_sizes: {problem}")

    @property
    def starting_stacks(self) -> list[int]:
        return list_by_seat(self.stacks, self.seats)

    @property
    def raise_size_options(self) -> list[float | Literal["all_in"]]:
        return self.bet_sizes

    @property
    def _bet_sizes_in_hundredths(self) -> list[int]:
        """The bet sizes in hundredths of the pot."""
        sizes = self.bet_sizes
        return [ALL_IN_SIZE if size == "all_in" else round(size * FULL_POT) for size in sizes]

    @property
    def max_chips_per_seat(self) -> int:
        return max(self.starting_stacks)

    def _bound_raise_count(self, seats: int) -> int:
        """Return a limit on the raises in a hand: full raises plus one short all-in per seat."""
        return (self.max_chips_per_seat - max(self.live_forced_bets)) // self.min_bet + seats

    @property
    def max_moves(self) -> int:
        rounds = self._bound_raise_count(self.seats) + len(self.board_cards)
        return min(MAX_MOVES, rounds * self.seats)

    def build_definition(self, seat_slots: int) -> np.ndarray:
        # The number of raise levels depends on `seat_slots`, not on `seats`, so that observations
        # have the same layout for any number of seats.
        raise_count = self._bound_raise_count(seat_slots) + self.blind_raise_count
        raise_levels = min(raise_count + 1, MAX_RAISE_LEVELS)
        definition = self._build_common_definition(seat_slots, raise_levels)
        definition["min_bet"] = self.min_bet
        definition["short_bets_reopen"] = self.short_bets_reopen
        definition["sizes"] = len(self.bet_sizes)
        definition["size"][0, : len(self.bet_sizes)] = self._bet_sizes_in_hundredths
        definition["last_raise"] = MAX_MOVES - self.seats * (len(self.board_cards) + 1)
        return definition

    @property
    def action_count(self) -> int:
        return RAISE + len(self.bet_sizes) if self.bet_sizes else self.max_chips_per_seat + 1

    @property
    def action_types(self) -> np.ndarray:
        return np.minimum(np.arange(self.action_count), RAISE)

    def action_name(self, action: int) -> str:
        """Return a name such as `call`, `raise_12` (to 12 chips) or `raise_0.5` (half the pot)."""
        if action < RAISE:
            return ("fold", "call")[action]
        size = self.bet_sizes[action - RAISE] if self.bet_sizes else action
        return f"raise_{size:g}" if isinstance(size, float | int) else f"raise_{size}"
