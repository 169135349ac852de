"""Exponential moving average (EMA) of network weights.

In self-play the current policy often circles around an equilibrium; the average is closer to it.
"""

from __future__ import annotations

from copy import deepcopy
from math import inf
from typing import Any

import torch
from torch import nn


class WeightEMA:
    """EMA of a network's weights, initialized with a copy of them.

    Args:
        module: the network in training.
        decay: weight of the old average at each update, in [0, 1].

    Attributes:
        module: a copy of the network that has the averaged weights.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = deepcopy(module).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, module: nn.Module, iteration: float = inf) -> None:
        """Set the average to decay * average + (1 - decay) * weights of `module`.

        With an iteration t the decay is at most t / (t + 3): it grows so that early weights are
        forgotten.
        """
        decay = min(self.decay, 1.0 if iteration == inf else iteration / (iteration + 3))
        averages: list[torch.Tensor] = [*self.module.parameters()]
        torch._foreach_lerp_(averages, [*module.parameters()], 1 - decay)

    def state_dict(self) -> dict[str, Any]:
        """Return the averaged weights."""
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state)
