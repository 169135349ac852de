"""What there is to see at a table, in plain values: for a page, a terminal or a text.

Whoever shows a scene needs no rule of the game. A scene is made for one viewer and holds only what
that viewer may know.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A seat of the table."""

    cards: tuple[str, ...]  # those the viewer may see, as in ("As", "Kd")
    hidden: int  # cards held that the viewer may not see
    bet: int  # chips in front of the seat: put in on this street; 0 where no chips are bet
    paid: int  # chips put in during the whole hand
    stack: int | None  # chips left to bet; None where stacks are without limit
    folded: bool
    notes: tuple[str, ...]  # such as "button", "big blind", "all-in"


@dataclass(frozen=True)
class Scene:
    """A table as a viewer sees it."""

    places: tuple[Place, ...]  # by the game's own number of the seat
    board: tuple[str, ...]  # cards face up in the middle: board cards, or the hand to beat
    pots: tuple[int, ...]  # chips that lie in front of nobody any more, the main pot first
    street: str  # such as "preflop"; "" where there is none
    to_act: int | None  # the seat; None when the hand is over
    words: str  # the viewer's hand as people call it, "two pair, kings and fours"; "" if nothing


@dataclass(frozen=True)
class Move:
    """A legal action of the seat to act."""

    action: int
    name: str  # as the transcripts have it, `Game.move_name`
    kind: str  # fold, check, call, bet, raise; in Big 2 pass or the combination, such as "pair"
    chips: int | None  # that the seat puts in now by it; None where no chips are bet
    to: int | None  # of a bet or raise: what is then in front of the seat
    cards: tuple[str, ...]  # that are played by it, () in poker
    size: str  # of a bet or raise: "half pot", "all-in"; "" where it has no name

    @property
    def label(self) -> str:
        """What a button says: `Call 2`, `Raise to 12`, `Pair 5d 5h`."""
        if self.kind == "raise":
            return f"Raise to {self.to}"
        amount = self.chips if self.kind in ("bet", "call") else None
        return " ".join(
            [self.kind.capitalize(), *self.cards, *([] if amount is None else [str(amount)])]
        )


@dataclass(frozen=True)
class Amounts:
    """What the seat to act may bet or raise to, where that is any whole number of chips."""

    low: int  # in front of the seat after the smallest bet or raise
    high: int  # and after the largest
    action: int  # of the smallest; each chip more is the next action
