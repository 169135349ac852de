"""Rules: what may happen at a table. Nothing here knows of networks, players or settings files.

Imports config.
"""

import os

import numba

from poker_rl.config.compile_cache import use_cache

if "NUMBA_LOOP_VECTORIZE" not in os.environ:
    # A tenth of compile time, and these short loops are no faster for it.
    numba.config.LOOP_VECTORIZE = 0  # type: ignore[attr-defined]
use_cache()

from poker_rl.games.game import Game, rule, shuffle
from poker_rl.games.load import load_game
from poker_rl.games.scene import Amounts, Move, Place, Scene
from poker_rl.games.sequences import collect, multiply_out, respond
from poker_rl.games.tables import Tables
from poker_rl.games.tree import Tree, tree_of

__all__ = [
    "Amounts",
    "Game",
    "Move",
    "Place",
    "Scene",
    "Tables",
    "Tree",
    "collect",
    "load_game",
    "multiply_out",
    "respond",
    "rule",
    "shuffle",
    "tree_of",
]
