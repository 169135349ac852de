"""An actor and a critic that learn off-policy, with targets that follow them softly.

Target networks keep the goal of a critic from moving with it (arXiv:1509.02971): after each step
they go a small share of the way to the networks that learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.hand_memory import HandMemory
from poker_rl.learning.state_checks import load_optimiser


class Learner:
    """Copies of the networks that learn at the same time, with their memory and optimiser.

    Args:
        copies: which they are.
        networks: actor, critic and their targets, these copies alone.
        memory: of as many copies.

    Attributes:
        updates: gradient steps taken.
    """

    def __init__(self, copies: slice, networks: list[nn.Module], memory: HandMemory) -> None:
        self.copies, self.networks, self.memory = copies, networks, memory
        self.updates = 0
        groups = [{"params": list(network.parameters())} for network in networks[:2]]
        self._weights: list[Tensor] = [w for group in groups for w in group["params"]]
        self._targets: list[Tensor] = [w for net in networks[2:] for w in net.parameters()]
        self._optimiser = torch.optim.Adam(groups, fused=True)

    def owns(self, copy: np.ndarray) -> np.ndarray:
        """Which decisions were made by these copies, [N] bool."""
        owns: np.ndarray = (self.copies.start <= copy) & (copy < self.copies.stop)
        return owns

    def step(self, loss: Tensor, actor_lr: float, critic_lr: float) -> None:
        """Take one with step sizes of their own for actor and critic."""
        set_rates(self._optimiser, actor_lr, critic_lr)
        descend(loss, self._optimiser)
        self.updates += 1

    @torch.no_grad()
    def follow(self, share: float) -> None:
        """Move the target networks by a share of the way to the others."""
        torch._foreach_lerp_(self._targets, self._weights, share)

    def state_dict(self) -> dict[str, Any]:
        """Optimiser, memory and the number of steps; the networks are part of larger ones."""
        return {
            "updates": self.updates,
            "optimiser": self._optimiser.state_dict(),
            "memory": self.memory.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.updates = state["updates"]
        load_optimiser(self._optimiser, state["optimiser"])
        self.memory.load_state_dict(state["memory"])
