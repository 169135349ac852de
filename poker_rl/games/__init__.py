"""Rules: what may happen at a table. Nothing here knows of networks, players or settings files.

Imports config.

Numba keeps compiled code on disk, but does not see that a function called from another file has
changed. The cache folder is therefore named by a hash of these sources and those of plug-ins.
"""

import hashlib
import os
from pathlib import Path

import numba

from poker_rl.config.plugins import sources as plugin_sources


def _cache_folder() -> Path:
    ours = sorted(Path(__file__).parent.rglob("*.py"))
    sources = b"".join(path.read_bytes() for path in [*ours, *plugin_sources()])
    digest = hashlib.sha256(sources).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "poker-rl" / digest


if "NUMBA_LOOP_VECTORIZE" not in os.environ:
    # A tenth of compile time, and these short loops are no faster for it.
    numba.config.LOOP_VECTORIZE = 0  # type: ignore[attr-defined]
if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]

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
