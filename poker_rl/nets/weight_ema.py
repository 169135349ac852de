"""Exponential moving average of the weights of a network during training."""

from __future__ import annotations

from copy import deepcopy
from math import inf
from typing import Any

import torch
from torch import Tensor, nn


class WeightEMA:
    """Exponential moving average (EMA) of a network's weights, held in its copy `module`.

    In self-play the current policy often circles around an equilibrium; the average is closer to
    it. `decay` is the weight of the old average at each update, in [0, 1].
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = deepcopy(module).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, module: nn.Module, iteration: float = inf) -> None:
        """Set the average to decay * average + (1 - decay) * weights of `module`.

        If `iteration` is given as t, the decay is at most t / (t + 3). This bound is small at
        first, so that early weights are soon forgotten.
        """
        decay = min(self.decay, 1.0 if iteration == inf else iteration / (iteration + 3))
        averages: list[Tensor] = [*self.module.parameters()]
        torch._foreach_lerp_(averages, [*module.parameters()], 1 - decay)

    def state_dict(self) -> dict[str, Any]:
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state)
