"""Contexts of learners on the CPU."""

from __future__ import annotations

from typing import Any

import torch

from poker_rl.games.game import Game
from poker_rl.learning.learner_services import LearnerContext
from poker_rl.learning.opponents import OpponentSettings
from poker_rl.nets.net_config import NetConfig


def cpu_context(game: Game, net: NetConfig, seed: int = 0, opponent: Any = None) -> LearnerContext:
    return LearnerContext(
        game=game, net=net, device=torch.device("cpu"), seed=seed, opponents=sole(opponent)
    )


def sole(opponent: Any) -> OpponentSettings | None:
    """Return the settings of a single opponent; None for self-play."""
    return None if opponent is None else OpponentSettings(players={"fixed": opponent})
