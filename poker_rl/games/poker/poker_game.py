"""Base class of all poker games, with the settings that every variant has.

It converts the settings to a definition, the NumPy record from which the compiled rules read them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Annotated, Any, Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, NonNegativeInt, Range
from poker_rl.games.cards import MAX_RANKS, MAX_SUITS
from poker_rl.games.game import Game
from poker_rl.games.hand_evaluator import SHORT_DECK, SHORT_DECK_RANKS
from poker_rl.games.poker import betting
from poker_rl.games.poker.table_dtypes import (
    DEFINITION_DTYPE,
    MAX_BOARD_CARDS,
    MAX_CHIPS,
    MAX_HOLE_CARDS,
    MAX_SEATS,
    MAX_STACK,
    MAX_STREETS,
)

SeatCount = Annotated[int, Range(2, MAX_SEATS)]
HoleCardCount = Annotated[int, Range(1, MAX_HOLE_CARDS)]
StackSize = Annotated[int, Range(1, MAX_STACK)]
Chips = Annotated[int, Range(0, MAX_CHIPS)]
PositiveChips = Annotated[int, Range(1, MAX_CHIPS)]
Ranking = Literal["standard", "short_deck"]


@dataclass(kw_only=True, frozen=True)
class PokerGame(Game):
    """Base class of poker games; subclasses add the settings of a kind of betting.

    `board_cards` and `openers`, the seats that act first, have one entry for each street. Amounts
    are whole chips. If blinds differ by seat, the largest counts as the first raise, smaller ones
    as calls. A `ranking` of None is the standard one.
    """

    seats: SeatCount = field()  # without `field`, the property `Game.seats` would be the default
    ranks: str
    suits: str
    hole_cards: HoleCardCount
    board_cards: list[NonNegativeInt]
    ante: Chips | list[Chips]
    blinds: list[Chips]
    openers: list[NonNegativeInt]
    ranking: Ranking | None = None

    rules = betting

    def __post_init__(self) -> None:
        texts = ("ranks", self.ranks, MAX_RANKS), ("suits", self.suits, MAX_SUITS)
        for setting, text, limit in texts:
            is_valid = 1 <= len(text) <= limit and len(set(text)) == len(text)
            require(is_valid, f"{setting}: {text!r} is not 1 to {limit} different characters")
        streets, board_count = len(self.board_cards), sum(self.board_cards)
        problem = f"{streets} streets, 1 to {MAX_STREETS} are allowed"
        require(1 <= streets <= MAX_STREETS, f"board_cards: {problem}")
        problem = f"{board_count} cards, at most {MAX_BOARD_CARDS}"
        require(board_count <= MAX_BOARD_CARDS, f"board_cards: {problem}")
        needed = f"{self.seats} seats and the board need {self.cards_dealt} cards"
        problem = f"{needed}, the deck of ranks and suits holds {self.deck_size}"
        require(self.cards_dealt <= self.deck_size, f"seats: {problem}")
        check_length("openers", self.openers, streets, "street")
        check_length("blinds", self.blinds or [0] * self.seats, self.seats, "seat")
        check_length("ante", self.antes, self.seats, "seat")
        problem = f"{self.openers} names a seat that is not in 0 to {self.seats - 1}"
        require(max(self.openers) < self.seats, f"openers: {problem}")
        has_forced_bets = any(self.antes) or any(self.blinds)
        require(has_forced_bets, "ante: 0 chips without blinds leaves nothing to play for")
        has_short_deck = self.hole_cards + board_count >= 5 and self.ranks == SHORT_DECK_RANKS
        require(
            self.ranking != SHORT_DECK or has_short_deck,
            f"ranking: {SHORT_DECK} needs hands of five cards and the ranks {SHORT_DECK_RANKS}",
        )
        require(
            self.ranking is not None or not has_short_deck,
            f"ranking: missing; cards from six to ace are usually ranked by ranking: {SHORT_DECK}"
            " (a flush beats a full house, A6789 is a straight); standard has neither",
        )
        if self.starting_stacks is not None:
            self._check_stacks(self.starting_stacks)

    def _check_stacks(self, stacks: list[int]) -> None:
        """Raise ConfigError unless stacks cover the forced bets and leave some seat a decision."""
        check_length("stacks", stacks, self.seats, "seat")
        posts = self.live_forced_bets
        for seat, stack in enumerate(stacks):
            needed = self.dead_antes[seat] + max(posts[seat], 1)
            problem = f"{stack} chips of seat {seat}; ante and blind need {needed}"
            require(stack >= needed, f"stacks: {problem}")
        playable = self.compute_playable_stacks(stacks)
        able = [post for stack, post in zip(playable, posts, strict=True) if stack > post]
        require(
            any(post < max(posts) for post in able) or len(able) > 1,
            f"stacks: {stacks} leaves nobody a decision after antes and blinds",
        )

    def compute_playable_stacks(self, stacks: list[int]) -> list[int]:
        """Return the chips that each seat can play with: its stack without its dead ante.

        If a seat's forced bet is at least the stack of every other seat, nobody can raise it, so
        the seat's playable stack is this bet.
        """
        left = [stack - dead for stack, dead in zip(stacks, self.dead_antes, strict=True)]
        second, posts = sorted(left)[-2], self.live_forced_bets
        return [p if p >= second else stack for stack, p in zip(left, posts, strict=True)]

    @property
    def deck_size(self) -> int:
        return len(self.ranks) * len(self.suits)

    @property
    def cards_dealt(self) -> int:
        """The number of hole and board cards in a whole hand."""
        return self.seats * self.hole_cards + sum(self.board_cards)

    @property
    def antes(self) -> list[int]:
        """The ante of each seat in chips."""
        return list_by_seat(self.ante, self.seats)

    @property
    def dead_antes(self) -> list[int]:
        """The part of each seat's ante above the smallest ante; other seats need not match it."""
        return [ante - min(self.antes) for ante in self.antes]

    @property
    def live_forced_bets(self) -> list[int]:
        """The smallest ante plus the blind of each seat; these chips count towards a call."""
        return [min(self.antes) + blind for blind in self.blinds or [0] * self.seats]

    @property
    def ace(self) -> int:
        """The rank of an ace, even if this deck has none; it also counts below the lowest rank."""
        return len(self.ranks) - 1 if self.ranking == SHORT_DECK else MAX_RANKS - 1

    @property
    def blind_raise_count(self) -> int:
        """Number of raises made by blinds: 1 if the big blind counts as the first raise, else 0."""
        return int(len(set(self.blinds)) > 1)

    @property
    @abstractmethod
    def max_chips_per_seat(self) -> int:
        """The largest number of chips that a seat can put in, and so lose, in a hand."""

    @property
    @abstractmethod
    def max_moves(self) -> int:
        """An upper bound of the number of actions in a hand."""

    @property
    def starting_stacks(self) -> list[int] | None:
        """Chips of each seat before the hand; None for unlimited stacks."""
        return None

    @property
    def raise_size_options(self) -> list[Any] | None:
        """Raise sizes that the game offers, which are shares of the pot or "all_in".

        [] stands for any legal number of chips, None for fixed limit.
        """
        return None

    @property
    def variant_games(self) -> Sequence[PokerGame]:
        return [self]

    def get_variant_at_table(self, record: np.void) -> PokerGame:
        return self

    @cached_property
    def definitions(self) -> np.ndarray:
        return self.build_definition(self.seats)

    @abstractmethod
    def build_definition(self, seat_slots: int) -> np.ndarray:
        """Return the constants of the game that the compiled rules read, as one record, [1].

        Observations have room for `seat_slots` seats, so that games with different numbers of seats
        can share a network.
        """

    def _build_common_definition(self, seat_slots: int, raise_levels: int) -> np.ndarray:
        """Return the definition, in which the fields that subclasses have to set are still 0."""
        street_count = len(self.board_cards)
        action_type_count = 2 if seat_slots == 2 else 3
        seat_block_size = street_count * raise_levels * action_type_count
        own_cards_offset = seat_slots * seat_block_size
        # After the block of the hole cards comes a block for each street that deals board cards.
        block_count = np.cumsum([n > 0 for n in self.board_cards])
        board_cards_offsets = own_cards_offset + block_count * self.deck_size
        fields: dict[str, Any] = {
            "seats": self.seats,
            "suits": len(self.suits),
            "cards": self.deck_size,
            "dealt": self.cards_dealt,
            "hole": self.hole_cards,
            "streets": street_count,
            "ante": min(self.antes),
            "dead_pot": sum(self.dead_antes),
            "short_deck": self.ranking == SHORT_DECK,
            "price": max(self.live_forced_bets),
            "blind_raise_count": self.blind_raise_count,
            "raise_levels": raise_levels,
            "type_count": action_type_count,
            "seat_cells": seat_block_size,
            "seat_slots": seat_slots,
            "hole_offset": own_cards_offset,
            "chip": 1 / self.max_chips_per_seat,
            "board": self.board_cards,
            "shown": np.cumsum(self.board_cards),
            "post": self.live_forced_bets,
            "opener": self.openers,
            "board_offset": np.repeat(board_cards_offsets, self.board_cards),
            "dead": self.dead_antes,
            "chip_offset": board_cards_offsets[-1] + self.deck_size,
        }
        if self.starting_stacks is not None:
            fields["stack"] = self.compute_playable_stacks(self.starting_stacks)
        definition = np.zeros(1, DEFINITION_DTYPE)
        for name, value in fields.items():
            definition[name].flat[: np.size(value)] = value  # a list may be shorter than its field
        return definition

    @cached_property
    def observation_size(self) -> int:
        definition = self.definitions[0]
        chips = 0 if self.starting_stacks is None else 3 * int(definition["seat_slots"]) + 3
        return int(definition["chip_offset"]) + chips

    @property
    def feature_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8 if self.starting_stacks is None else np.float32)

    @property
    def infoset_key_size(self) -> int:
        line_dtype = self.table_dtype["line"].base
        cards = self.hole_cards + sum(self.board_cards)
        return 2 + cards + line_dtype.itemsize * self.max_moves

    @property
    def hidden_card_size(self) -> int:
        return (self.seats - 1) * self.deck_size

    @property
    def history_step_size(self) -> int:
        chips = 1 if self.starting_stacks is None else 3
        return int(self.definitions[0]["seat_slots"]) + len(self.board_cards) + 3 + chips

    def count_deals(self) -> int:
        """Return the number of different deals; the order of cards dealt together is ignored."""
        count, remaining_cards = 1, self.deck_size
        for size in self._deal_group_sizes():
            count *= comb(remaining_cards, size)
            remaining_cards -= size
        return count

    def list_deals(self) -> np.ndarray:
        rows: list[tuple[int, ...]] = [()]
        for size in self._deal_group_sizes():
            rows = [
                row + group
                for row in rows
                for group in combinations([c for c in range(self.deck_size) if c not in row], size)
            ]
        return np.array(rows, np.int8)

    def _deal_group_sizes(self) -> list[int]:
        return [self.hole_cards] * self.seats + [count for count in self.board_cards if count]


