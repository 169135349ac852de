"""Views of tables: plain values that a web page, a terminal or a text file can show.

Code that displays a view needs no knowledge of the rules. A view is built for one viewer and holds
only information that this viewer may have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import tables_from_records


@dataclass(frozen=True)
class SeatView:
    """A seat of the table as the viewer sees it."""

    cards: tuple[str, ...]  # cards that the viewer may see, such as ("As", "Kd")
    hidden_card_count: int  # number of cards held that the viewer may not see
    bet: int = 0  # chips put in on this street; 0 in games without bets
    paid: int = 0  # chips put in during the whole hand
    stack: int | None = None  # chips left to bet; None if unlimited, or in games without bets
    folded: bool = False
    notes: tuple[str, ...] = ()  # notes for display, such as "button", "big blind", "all-in"


@dataclass(frozen=True)
class TableView:
    """Everything that one viewer may see of a table."""

    seats: tuple[SeatView, ...]  # all seats, from seat 0 on
    board: tuple[str, ...]  # cards face up: the board in poker, the hand to beat in Big 2
    to_act: int | None  # the seat to act; None when the hand is over
    pots: tuple[int, ...] = ()  # main pot and side pots, without the bets of this street
    street: str = ""  # name of the street, such as "preflop"; "" in games without streets
    hand_name: str = ""  # the viewer's hand, such as "two pair, kings and fours", or ""


@dataclass(frozen=True)
class LegalMove:
    """A legal action of the seat to act, with its names, chips and cards for display."""

    action: int  # number of the action in the game
    name: str  # the name of the move in transcripts, from `Game.move_name`
    action_type: str  # fold, check, call, bet or raise; in Big 2 pass or a combination like "pair"
    chips_added: int | None = None  # chips that the seat puts in now; None in games without bets
    raise_to: int | None = None  # total bet on this street if the move is a bet or raise
    cards: tuple[str, ...] = ()  # cards that the action plays; () in poker
    size_name: str = ""  # the bet size, such as "half pot" or "all-in"; "" if it has no name

    @property
    def label(self) -> str:
        """The text of a button, such as `Call 2`, `Raise to 12`, `Pair 5d 5h`."""
        if self.action_type == "raise":
            return f"Raise to {self.raise_to}"
        words = [self.action_type.capitalize(), *self.cards]
        if self.action_type in ("bet", "call") and self.chips_added is not None:
            words.append(str(self.chips_added))
        return " ".join(words)


@dataclass(frozen=True)
class BetRange:
    """The legal bets or raises of the seat to act in a game that allows any number of chips."""

    min_bet: int  # total bet on this street after the smallest bet or raise
    max_bet: int  # total bet on this street after the largest bet or raise
    min_bet_action: int  # action of the smallest bet; the next action bets one more chip


class DisplayedGame(Game):
    """A game whose tables can be shown to a person, so that people can play it."""

    @abstractmethod
    def build_view(self, record: np.void, viewer: int | None) -> TableView:
        """Return the view of a table for the seat `viewer`; None shows all cards face up.

        Build it only from information that the viewer may have; do not hide parts afterwards.
        """

    @abstractmethod
    def list_moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[LegalMove]:
        """Return the given legal actions of the seat to act as moves.

        If `actions` is None, return all legal actions, but only bets of usual sizes if the game
        allows any number of chips.
        """

    def list_legal_actions(self, record: np.void) -> list[int]:
        """Return the legal actions of the seat to act; [] when the hand is over."""
        if record["over"]:
            return []
        legal_mask = tables_from_records(self, np.array([record], self.table_dtype)).legal_mask()
        actions: list[int] = np.flatnonzero(legal_mask).tolist()
        return actions

    def compute_next_records(self, record: np.void, actions: Sequence[int]) -> np.ndarray:
        """Return copies of a table after each of N legal actions of the seat to act, [N]."""
        tables = tables_from_records(self, np.array([record] * len(actions), self.table_dtype))
        tables.step(np.array(actions, np.int64))
        return tables.records

    def get_bet_range(self, record: np.void) -> BetRange | None:
        """Return the range of legal bets if any number of chips may be bet now, else None."""
        return None
