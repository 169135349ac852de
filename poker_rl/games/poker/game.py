"""What the definitions of all poker variants have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from poker_rl.config.settings import Count, Natural, Refused
from poker_rl.games.cards import card_name
from poker_rl.games.poker import betting
from poker_rl.games.poker.scenes import Shown
from poker_rl.games.poker.table import GAME, HOLE, RAISE, SEATS, STREETS

Rule = tuple[bool, str]
"""Whether the settings keep to it, and what is said if they do not."""


@dataclass(kw_only=True, frozen=True)
class PokerGame(Shown):
    """Seats, cards, antes, blinds and who speaks first; a kind of betting adds its own settings.

    Lists with an entry a street (`board_cards`, `openers`) fix the number of streets. Amounts are
    whole chips. Blinds are by seat; blinds that differ count as bets, the largest as the first
    raise.

    Raises:
        Refused: if the settings do not describe a game that can be dealt and bet on.
    """

    name: str
    unit: str
    unit_chips: Count
    seats: Count
    ranks: str
    suits: str
    hole_cards: Count
    board_cards: list[Natural]
    ante: Natural
    blinds: list[Natural]
    openers: list[Natural]

    hand: ClassVar = "hand"

    def __post_init__(self) -> None:
        for allowed, message in self._rules():
            if not allowed:
                raise Refused(message)

    def _rules(self) -> Iterator[Rule]:
        """Each is only looked at if all before it are kept."""
        streets, cards = len(self.board_cards), self.cards
        yield bool(self.unit.strip()), "unit: '' is no name for a unit; try chip"
        yield 2 <= self.seats <= SEATS, f"seats: {self.seats} is not in [2, {SEATS}]"
        yield (
            1 <= len(self.ranks) <= 13
            and len(set(self.ranks)) == len(self.ranks)
            and self.ranks.isprintable(),
            f"ranks: {self.ranks!r} is not 1 to 13 different characters that can be printed",
        )
        yield (
            1 <= len(self.suits) <= 4
            and len(set(self.suits)) == len(self.suits)
            and self.suits.isprintable(),
            f"suits: {self.suits!r} is not 1 to 4 different characters that can be printed",
        )
        yield self.hole_cards <= HOLE, f"hole_cards: {self.hole_cards} is not 1 or {HOLE}"
        yield (
            1 <= streets <= STREETS,
            f"board_cards: {streets} streets, 1 to {STREETS} are allowed",
        )
        yield (
            sum(self.board_cards) <= 5,
            f"board_cards: {sum(self.board_cards)} cards, at most 5",
        )
        yield (
            self.dealt <= cards,
            f"seats: {self.seats} seats and the board need {self.dealt} cards,"
            f" the deck of ranks and suits holds {cards}",
        )
        yield self._entry_a_street("openers")
        yield (
            len(self.blinds) in (0, self.seats),
            f"blinds: {len(self.blinds)} entries; one a seat, {self.seats}, or none",
        )
        yield (
            all(seat < self.seats for seat in self.openers),
            f"openers: {self.openers} names a seat that is not in 0 to {self.seats - 1}",
        )
        yield (
            self.ante > 0 or any(self.blinds),
            "ante: 0 chips without blinds leaves nothing to play for",
        )

    def _entry_a_street(self, key: str) -> Rule:
        count, streets = len(getattr(self, key)), len(self.board_cards)
        return count == streets, f"{key}: {count} entries, board_cards has {streets} streets"

    @property
    def cards(self) -> int:
        """Cards in the deck."""
        return len(self.ranks) * len(self.suits)

    @property
    def dealt(self) -> int:
        """Hole and board cards of a whole hand."""
        return self.seats * self.hole_cards + sum(self.board_cards)

    @property
    def post(self) -> list[int]:
        """Ante and blind of each seat, chips."""
        return [self.ante + blind for blind in self.blinds or [0] * self.seats]

    @property
    def forced_raises(self) -> int:
        """1 if the big blind counts as the first bet."""
        return int(len(set(self.blinds)) > 1)

    @property
    def most_chips(self) -> int:
        """The most chips that a seat can put in, and so lose, in a hand."""
        raise NotImplementedError

    @property
    def stack_of(self) -> list[int] | None:
        """Chips of each seat before the hand; None: as many as it needs."""
        return None

    @property
    def listed_sizes(self) -> list[Any] | None:
        """The sizes of raises there are, shares of the pot or "all_in"; [] for any amount.

        None: a raise has the one size of its street.
        """
        return None

    @property
    def actions(self) -> int:
        """Number of actions, A."""
        raise NotImplementedError

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""
        return betting

    @cached_property
    def record(self) -> np.ndarray:
        """The definition as the rules read it, an array of one record."""
        return self.record_in(self.seats)

    def record_in(self, room: int) -> np.ndarray:
        """The same, observed with room for so many seats."""
        raise NotImplementedError

    def _record(self, room: int, levels: int) -> np.ndarray:
        """What does not depend on the kind of betting, `levels` raise counts being told apart."""
        streets = len(self.board_cards)
        kinds = 2 if room == 2 else 3
        plane = streets * levels * kinds
        own_plane = room * plane
        card_planes = np.cumsum([n > 0 for n in self.board_cards]) * self.cards + own_plane

        record = np.zeros(1, GAME)
        for key, value in {
            "seats": self.seats,
            "suits": len(self.suits),
            "cards": self.cards,
            "dealt": self.dealt,
            "hole": self.hole_cards,
            "streets": streets,
            "ante": self.ante,
            "price": max(self.post),
            "forced_raises": self.forced_raises,
            "levels": levels,
            "kinds": kinds,
            "plane": plane,
            "room": room,
            "own_plane": own_plane,
            "chip": 1 / self.most_chips,
        }.items():
            record[key] = value
        for key, values in {
            "board": self.board_cards,
            "shown": np.cumsum(self.board_cards).tolist(),
            "post": self.post,
            "opener": self.openers,
            "card_plane": np.repeat(card_planes, self.board_cards).tolist(),
        }.items():
            record[key][0, : len(values)] = values
        return record

    @property
    def observation_size(self) -> int:
        """Width of an observation: the betting block, own cards, board cards by street."""
        planes = 1 + sum(n > 0 for n in self.board_cards)
        return int(self.record[0]["own_plane"]) + self.cards * planes

    @property
    def hidden_size(self) -> int:
        """Width of the others' hole cards."""
        return (self.seats - 1) * self.cards

    @property
    def history_size(self) -> int:
        """Width of a step of the history: seat, street, fold, call or raise, chips."""
        return int(self.record[0]["room"]) + len(self.board_cards) + 4

    def deal_count(self) -> int:
        """Number of different deals: a choice of cards for each hand and each street."""
        count, left = 1, self.cards
        for size in self._groups():
            count *= comb(left, size)
            left -= size
        return count

    def deals(self) -> np.ndarray:
        """Every deal once, all equally likely, [deals, dealt] int8."""
        rows: list[tuple[int, ...]] = [()]
        for size in self._groups():
            rows = [
                row + group
                for row in rows
                for group in combinations([c for c in range(self.cards) if c not in row], size)
            ]
        return np.array(rows, np.int8)

    def _groups(self) -> list[int]:
        return [self.hole_cards] * self.seats + [count for count in self.board_cards if count]

    def action_name(self, action: int) -> str:
        """What a person calls this action."""
        raise NotImplementedError

    def move_name(self, record: np.void, action: int) -> str:
        """The same at every table."""
        return self.action_name(action)

    def infoset_name(self, record: np.void) -> str:
        """The seat to act, its cards, the visible board and the actions, as in `1 Ks|Qh rc`."""
        seat, hole = int(record["to_act"]), self.hole_cards
        cards = [card_name(int(c), self.ranks, self.suits) for c in record["deck"][: self.dealt]]
        board = self.seats * hole
        shown = board + sum(self.board_cards[: int(record["street"]) + 1])
        own = "".join(cards[seat * hole : (seat + 1) * hole])
        known = "|".join(filter(None, [own, "".join(cards[board:shown])]))
        return f"{seat} {known} {self.line_name(record)}".strip()

    def line_name(self, record: np.void) -> str:
        """The actions so far, as in `rc`."""
        return "".join("fcr"[min(a, RAISE)] for a in record["line"][: record["moves"]])

    def played(self, record: np.void) -> PokerGame:
        """The definition that a table plays: this one."""
        return self

    def state(self) -> dict[str, Any]:
        """The definition as plain values."""
        return asdict(self)