def check_holdem_cards(game: Game, subject: str) -> None:
    """Raise ConfigError unless seats of a game get two hole cards from a deck of 52.

    `subject` names the bot or setting that needs these cards, and begins the error message.
    """
    holdem_cards = MAX_RANKS * MAX_SUITS, MAX_SUITS, MAX_HOLE_CARDS
    fields = ["cards", "suits", "hole"]
    if game.rules is not betting or game.definitions[0][fields].tolist() != holdem_cards:
        needed = "two hole cards of thirteen ranks and four suits"
        raise ConfigError(f"{subject} needs {needed}, not {game.name}")


def check_length(setting: str, entries: Sequence[int], count: int, unit: str) -> None:
    """Raise ConfigError unless a setting has an entry for each of the `count` seats or streets."""
    problem = f"{len(entries)} entries; one for each {unit}, {count}, is needed"
    require(len(entries) == count, f"{setting}: {problem}")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def list_blinds_and_openers(small: int, big: int, seats: int, streets: int) -> list[list[int]]:
    """Return the usual blinds by seat and openers by street.

    The first two seats left of the button post the blinds; heads-up the button posts the small
    blind. The next seat opens the betting; on later streets the seat left of the button does.
    """
    if seats == 2:
        return [[big, small], [1, *[0] * (streets - 1)]]
    return [[small, big, *[0] * (seats - 2)], [2 % seats, *[0] * (streets - 1)]]


def list_by_seat(chips: int | list[int], seats: int) -> list[int]:
    return [chips] * seats if isinstance(chips, int) else chips
