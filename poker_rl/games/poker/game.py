"""What the definitions of all poker variants have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np

from poker_rl.config.settings import Count, Natural, Refused
from poker_rl.games.cards import RANKS, SHORT_DECK, SHORT_DECK_RANKS, card_name
from poker_rl.games.poker import betting
from poker_rl.games.poker.scenes import Shown
from poker_rl.games.poker.table import GAME, HOLE, RAISE, SEATS, STACK, STREETS

Rule = tuple[bool, str]
"""Whether the settings keep to it, and what is said if they do not."""

Ranking = Literal["standard", "short_deck"]


@dataclass(kw_only=True, frozen=True)
class PokerGame(Shown):
    """Seats, cards, antes, blinds and who speaks first; a kind of betting adds its own settings.

    Lists with an entry a street (`board_cards`, `openers`) fix the number of streets. Amounts are
    whole chips. Antes are of all seats or by seat; blinds are by seat; blinds that differ count as
    bets, the largest as the first raise. Keys whose default is None may be left out: without a
    `ranking` hands rank as in a deck of 52, and 36 cards from six to ace need one.

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
    ante: Natural | list[Natural]
    blinds: list[Natural]
    openers: list[Natural]
    ranking: Ranking | None = None

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
            len(self.antes) == self.seats,
            f"ante: {len(self.antes)} entries; one a seat, {self.seats}, or one number",
        )
        yield (
            any(self.antes) or any(self.blinds),
            "ante: 0 chips without blinds leaves nothing to play for",
        )
        ranks_five = self.hole_cards + sum(self.board_cards) >= 5
        yield (
            self.ranking != SHORT_DECK or (ranks_five and self.ranks == SHORT_DECK_RANKS),
            f"ranking: {SHORT_DECK} is of hands of five cards and more of the ranks"
            f" {SHORT_DECK_RANKS}, not of {self.ranks}",
        )
        yield (
            self.ranking is not None or not ranks_five or self.ranks != SHORT_DECK_RANKS,
            f"ranking: missing; cards from six to ace are usually ranked by ranking: {SHORT_DECK}"
            " (a flush beats a full house, A6789 is a straight); standard has neither",
        )

    def _stack_rules(self, stacks: list[int]) -> Iterator[Rule]:
        """Those of chips by seat."""
        yield (
            len(stacks) == self.seats,
            f"stacks: {len(stacks)} entries; one a seat, {self.seats}, or one number",
        )
        yield max(stacks) <= STACK, f"stacks: {max(stacks):,} chips; at most {STACK:,}"
        for seat, (stack, post, dead) in enumerate(
            zip(stacks, self.post, self.dead_antes, strict=True)
        ):
            yield (
                stack >= post + dead,
                f"stacks: {stack} chips of seat {seat} are less than its ante and blind,"
                f" {post + dead}",
            )
            yield (
                stack > dead,
                f"stacks: {stack} chips of seat {seat} are all its ante, and the smallest ante is"
                " 0; it needs one more",
            )
        playable = self.playable(stacks)
        able = [post for stack, post in zip(playable, self.post, strict=True) if stack > post]
        yield (
            any(post < max(self.post) for post in able) or len(able) > 1,
            f"stacks: {stacks} leaves nobody a decision after antes and blinds",
        )

    def playable(self, stacks: list[int]) -> list[int]:
        """Chips of each seat that can come into play after the dead antes.

        A seat that has posted as much as anybody else has in all is asked for no more, as if that
        were all it had.
        """
        left = [stack - dead for stack, dead in zip(stacks, self.dead_antes, strict=True)]
        second = sorted(left)[-2]
        return [
            post if post >= second else stack for stack, post in zip(left, self.post, strict=True)
        ]

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
    def antes(self) -> list[int]:
        """The ante of each seat, chips."""
        return [self.ante] * self.seats if isinstance(self.ante, int) else self.ante

    @property
    def dead_antes(self) -> list[int]:
        """Return each seat's ante above the smallest one, which others need not match."""
        return [ante - min(self.antes) for ante in self.antes]

    @property
    def post(self) -> list[int]:
        """The smallest ante and the blind of each seat, chips."""
        return [min(self.antes) + blind for blind in self.blinds or [0] * self.seats]

    @property
    def ace(self) -> int:
        """The rank that also stands below the lowest one, if the deck has it."""
        return len(self.ranks) - 1 if self.ranking == SHORT_DECK else RANKS - 1

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
            "ante": min(self.antes),
            "dead_pot": sum(self.dead_antes),
            "short_deck": self.ranking == SHORT_DECK,
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
            "dead": self.dead_antes,
        }.items():
            record[key][0, : len(values)] = values
        if self.stack_of is not None:
            record["stack"][0, : self.seats] = self.playable(self.stack_of)
            record["chip_plane"] = own_plane + self.cards * self._card_planes
        return record

    @property
    def _card_planes(self) -> int:
        """How often an observation has room for each card: own, and by street with a board."""
        return 1 + sum(n > 0 for n in self.board_cards)

    @property
    def observation_size(self) -> int:
        """Width of an observation: the betting block, own cards, board cards by street.

        With stacks also the chips by seat and of the pot.
        """
        cards_end = int(self.record[0]["own_plane"]) + self.cards * self._card_planes
        chips = 0 if self.stack_of is None else 3 * int(self.record[0]["room"]) + 3
        return cards_end + chips

    @property
    def observation_dtype(self) -> np.dtype[Any]:
        """0/1 features, and with stacks chips as shares of the largest."""
        return np.dtype(np.uint8 if self.stack_of is None else np.float32)

    @property
    def hidden_size(self) -> int:
        """Width of the others' hole cards."""
        return (self.seats - 1) * self.cards

    @property
    def history_size(self) -> int:
        """Width of a step of the history: seat, street, fold, call or raise, chips.

        With stacks also the stack, and the share of it that is left.
        """
        chips = 1 if self.stack_of is None else 3
        return int(self.record[0]["room"]) + len(self.board_cards) + 3 + chips

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
        """The definition as plain values, without what may be left out and is."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def by_seat(stacks: int | list[int], seats: int) -> list[int]:
    """Chips of each seat; one number is that of all."""
    return [stacks] * seats if isinstance(stacks, int) else stacks
