"""A slow average of a network's weights, which plays better than the network that circles."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import nn


class WeightAverage:
    """Exponential average of a network's weights, which starts at the weights it is given.

    Args:
        module: the network to begin with, which is copied.
        decay: what the average keeps of itself at each update, in [0, 1].

    Attributes:
        module: the network with the averaged weights.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = deepcopy(module).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, module: nn.Module) -> None:
        """Let the average keep `decay` of itself and take the rest from `module`."""
        for average, weight in zip(self.module.parameters(), module.parameters(), strict=True):
            average.lerp_(weight, 1 - self.decay)

    def state_dict(self) -> dict[str, Any]:
        """The averaged weights."""
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from averaged weights."""
        self.module.load_state_dict(state)
