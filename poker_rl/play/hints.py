"""Hints of the adviser, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import get_result_unit
from poker_rl.evaluation.starting_hand_grid import (
    compute_hand_grid_at,
    grid_to_dict,
    supports_hand_grid,
)
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.table_view import DisplayedGame
from poker_rl.play.grading import compute_probs
from poker_rl.play.live_hand import NamedPlayer
from poker_rl.play.move_groups import group_moves
from poker_rl.play.move_requests import MoveNotAllowedError


def create_hint(game: DisplayedGame, adviser: NamedPlayer, record: np.ndarray) -> dict[str, Any]:
    """Return the adviser's groups of moves and its expected payoff of the hand.

    The payoff has the unit of the session's statistics; it is None if the adviser has no critic.

    Args:
        record: the table record at the decision, shape [1].
    """
    values = adviser.player.state_values(record.copy())
    probs, action_values = (
        compute_probs(game, adviser.player, record),
        adviser.player.action_values(record.copy()),
    )
    return {
        "probs": [vars(group) for group in group_moves(game, record, probs, action_values)],
        "value": None if values is None else float(values[0]) * get_result_unit(game)[0],
    }


def create_grid_hint(game: DisplayedGame, adviser: NamedPlayer, record: np.void) -> dict[str, Any]:
    """Return the adviser's policy for every starting hand, as a grid in plain values.

    Raises:
        MoveNotAllowedError: if the game is not hold'em.
    """
    if not (supports_hand_grid(game) and isinstance(game, DisplayedPoker)):
        raise MoveNotAllowedError("Only hold'em has a grid of starting hands.")
    return grid_to_dict(compute_hand_grid_at(game, adviser.player, record), game.ranks)
