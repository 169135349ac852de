"""Big 2 as a `Game`: its sizes, views of its tables, and its cards and moves as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.big2 import big2_rules
from poker_rl.games.big2.combinations import (
    ACTION_COUNT,
    ACTION_POSITIONS,
    ACTION_SIZES,
    DECK_SIZE,
    HAND_SIZE,
)
from poker_rl.games.cards import card_name
from poker_rl.games.displayed_table import DisplayedGame, LegalMove, SeatView, TableView

COMBINATION_NAMES = {  # names by number of cards, in the order of the categories
    1: ["single"],
    2: ["pair"],
    3: ["triple"],
    4: ["two pair", "four of a kind"],
    5: ["straight", "flush", "full house", "straight flush"],
}


@dataclass(kw_only=True, frozen=True)
class Big2(DisplayedGame):
    """Big 2 for four players; each loser pays the winner one point for each card it still holds."""

    hand_noun = "game"
    ranks = "3456789TJQKA2"
    suits = "dchs"
    seats = big2_rules.SEATS
    rules = big2_rules
    action_count = ACTION_COUNT
    observation_size = big2_rules.OBSERVATION_SIZE
    feature_dtype = np.dtype(np.uint8)
    hidden_card_size = (big2_rules.SEATS - 1) * DECK_SIZE
    infoset_key_size = big2_rules.INFOSET_KEY_SIZE
    table_dtype = big2_rules.TABLE_DTYPE
    definitions = np.array([(big2_rules.SEATS, DECK_SIZE, DECK_SIZE)], big2_rules.DEFINITION_DTYPE)

    def count_deals(self) -> int:
        """Return the number of different deals, 5.4e28."""
        return factorial(DECK_SIZE) // int(factorial(HAND_SIZE) ** self.seats)

    def list_deals(self) -> np.ndarray:
        """Raise ConfigError, since there are too many deals."""
        raise ConfigError(f"game: {self.name} has {self.count_deals():.2g} deals, too many to list")

    def action_name(self, action: int) -> str:
        """Return the positions of the cards played, such as `2+3`, counted from 1; or `pass`."""
        return "+".join(str(1 + position) for position in ACTION_POSITIONS[action]) or "pass"

    def move_name(self, record: np.void, action: int) -> str:
        """Return the cards, such as `5d5h`, that the seat to act plays by an action; or `pass`."""
        hand = record["hand"][record["to_act"]]
        return self._format_cards(hand[list(ACTION_POSITIONS[action])]) or "pass"

    def infoset_name(self, record: np.void) -> str:
        """Return the information set of the seat to act, such as `2 4h7d7s|5d pass|12 13 13`.

        The text has the seat, its cards, the cards to beat (`lead` if any may be played), the
        passes since then, and the number of cards of each other seat in turn order.
        """
        seat = int(record["to_act"])
        hand_to_beat = "lead"
        if record["size"]:
            passes = " pass" * int(record["passes"])
            hand_to_beat = self._format_cards(get_cards_to_beat(record)) + passes
        card_counts = [str(record["left"][(seat + i) % self.seats]) for i in range(1, self.seats)]
        own_cards = self._format_cards(record["hand"][seat, : record["left"][seat]])
        return f"{seat} {own_cards}|{hand_to_beat}|{' '.join(card_counts)}"

    def build_view(self, record: np.void, viewer: int | None) -> TableView:
        passes, seats = int(record["passes"]), []
        for seat, held_count in enumerate(record["left"].tolist()):
            show_cards = viewer in (None, seat)
            turns_ago = (int(record["to_act"]) - seat - 1) % self.seats
            note = "passed" if turns_ago < passes else "played last"
            seats.append(
                SeatView(
                    cards=self._name_cards(record["hand"][seat, :held_count]) if show_cards else (),
                    hidden_card_count=0 if show_cards else held_count,
                    notes=(note,) if record["size"] and turns_ago <= passes else (),
                )
            )
        return TableView(
            seats=tuple(seats),
            board=self._name_cards(get_cards_to_beat(record)) if record["size"] else (),
            to_act=None if record["over"] else int(record["to_act"]),
        )

    def list_moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[LegalMove]:
        """Return the given legal actions as moves, or all legal actions in ascending order."""
        if actions is None:
            actions = self.list_legal_actions(record)
        moves = []
        for action, after in zip(actions, self.compute_next_records(record, actions), strict=True):
            positions = list(ACTION_POSITIONS[action])
            cards = self._name_cards(record["hand"][record["to_act"]][positions])
            names = COMBINATION_NAMES[int(ACTION_SIZES[action])] if cards else []
            action_type = names[after["strength"] // DECK_SIZE] if cards else "pass"
            moves.append(LegalMove(int(action), "".join(cards) or "pass", action_type, cards=cards))
        return moves

    def _name_cards(self, cards: np.ndarray) -> tuple[str, ...]:
        return tuple(card_name(int(card), self.ranks, self.suits) for card in cards)

    def _format_cards(self, cards: np.ndarray) -> str:
        return "".join(self._name_cards(cards))


def get_cards_to_beat(record: np.void) -> np.ndarray:
    """Return the cards that were played last and have to be beaten, in ascending order."""
    return np.flatnonzero(record["turn"] == record["turns"] - record["passes"])
