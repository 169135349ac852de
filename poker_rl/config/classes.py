"""Classes by their dotted names: the only way for a config or a checkpoint to name code."""

from __future__ import annotations

import json
from importlib import import_module
from types import ModuleType
from typing import Any

from poker_rl.config.plugins import plugins
from poker_rl.config.settings import Refused

OURS = "poker_rl"

# Where the classes are that run folders and snapshots of version 0.1 name by another module.
MOVED = {
    "poker_rl.amounts": "poker_rl.nets.amounts",
    "poker_rl.average": "poker_rl.learning.average",
    "poker_rl.games.big2": "poker_rl.games.big2.game",
    "poker_rl.games.drawn_seats": "poker_rl.games.poker.drawn_seats",
    "poker_rl.games.no_limit": "poker_rl.games.poker.no_limit",
    "poker_rl.games.poker": "poker_rl.games.poker.limit",
    "poker_rl.history": "poker_rl.nets.history",
    "poker_rl.memory": "poker_rl.learning.memory",
    "poker_rl.nets": "poker_rl.nets.dense",
    "poker_rl.schedules": "poker_rl.config.schedules",
}


def class_of(target: object) -> type[Any]:
    """The class that has that dotted name, such as `poker_rl.algos.ppo.PPO`.

    Only classes that poker_rl or an installed plug-in defines itself can be named, not those that
    it imports from elsewhere.

    Raises:
        Refused: if there is no such class, or what its plug-in imports is missing.
    """
    module, _, name = str(target).rpartition(".")
    module = MOVED.get(module, module)
    package = module.partition(".")[0]
    if package == OURS or package in {plugin.package for plugin in plugins()}:
        found = getattr(_imported(module), name, None)
        if isinstance(found, type) and found.__module__ == module:
            return found
    allowed = "".join(f" or of the plug-in {plugin.package}" for plugin in plugins())
    gone = "" if package == OURS or not module else "; is its plug-in installed?"
    name = json.dumps(target, ensure_ascii=False)
    raise Refused(f"{name} is not a class of poker_rl{allowed}{gone}")


def _imported(module: str) -> ModuleType | None:
    """A module of this program or of a plug-in; None if there is none of that name."""
    try:
        return import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            return None
        if module.startswith(f"{OURS}."):
            raise  # a bug
        raise Refused(f"the plug-in's module {module} can't be imported: {error}") from error
