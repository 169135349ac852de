"""From what a person asks for to a legal move of the table."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.scene import Amounts, Move
from poker_rl.play.review import FEW


class NotAllowed(Exception):
    """A request that the table does not allow now, in a sentence. Nothing has changed."""


def move_asked(game: Game, record: np.void, action: int | dict[str, int]) -> Move:
    """The legal move that was asked for: an action, or a bet or raise `{"to": chips}`.

    Raises:
        NotAllowed: if the seat to act has no such move.
    """
    amounts = game.amounts(record)
    number = action_of(amounts, action.get("to")) if isinstance(action, dict) else action
    legal = game.moves(record)
    if type(number) is int:
        for move in legal:
            if move.action == number:
                return move
        if amounts is not None and 0 <= number - amounts.action <= amounts.high - amounts.low:
            return game.moves(record, [number])[0]
    labels = [move.label.lower() for move in legal]
    allowed = f": {', '.join(labels)}" if len(labels) <= FEW else ""
    raise NotAllowed(f"That is not one of the moves that you have{allowed}.")


def action_of(amounts: Amounts | None, to: object) -> int:
    """The action that bets or raises to so many chips.

    Raises:
        NotAllowed: if that is no amount that may be bet.
    """
    if amounts is None:
        raise NotAllowed("You can't choose an amount here.")
    if type(to) is not int or not amounts.low <= to <= amounts.high:
        raise NotAllowed(
            f"You may bet or raise to a whole number of chips from {amounts.low} to {amounts.high}."
        )
    return amounts.action + to - amounts.low
