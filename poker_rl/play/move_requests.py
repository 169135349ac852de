"""Find the legal move that a request of the page or a line in the terminal names."""

from __future__ import annotations

import numpy as np

from poker_rl.games.table_view import BetRange, DisplayedGame, LegalMove
from poker_rl.play.move_groups import MAX_LISTED_MOVES


class MoveNotAllowedError(Exception):
    """Error raised if a request is not allowed now; its message is a sentence for the person."""


def find_requested_move(
    game: DisplayedGame, record: np.void, action: int | dict[str, int]
) -> LegalMove:
    """Return the legal move that is named by an action number, or by the bet `{"to": chips}`.

    Raises:
        MoveNotAllowedError: if the seat to act has no such move.
    """
    bet_range = game.get_bet_range(record)
    action_number = (
        find_bet_action(bet_range, action.get("to")) if isinstance(action, dict) else action
    )
    legal_moves = game.list_moves(record)
    if type(action_number) is int:
        for move in legal_moves:
            if move.action == action_number:
                return move
        if (
            bet_range is not None
            and 0
            <= action_number - bet_range.min_bet_action
            <= bet_range.max_bet - bet_range.min_bet
        ):
            return game.list_moves(record, [action_number])[0]
    labels = [move.label.lower() for move in legal_moves]
    allowed_text = f": {', '.join(labels)}" if len(labels) <= MAX_LISTED_MOVES else ""
    raise MoveNotAllowedError(f"That is not one of your moves{allowed_text}.")


def find_bet_action(bet_range: BetRange | None, raise_to: object) -> int:
    """Return the number of the action that bets or raises to `raise_to` chips.

    Raises:
        MoveNotAllowedError: if the amount is not allowed.
    """
    if bet_range is None:
        raise MoveNotAllowedError("You can't choose an amount here.")
    if type(raise_to) is not int or not bet_range.min_bet <= raise_to <= bet_range.max_bet:
        raise MoveNotAllowedError(
            f"You may bet or raise to a whole number of chips from {bet_range.min_bet} to"
            f" {bet_range.max_bet}."
        )
    return bet_range.min_bet_action + raise_to - bet_range.min_bet
