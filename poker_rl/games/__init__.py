"""Games: rules, tables and trees, without networks, players or settings files.

Of the other packages of `poker_rl` this one imports only `config`.
"""

import os

import numba

from poker_rl.config.threads_and_numba_cache import enable_numba_cache

if "NUMBA_LOOP_VECTORIZE" not in os.environ:
    # Loop vectorization takes a tenth of the compile time and does not speed up short loops.
    numba.config.LOOP_VECTORIZE = 0  # type: ignore[attr-defined]
enable_numba_cache()

from poker_rl.games.displayed_table import BetRange, DisplayedGame, LegalMove, SeatView, TableView
from poker_rl.games.game import Game, jit, load_game, shuffle_deck
from poker_rl.games.game_tree import GameTree, get_tree
from poker_rl.games.sequence_form import (
    compute_reach,
    propagate_best_response,
    write_leaf_counterfactual_values,
)
from poker_rl.games.tables import Tables

__all__ = [
    "BetRange",
    "DisplayedGame",
    "Game",
    "GameTree",
    "LegalMove",
    "SeatView",
    "TableView",
    "Tables",
    "compute_reach",
    "get_tree",
    "jit",
    "load_game",
    "propagate_best_response",
    "shuffle_deck",
    "write_leaf_counterfactual_values",
]
