"""Goofspiel as the rest of poker-rl sees it; its fields are the keys of its YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from math import factorial
from types import ModuleType
from typing import Annotated, Any

import numpy as np

from goofspiel import rules
from poker_rl.config import Count, Range
from poker_rl.games import Amounts, Move, Place, Scene


@dataclass(kw_only=True)
class Goofspiel:
    """Goofspiel with hidden bids for two; results are in points."""

    name: str
    unit: str
    unit_chips: Count
    cards: Annotated[int, Range(2, rules.MOST_CARDS)]

    hand = "game"
    seats = rules.SEATS
    observation_dtype = np.dtype(np.uint8)
    history_size = 0  # the rules have no `history`, so networks that read one can't play it
    infoset_size = 1 + 3 * rules.MOST_CARDS
    table = rules.TABLE

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""
        return rules

    @property
    def record(self) -> np.ndarray:
        """The definition as the rules read it, an array of one record."""
        return np.array([(self.seats, self.cards, self.cards)], rules.GAME)

    @property
    def actions(self) -> int:
        """An action for each card, 0 for the lowest."""
        return self.cards

    @property
    def kinds(self) -> np.ndarray:
        """Each card is an action of its own kind, [A] int64."""
        return np.arange(self.cards)

    @property
    def observation_size(self) -> int:
        """Width of what `rules.observe` writes."""
        return 1 + (3 + 2 * self.cards) * self.cards

    @property
    def hidden_size(self) -> int:
        """Width of what `rules.reveal` writes."""
        return 2 * self.cards**2

    def deal_count(self) -> int:
        """Number of orders of the prizes."""
        return factorial(self.cards)

    def deals(self) -> np.ndarray:
        """Every order of the prizes once, [deals, N] int8."""
        return np.array(list(permutations(range(self.cards))), np.int8)

    def recover_actions(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bids so far of tables [B], [B, 2 N], and how many there are [B]."""
        bids = records["bid"].transpose(0, 2, 1)  # seat 0 bids first
        bids = bids.reshape(len(records), rules.SEATS * rules.MOST_CARDS)
        return bids, records["round"].astype(np.int64) * self.seats + records["to_act"]

    def action_name(self, action: int) -> str:
        """The value of the card: `bid_1`."""
        return f"bid_{action + 1}"

    def move_name(self, record: np.void, action: int) -> str:
        """The same: it does not depend on the table."""
        return self.action_name(action)

    def infoset_name(self, record: np.void) -> str:
        """The seat, the prizes turned up and its own bids, with what came of them.

        As in `0 31 2-`: the prizes 3 and 1, and a bid of 2 that lost; = is a tie, + has won.
        """
        seat, count = int(record["to_act"]), int(record["round"])
        prizes = "".join(str(card + 1) for card in record["deck"][: count + 1])
        signs = "?-=+" if seat == 0 else "?+=-"  # results are written down as seat 0 sees them
        bids = [f"{record['bid'][seat, i] + 1}{signs[record['result'][i]]}" for i in range(count)]
        return f"{seat} {prizes} {''.join(bids)}".strip()

    def scene(self, record: np.void, viewer: int | None) -> Scene:
        """The prizes turned up so far, the newest last, and the cards that seats hold.

        A seat's note has the points it has won. Bids stay hidden.
        """
        count = min(int(record["round"]) + 1, self.cards)
        prizes = [int(card) + 1 for card in record["deck"][:count]]
        places = []
        for seat in range(self.seats):
            held = self._held(record, seat)
            seen = viewer is None or seat == viewer
            cards = tuple(str(card + 1) for card in held)
            notes = (f"{self._points(record, seat, prizes)} points",)
            hidden = 0 if seen else len(held)
            places.append(Place(cards if seen else (), hidden, 0, 0, None, False, notes))
        return Scene(
            places=tuple(places),
            board=tuple(map(str, prizes)),
            pots=(),
            street="",
            to_act=None if record["over"] else int(record["to_act"]),
            words="",
        )

    def _held(self, record: np.void, seat: int) -> list[int]:
        return [card for card in range(self.cards) if card not in record["bid"][seat]]

    def _points(self, record: np.void, seat: int, prizes: list[int]) -> int:
        won = rules.WON if seat == 0 else rules.LOST  # results are written down as seat 0 sees them
        return sum(prize for i, prize in enumerate(prizes) if record["result"][i] == won)

    def moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[Move]:
        """A bid for each card that the seat to act holds."""
        if actions is None:
            actions = [] if record["over"] else self._held(record, int(record["to_act"]))
        return [
            Move(action, self.action_name(action), "bid", None, None, (str(action + 1),), "")
            for action in actions
        ]

    def amounts(self, record: np.void) -> Amounts | None:
        """None: no chips are bet."""
        return None

    def state(self) -> dict[str, Any]:
        """The definition as plain values."""
        return asdict(self)
