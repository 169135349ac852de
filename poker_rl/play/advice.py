"""What an adviser says of a person's decision, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from poker_rl.evaluation.grid import grid_here, has_grid, plain
from poker_rl.evaluation.matches import unit_of
from poker_rl.games.game import Game
from poker_rl.games.poker.notation import AnyPoker
from poker_rl.play.moves import NotAllowed
from poker_rl.play.review import chances_of, listed
from poker_rl.play.table import Seated


def hint(game: Game, adviser: Seated, record: np.ndarray) -> dict[str, Any]:
    """The adviser's name, its chances, and what it expects to win in the whole hand.

    The last is in the unit of the statistics; None if it has no critic.

    Args:
        record: the table, [1], at the person's decision.
    """
    values = adviser.player.values(record.copy())
    return {
        "adviser": adviser.name,
        "chances": listed(game, record, chances_of(game, adviser.player, record)),
        "value": None if values is None else float(values[0]) * unit_of(game)[0],
    }


def grid(game: Game, adviser: Seated, record: np.void) -> dict[str, Any]:
    """What the adviser would do with every starting hand of hold'em, as `plain` has it.

    Raises:
        NotAllowed: if the game is not hold'em.
    """
    if not (has_grid(game) and isinstance(game, AnyPoker)):
        raise NotAllowed("Only hold'em has a grid of starting hands.")
    return {"adviser": adviser.name, **plain(grid_here(game, adviser.player, record), game.ranks)}
