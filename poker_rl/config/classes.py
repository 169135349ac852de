"""Classes by their dotted names: the only way for a config or a checkpoint to name code."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from poker_rl.config.settings import Refused

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
    """The class of this program that has that dotted name, such as `poker_rl.algos.ppo.PPO`.

    Raises:
        Refused: if there is none, or it is defined elsewhere.
    """
    module, _, name = str(target).rpartition(".")
    module = MOVED.get(module, module)
    if module.startswith("poker_rl."):
        try:
            found = getattr(import_module(module), name, None)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise  # what it imports is missing
            found = None
        if isinstance(found, type) and found.__module__ == module:
            return found
    raise Refused(f"{json.dumps(target, ensure_ascii=False)} is not a class of poker_rl")
