"""What a learner is given, as tests do: everything on the CPU."""

from __future__ import annotations

from typing import Any

import torch

from poker_rl.games.game import Game
from poker_rl.learning.agents import Given
from poker_rl.nets.dense import Net


def given(game: Game, net: Net, seed: int = 0, opponent: Any = None) -> Given:
    return Given(game=game, net=net, device=torch.device("cpu"), seed=seed, opponent=opponent)
