"""Big 2 as the rest of the program sees it: sizes, and how people write hands and moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import factorial
from types import ModuleType
from typing import Any

import numpy as np

from poker_rl.config.settings import Count, Refused
from poker_rl.games.big2 import climbing
from poker_rl.games.big2.combinations import ACTIONS, CARDS, CHOICES, HAND, SIZE
from poker_rl.games.cards import card_name
from poker_rl.games.scene import Amounts, Move, Place, Scene
from poker_rl.games.tables import Tables

LAST_TURN = 255  # that a table can count to
ACTION_OF = np.full(1 << HAND, -1)  # by the positions played, a bit for each; -1: there is none
ACTION_OF[[sum(1 << i for i in choice) for choice in CHOICES]] = np.arange(ACTIONS)

KINDS = {  # what a hand is called, by its number of cards and category
    1: ["single"],
    2: ["pair"],
    3: ["triple"],
    4: ["two pair", "four of a kind"],
    5: ["straight", "flush", "full house", "straight flush"],
}


@dataclass(kw_only=True, frozen=True)
class Big2:
    """Big 2 for four; results are in points, a card left each."""

    name: str
    unit: str
    unit_chips: Count

    hand = "game"
    ranks = "3456789TJQKA2"
    suits = "dchs"
    seats = climbing.SEATS
    actions = ACTIONS
    kinds = np.arange(ACTIONS)  # each its own
    observation_size = climbing.OBSERVATION
    observation_dtype = np.dtype(np.uint8)
    history_size = 0
    hidden_size = (climbing.SEATS - 1) * CARDS
    infoset_size = climbing.INFOSET
    table = climbing.TABLE

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""
        return climbing

    @property
    def record(self) -> np.ndarray:
        """The definition as the rules read it, an array of one record."""
        return np.array([(climbing.SEATS, CARDS, CARDS)], climbing.GAME)

    def deal_count(self) -> int:
        """Number of different deals, 5.4e28."""
        return factorial(CARDS) // int(factorial(HAND) ** self.seats)

    def deals(self) -> np.ndarray:
        """Too many.

        Raises:
            Refused: always.
        """
        raise Refused(f"game: {self.name} has {self.deal_count():.2g} deals, too many to list")

    def action_name(self, action: int) -> str:
        """The positions in the hand it plays, from 1: `2+3`; or `pass`."""
        return "+".join(str(1 + position) for position in CHOICES[action]) or "pass"

    def move_name(self, record: np.void, action: int) -> str:
        """The cards it plays from the hand of the seat to act: `5d5h`; or `pass`."""
        hand = record["hand"][record["to_act"]]
        return self._cards(hand[list(CHOICES[action])]) or "pass"

    def infoset_name(self, record: np.void) -> str:
        """The seat to act, its cards, the hand to beat with passes, the others' number of cards.

        As in `2 4h7d7s|5d pass|12 13 13`; `lead` in place of a hand if there is none to beat.
        """
        seat = int(record["to_act"])
        passes = int(record["passes"])
        beat = self._cards(to_beat(record)) + " pass" * passes if record["size"] else "lead"
        left = [str(record["left"][(seat + i) % climbing.SEATS]) for i in range(1, climbing.SEATS)]
        own = self._cards(record["hand"][seat, : record["left"][seat]])
        return f"{seat} {own}|{beat}|{' '.join(left)}"

    def scene(self, record: np.void, viewer: int | None) -> Scene:
        """The cards of the viewer or of all, how many each seat has left, and the hand to beat.

        A seat's note tells whether it played that hand or has passed since.
        """
        over, passes = bool(record["over"]), int(record["passes"])
        notes = [""] * self.seats
        if record["size"]:
            last = (int(record["to_act"]) - 1 - passes) % self.seats
            notes[last] = "played last"
            for i in range(passes):
                notes[(last + 1 + i) % self.seats] = "passed"
        return Scene(
            places=tuple(
                self._place(record, seat, viewer is None or seat == viewer, notes[seat])
                for seat in range(self.seats)
            ),
            board=self._names(to_beat(record)) if record["size"] else (),
            pots=(),
            street="",
            to_act=None if over else int(record["to_act"]),
            words="",
        )

    def _place(self, record: np.void, seat: int, seen: bool, note: str) -> Place:
        left = int(record["left"][seat])
        return Place(
            cards=self._names(record["hand"][seat, :left]) if seen else (),
            hidden=0 if seen else left,
            bet=0,
            paid=0,
            stack=None,
            folded=False,
            notes=(note,) if note else (),
        )

    def moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[Move]:
        """These actions, or all that are legal, in the order of their numbers."""
        if actions is None:
            tables = Tables(self, 0, 0)
            tables.use(np.array([record], self.table))
            actions = np.flatnonzero(tables.legal()[0] & (record["over"] == 0)).tolist()
        after = Tables(self, 0, 0)
        after.use(np.array([record] * len(actions), self.table))
        after.step(np.array(actions, np.int64))
        categories = (after.records["strength"] // CARDS).tolist()
        hand = record["hand"][record["to_act"]]
        found = []
        for action, category in zip(actions, categories, strict=True):
            cards = self._names(hand[list(CHOICES[action])])
            found.append(
                Move(
                    action=int(action),
                    name="".join(cards) or "pass",
                    kind=KINDS[int(SIZE[action])][category] if cards else "pass",
                    chips=None,
                    to=None,
                    cards=cards,
                    size="",
                )
            )
        return found

    def amounts(self, record: np.void) -> Amounts | None:
        """None: no chips are bet."""
        return None

    def recover_actions(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions so far of tables [B], [B, turns], and how many there are [B].

        A card's place in the hand that it was played from is the number of lower cards of the same
        seat that were played no earlier, or not at all.
        """
        turn, deck = records["turn"], records["deck"].astype(np.int64)
        held = np.sort(deck.reshape(-1, self.seats, HAND), axis=2)  # [B, seats, 13]
        rows = np.arange(len(records))[:, None, None]
        played = turn[rows, held].astype(np.int64)  # at which turn, [B, seats, 13]
        positions = np.zeros((len(records), LAST_TURN + 1), np.int64)  # a bit for each
        for i in range(HAND):
            at = played[:, :, i, None]
            place = ((played[:, :, :i] >= at) | (played[:, :, :i] == 0)).sum(2)
            np.bitwise_or.at(positions, (rows[:, :, 0], at[:, :, 0]), 1 << place)
        # the first turn is the three of diamonds, which nobody decides to play
        return ACTION_OF[positions[:, 2:]], records["turns"].astype(np.int64) - 1

    def _names(self, cards: np.ndarray) -> tuple[str, ...]:
        return tuple(card_name(int(card), self.ranks, self.suits) for card in cards)

    def _cards(self, cards: np.ndarray) -> str:
        return "".join(self._names(cards))

    def state(self) -> dict[str, Any]:
        """The definition as plain values."""
        return asdict(self)


def to_beat(record: np.void) -> np.ndarray:
    """The cards played last, ascending."""
    return np.flatnonzero(record["turn"] == record["turns"] - record["passes"])
