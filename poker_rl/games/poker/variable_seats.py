"""Poker with a variable number of seats, which is sampled for each hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, NonNegativeInt, PositiveFloat
from poker_rl.games.poker import betting
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.poker_game import (
    Chips,
    HoleCardCount,
    PokerGame,
    PositiveChips,
    Ranking,
    SeatCount,
    StackSize,
    list_blinds_and_openers,
    require,
)


def delegate_to_largest(name: str) -> Any:
    """Return a property that reads the property `name` of the game with the most seats."""
    return property(lambda self: getattr(self.variant_games[-1], name))


@dataclass(kw_only=True, frozen=True)
class VariableSeatsPoker(DisplayedPoker):
    """Poker with blinds for `min_seats` to `max_seats` players, all numbers equally likely.

    The last seat is the button; see `list_blinds_and_openers`. Observations always have room for
    `max_seats` players.
    """

    min_seats: SeatCount
    max_seats: SeatCount
    ranks: str
    suits: str
    hole_cards: HoleCardCount
    board_cards: list[NonNegativeInt]
    ante: Chips
    small_blind: PositiveChips
    big_blind: PositiveChips
    ranking: Ranking | None = None

    rules = betting
    variant_class: ClassVar[type[FixedLimitPoker | NoLimitPoker]]

    def __post_init__(self) -> None:
        problem = f"{self.min_seats} is more than max_seats, {self.max_seats}"
        require(self.min_seats <= self.max_seats, f"min_seats: {problem}")
        problem = f"{self.small_blind} is not less than big_blind, {self.big_blind}"
        require(self.small_blind < self.big_blind, f"small_blind: {problem}")
        try:
            _ = self.variant_games
        except ConfigError as error:
            key, _, problem = str(error).partition(": ")
            own_keys = {"seats": "max_seats", "blinds": "big_blind"}
            raise ConfigError(f"{own_keys.get(key, key)}: {problem}") from None

    @cached_property
    def variant_games(self) -> Sequence[PokerGame]:
        """One game for each number of seats, from the fewest to the most."""
        return [self._build_variant_game(n) for n in range(self.min_seats, self.max_seats + 1)]

    def _build_variant_game(self, seats: int) -> PokerGame:
        streets = len(self.board_cards)
        blinds, openers = list_blinds_and_openers(self.small_blind, self.big_blind, seats, streets)
        name = f"{self.name}: {seats} seats"
        own: dict[str, Any] = {"name": name, "seats": seats, "blinds": blinds, "openers": openers}
        shared = {field.name for field in fields(self.variant_class)} - own.keys()
        return self.variant_class(**own, **{key: getattr(self, key) for key in shared})

    @cached_property
    def definitions(self) -> np.ndarray:
        games = self.variant_games
        return np.concatenate([game.build_definition(self.max_seats) for game in games])

    table_dtype = delegate_to_largest("table_dtype")
    action_count = delegate_to_largest("action_count")
    action_types = delegate_to_largest("action_types")
    observation_size = delegate_to_largest("observation_size")
    feature_dtype = delegate_to_largest("feature_dtype")
    history_step_size = delegate_to_largest("history_step_size")
    hidden_card_size = delegate_to_largest("hidden_card_size")
    infoset_key_size = delegate_to_largest("infoset_key_size")

    def count_deals(self) -> int:
        """Return the number of deals for all numbers of seats; not all deals are equally likely."""
        return sum(game.count_deals() for game in self.variant_games)

    def list_deals(self) -> np.ndarray:
        """Raise ConfigError, since the deals differ in length and probability."""
        raise ConfigError(f"game: {self.name} samples its seats, so its deals differ in length")

    def action_name(self, action: int) -> str:
        return self.variant_games[-1].action_name(action)


@dataclass(kw_only=True, frozen=True)
class VariableSeatsLimit(VariableSeatsPoker):
    """Fixed-limit poker with a random number of seats and equal stacks (None: unlimited)."""

    raise_sizes: list[PositiveChips]
    max_raises: list[NonNegativeInt]
    stacks: StackSize | None = None

    variant_class = FixedLimitPoker


@dataclass(kw_only=True, frozen=True)
class VariableSeatsNoLimit(VariableSeatsPoker):
    """No-limit poker with a random number of seats and equal stacks."""

    stacks: StackSize
    min_bet: StackSize
    short_bets_reopen: bool
    bet_sizes: list[PositiveFloat | Literal["all_in"]]

    variant_class = NoLimitPoker
