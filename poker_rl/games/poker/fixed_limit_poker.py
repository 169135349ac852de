"""Settings of poker variants with fixed-limit betting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import NonNegativeInt
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.poker_game import (
    PokerGame,
    PositiveChips,
    StackSize,
    check_length,
    list_by_seat,
    require,
)
from poker_rl.games.poker.table_dtypes import LIMIT_STACKS_TABLE_DTYPE, LIMIT_TABLE_DTYPE, MAX_MOVES


@dataclass(kw_only=True, frozen=True)
class FixedLimitPoker(PokerGame, DisplayedPoker):
    """A poker variant with fixed-limit betting.

    `raise_sizes` and `max_raises` have one entry for each street; blinds do not count towards
    `max_raises`. `stacks` are the chips of each seat, or one number for all; None is unlimited.
    """

    raise_sizes: list[PositiveChips]
    max_raises: list[NonNegativeInt]
    stacks: StackSize | list[StackSize] | None = None

    action_count = 3  # fold, call, raise

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("raise_sizes", self.raise_sizes, len(self.board_cards), "street")
        check_length("max_raises", self.max_raises, len(self.board_cards), "street")
        problem = f"allows hands of more than {MAX_MOVES} actions"
        require(self.max_moves <= MAX_MOVES, f"max_raises: {self.max_raises} {problem}")

    @property
    def starting_stacks(self) -> list[int] | None:
        return None if self.stacks is None else list_by_seat(self.stacks, self.seats)

    @property
    def max_chips_per_seat(self) -> int:
        if self.starting_stacks is not None:
            return max(self.starting_stacks)
        raised = sum(n * size for n, size in zip(self.max_raises, self.raise_sizes, strict=True))
        return max(self.antes) + max(self.blinds, default=0) + raised

    @property
    def max_moves(self) -> int:
        return self.seats * sum(raise_limit + 1 for raise_limit in self.max_raises)

    @property
    def table_dtype(self) -> np.dtype[np.void]:
        return LIMIT_TABLE_DTYPE if self.stacks is None else LIMIT_STACKS_TABLE_DTYPE

    def build_definition(self, seat_slots: int) -> np.ndarray:
        max_raises = [self.max_raises[0] + self.blind_raise_count, *self.max_raises[1:]]
        definition = self._build_common_definition(seat_slots, raise_levels=max(max_raises) + 1)
        definition["raise_size"][0, : len(self.raise_sizes)] = self.raise_sizes
        definition["max_raises"][0, : len(max_raises)] = max_raises
        return definition

    def action_name(self, action: int) -> str:
        return ("fold", "call", "raise")[action]
