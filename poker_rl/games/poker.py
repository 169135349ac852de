"""The definition of a poker variant: checked settings, made into the record `betting` plays by."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from types import ModuleType
from typing import Any

import numpy as np

from poker_rl.games import betting
from poker_rl.games.cards import card_name
from poker_rl.settings import Count, Natural, Refused


@dataclass(kw_only=True, frozen=True)
class Poker:
    """A poker variant with fixed-limit betting.

    Lists with an entry a street (`board_cards`, `openers`, `raise_sizes`, `max_raises`) fix the
    number of streets. Amounts are whole chips. Blinds are by seat; blinds that differ count as
    bets: the largest as the first raise, though not against `max_raises`.

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
    raise_sizes: list[Count]
    max_raises: list[Natural]

    def __post_init__(self) -> None:
        streets, cards = len(self.board_cards), self.cards
        rules = [
            (2 <= self.seats <= betting.SEATS, f"seats: {self.seats} is not in [2, 9]"),
            (
                1 <= len(self.ranks) <= 13 and len(set(self.ranks)) == len(self.ranks),
                f"ranks: {self.ranks!r} is not 1 to 13 different characters",
            ),
            (
                1 <= len(self.suits) <= 4 and len(set(self.suits)) == len(self.suits),
                f"suits: {self.suits!r} is not 1 to 4 different characters",
            ),
            (
                self.hole_cards <= betting.HOLE,
                f"hole_cards: {self.hole_cards} is not 1 or {betting.HOLE}",
            ),
            (
                1 <= streets <= betting.STREETS,
                f"board_cards: {streets} streets, 1 to 4 are allowed",
            ),
            (sum(self.board_cards) <= 5, f"board_cards: {sum(self.board_cards)} cards, at most 5"),
            (
                self.dealt <= cards,
                f"seats: {self.seats} seats and the board need {self.dealt} cards,"
                f" the deck of ranks and suits holds {cards}",
            ),
            *(
                (
                    len(getattr(self, key)) == streets,
                    f"{key}: {len(getattr(self, key))} entries, board_cards has {streets} streets",
                )
                for key in ("openers", "raise_sizes", "max_raises")
            ),
            (
                len(self.blinds) in (0, self.seats),
                f"blinds: {len(self.blinds)} entries; one a seat, {self.seats}, or none",
            ),
            (
                all(seat < self.seats for seat in self.openers),
                f"openers: {self.openers} names a seat that is not in 0 to {self.seats - 1}",
            ),
            (
                self.ante > 0 or any(self.blinds),
                "ante: 0 chips without blinds leaves nothing to play for",
            ),
            (
                self.seats * sum(most + 1 for most in self.max_raises) <= betting.MOVES,
                f"max_raises: {self.max_raises} allows hands of more than {betting.MOVES} actions",
            ),
            (
                self.seats * self.most_chips <= betting.CHIPS,
                f"raise_sizes: a seat may put in {self.most_chips:,} chips, blinds and antes with"
                f" them; at most {betting.CHIPS // self.seats:,}",
            ),
        ]
        for allowed, message in rules:
            if not allowed:
                raise Refused(message)

    @property
    def cards(self) -> int:
        """Cards in the deck."""
        return len(self.ranks) * len(self.suits)

    @property
    def dealt(self) -> int:
        """Hole and board cards of a whole hand."""
        return self.seats * self.hole_cards + sum(self.board_cards)

    @property
    def most_chips(self) -> int:
        """The most chips a seat can put in, and so lose, in a hand."""
        sizes = sum(n * size for n, size in zip(self.max_raises, self.raise_sizes, strict=False))
        return self.ante + max(self.blinds, default=0) + sizes

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""
        return betting

    @property
    def table(self) -> np.dtype[np.void]:
        """The dtype of a table."""
        return betting.TABLE

    @property
    def record(self) -> np.ndarray:
        """The definition as the rules read it, an array of one record."""
        return self.record_in(self.seats)

    def record_in(self, room: int) -> np.ndarray:
        """The same, observed with room for so many seats."""
        streets = len(self.board_cards)
        forced = int(len(set(self.blinds)) > 1)
        post = [self.ante + blind for blind in self.blinds or [0] * self.seats]
        max_raises = [self.max_raises[0] + forced, *self.max_raises[1:]]
        levels = max(max_raises) + 1
        kinds = 2 if room == 2 else 3
        plane = streets * levels * kinds
        own_plane = room * plane
        card_planes = np.cumsum([n > 0 for n in self.board_cards]) * self.cards + own_plane

        record = np.zeros(1, betting.GAME)
        for key, value in {
            "seats": self.seats,
            "suits": len(self.suits),
            "cards": self.cards,
            "dealt": self.dealt,
            "hole": self.hole_cards,
            "streets": streets,
            "ante": self.ante,
            "price": max(post),
            "forced_raises": forced,
            "levels": levels,
            "kinds": kinds,
            "plane": plane,
            "room": room,
            "own_plane": own_plane,
        }.items():
            record[key] = value
        for key, values in {
            "board": self.board_cards,
            "shown": np.cumsum(self.board_cards).tolist(),
            "post": post,
            "opener": self.openers,
            "raise_size": self.raise_sizes,
            "max_raises": max_raises,
            "card_plane": np.repeat(card_planes, self.board_cards).tolist(),
        }.items():
            record[key][0, : len(values)] = values
        return record

    @property
    def actions(self) -> int:
        """Fold, call, raise."""
        return 3

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
    def infoset_size(self) -> int:
        """Bytes in an information set's key."""
        moves = self.seats * sum(most + 1 for most in self.max_raises)
        return 2 + self.hole_cards + sum(self.board_cards) + moves

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
        return ("fold", "call", "raise")[action]

    def move_name(self, record: np.void, action: int) -> str:
        """The same at every table."""
        return self.action_name(action)

    def infoset_name(self, record: np.void) -> str:
        """The seat to act, its cards, the visible board and the actions, as in `1 Ks|Qh rc`."""
        seat, hole = int(record["to_act"]), self.hole_cards
        cards = [card_name(int(c), self.ranks, self.suits) for c in record["deck"][: self.dealt]]
        board = self.seats * hole
        shown = board + sum(self.board_cards[: int(record["street"]) + 1])
        actions = "".join("fcr"[a] for a in record["line"][: record["moves"]])
        own = "".join(cards[seat * hole : (seat + 1) * hole])
        return (
            f"{seat} {'|'.join(filter(None, [own, ''.join(cards[board:shown])]))} {actions}".strip()
        )

    def state(self) -> dict[str, Any]:
        """The definition as plain values."""
        return asdict(self)
