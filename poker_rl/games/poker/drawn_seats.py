"""Poker at a table where players come and go: the number of seats is drawn for each hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from poker_rl.config.settings import Count, Natural, Positive, Range, Refused
from poker_rl.games.poker import betting
from poker_rl.games.poker.game import Ranking
from poker_rl.games.poker.limit import Poker
from poker_rl.games.poker.no_limit import NoLimit
from poker_rl.games.poker.scenes import Shown
from poker_rl.games.poker.table import SEATS

Seats = Annotated[int, Range(2, SEATS)]


@dataclass(kw_only=True, frozen=True)
class DrawnSeats(Shown):
    """Poker with blinds for `fewest_seats` to `most_seats` players, all equally likely.

    A hand is one of `each` with its number of seats: the button is the last of them, the blinds
    are left of it (heads-up the button posts the small one), first to act is the seat left of the
    big blind and on later streets the one left of the button. Observations have room for
    `most_seats` players whatever their number.

    Raises:
        Refused: if the settings do not describe a game that can be dealt and bet on.
    """

    name: str
    unit: str
    unit_chips: Count
    fewest_seats: Seats
    most_seats: Seats
    ranks: str
    suits: str
    hole_cards: Count
    board_cards: list[Natural]
    ante: Natural
    small_blind: Count
    big_blind: Count
    ranking: Ranking | None = None

    hand: ClassVar = "hand"
    each: ClassVar[type[Poker | NoLimit]]

    def __post_init__(self) -> None:
        if self.fewest_seats > self.most_seats:
            raise Refused(
                f"fewest_seats: {self.fewest_seats} is more than most_seats, {self.most_seats}"
            )
        if self.small_blind >= self.big_blind:
            raise Refused(
                f"small_blind: {self.small_blind} is not less than big_blind, {self.big_blind}"
            )
        try:
            _ = self.games
        except Refused as error:
            key, _, what = str(error).partition(": ")
            own = {"seats": "most_seats", "blinds": "big_blind"}  # what it calls them here
            raise Refused(f"{own.get(key, key)}: {what}") from None

    @cached_property
    def games(self) -> list[Poker | NoLimit]:
        """The game with each number of seats."""
        return [self._game(seats) for seats in range(self.fewest_seats, self.most_seats + 1)]

    def _game(self, seats: int) -> Poker | NoLimit:
        blinds, opener = [self.small_blind, self.big_blind, *[0] * (seats - 2)], 2 % seats
        if seats == 2:
            blinds, opener = blinds[::-1], 1
        own: dict[str, Any] = {
            "name": f"{self.name}: {seats} seats",
            "seats": seats,
            "blinds": blinds,
            "openers": [opener, *[0] * len(self.board_cards)][: len(self.board_cards)],
        }
        names = [field.name for field in fields(self.each) if field.name not in own]
        return self.each(**own, **{name: getattr(self, name) for name in names})

    @property
    def seats(self) -> int:
        """The most players there can be."""
        return self.most_seats

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""
        return betting

    @property
    def table(self) -> np.dtype[np.void]:
        """The dtype of a table."""
        return self.games[-1].table

    @cached_property
    def record(self) -> np.ndarray:
        """The definition with each number of seats."""
        return np.concatenate([game.record_in(self.most_seats) for game in self.games])

    @property
    def actions(self) -> int:
        """The same at every table."""
        return self.games[-1].actions

    @property
    def kinds(self) -> np.ndarray:
        """Fold, call and raise, [A] int64."""
        return self.games[-1].kinds

    @property
    def observation_size(self) -> int:
        """Width of an observation."""
        return self.games[-1].observation_size

    @property
    def observation_dtype(self) -> np.dtype[Any]:
        """As in the game with each number of seats."""
        return self.games[-1].observation_dtype

    @property
    def history_size(self) -> int:
        """Width of a step of the history."""
        return self.games[-1].history_size

    @property
    def hidden_size(self) -> int:
        """Width of the others' hole cards."""
        return self.games[-1].hidden_size

    @property
    def infoset_size(self) -> int:
        """Bytes in an information set's key."""
        return self.games[-1].infoset_size

    def deal_count(self) -> int:
        """Number of different deals, with any number of seats; they are not equally likely."""
        return sum(game.deal_count() for game in self.games)

    def deals(self) -> np.ndarray:
        """Not one list: they differ in length and chance.

        Raises:
            Refused: always.
        """
        raise Refused(f"game: {self.name} draws its seats, and its deals differ in length")

    def action_name(self, action: int) -> str:
        """What a person calls this action."""
        return self.games[-1].action_name(action)

    def infoset_name(self, record: np.void) -> str:
        """As in a `Poker` with the table's number of seats."""
        return self.played(record).infoset_name(record)

    def played(self, record: np.void) -> Poker | NoLimit:
        """The game with the table's number of seats."""
        return self.games[int(record["variant"])]

    def state(self) -> dict[str, Any]:
        """The definition as plain values, without what may be left out and is."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(kw_only=True, frozen=True)
class DrawnLimit(DrawnSeats):
    """With fixed-limit betting; `raise_sizes` and `max_raises` have an entry a street.

    Without `stacks`, the chips of each seat, all have as many as they need.
    """

    raise_sizes: list[Count]
    max_raises: list[Natural]
    stacks: Count | None = None

    each = Poker


@dataclass(kw_only=True, frozen=True)
class DrawnNoLimit(DrawnSeats):
    """With no-limit betting, and as many chips for each seat."""

    stacks: Count
    min_bet: Count
    short_bets_reopen: bool
    bet_sizes: list[Positive | Literal["all_in"]]

    each = NoLimit
