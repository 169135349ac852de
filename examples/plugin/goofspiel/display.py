"""Views of Goofspiel for people; training and evaluation do not need this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goofspiel import rules
from goofspiel.game import Goofspiel
from poker_rl.games import DisplayedGame, LegalMove, SeatView, TableView


@dataclass(kw_only=True, frozen=True)
class DisplayedGoofspiel(Goofspiel, DisplayedGame):
    """Goofspiel with views of its tables and names of its actions."""

    def action_name(self, action: int) -> str:
        """Return the name of a bid by the value of its card: `bid_1`."""
        return f"bid_{action + 1}"

    def infoset_name(self, record: np.void) -> str:
        """Return the seat to act, the prizes turned up, and the seat's bids with their results.

        `0 31 2-` means seat 0, prizes 3 and 1, and a bid of 2 that lost; = is a tie, + a win.
        """
        seat, count = int(record["to_act"]), int(record["round"])
        prizes = "".join(str(card + 1) for card in record["deck"][: count + 1])
        signs = "?-=+" if seat == 0 else "?+=-"  # the table stores the results of seat 0
        bids = [f"{record['bid'][seat, i] + 1}{signs[record['result'][i]]}" for i in range(count)]
        return f"{seat} {prizes} {''.join(bids)}".strip()

    def build_view(self, record: np.void, viewer: int | None) -> TableView:
        """Return what a viewer sees: the prizes turned up, the newest last, and cards of seats.

        If `viewer` is None, all cards are visible. Bids are always hidden. Notes show points.
        """
        count = min(int(record["round"]) + 1, self.cards)
        prizes = [int(card) + 1 for card in record["deck"][:count]]
        seats = []
        for seat in range(self.seats):
            held = self._list_held_cards(record, seat)
            is_visible = viewer in (None, seat)
            cards = tuple(str(card + 1) for card in held) if is_visible else ()
            notes = (f"{self._count_points(record, seat, prizes)} points",)
            hidden_count = 0 if is_visible else len(held)
            seats.append(SeatView(cards, hidden_count, 0, 0, None, False, notes))
        return TableView(
            seats=tuple(seats),
            board=tuple(map(str, prizes)),
            pots=(),
            street="",
            to_act=None if record["over"] else int(record["to_act"]),
            hand_name="",
        )

    def list_moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[LegalMove]:
        """Return a bid for each of `actions`; None means all cards that the seat to act holds."""
        if actions is None:
            actions = [] if record["over"] else self._list_held_cards(record, record["to_act"])
        return [
            LegalMove(action, self.action_name(action), "bid", None, None, (str(action + 1),), "")
            for action in actions
        ]

    def _list_held_cards(self, record: np.void, seat: int) -> list[int]:
        return [card for card in range(self.cards) if card not in record["bid"][seat]]

    def _count_points(self, record: np.void, seat: int, prizes: list[int]) -> int:
        won = rules.WON if seat == 0 else rules.LOST  # the table stores the results of seat 0
        return sum(prize for i, prize in enumerate(prizes) if record["result"][i] == won)
