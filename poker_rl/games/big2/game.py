"""Big 2 as the rest of the program sees it: sizes, and how people write hands and moves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import factorial
from types import ModuleType
from typing import Any

import numpy as np

from poker_rl.config.settings import Count, Refused
from poker_rl.games.big2 import climbing
from poker_rl.games.big2.combinations import ACTIONS, CARDS, CHOICES, HAND
from poker_rl.games.cards import card_name


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
        return np.array([(climbing.SEATS, CARDS)], climbing.GAME)

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
        last = np.flatnonzero(record["turn"] == record["turns"] - passes)
        beat = self._cards(last) + " pass" * passes if record["size"] else "lead"
        left = [str(record["left"][(seat + i) % climbing.SEATS]) for i in range(1, climbing.SEATS)]
        own = self._cards(record["hand"][seat, : record["left"][seat]])
        return f"{seat} {own}|{beat}|{' '.join(left)}"

    def _cards(self, cards: np.ndarray) -> str:
        return "".join(card_name(int(card), self.ranks, self.suits) for card in cards)

    def state(self) -> dict[str, Any]:
        """The definition as plain values."""
        return asdict(self)
