"""Off-policy actor-critic networks with target networks updated by Polyak averaging.

Without target networks, each step of the critic would also move the values that it is fitted to
(arXiv:1509.02971).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.learning.buffers.hand_replay_buffer import HandReplayBuffer
from poker_rl.learning.gradient_steps import (
    load_optimizer_moments,
    set_learning_rates,
    take_gradient_step,
)


class OffPolicyActorCritic:
    """Actor and critic of some replicas, which share a replay buffer and an optimizer.

    `networks` are the actor, critic, target actor and target critic of these replicas.
    """

    def __init__(
        self, replicas: slice, networks: list[nn.Module], buffer: HandReplayBuffer
    ) -> None:
        self.replicas, self.networks, self.buffer = replicas, networks, buffer
        self.updates = 0
        parameter_groups = [{"params": list(network.parameters())} for network in networks[:2]]
        self._weights: list[Tensor] = [w for group in parameter_groups for w in group["params"]]
        self._target_weights: list[Tensor] = [w for net in networks[2:] for w in net.parameters()]
        self._optimizer = torch.optim.Adam(parameter_groups, fused=True)

    def is_own_replica(self, replica: np.ndarray) -> np.ndarray:
        """Return whether each replica belongs to this learner, [N] -> [N] bool."""
        is_own: np.ndarray = (self.replicas.start <= replica) & (replica < self.replicas.stop)
        return is_own

    def step(self, loss: Tensor, actor_lr: float, critic_lr: float) -> Tensor:
        """Take a step on the sum of actor and critic losses; return the gradient norm, []."""
        set_learning_rates(self._optimizer, actor_lr, critic_lr)
        self.updates += 1
        return take_gradient_step(loss, self._optimizer)

    @torch.no_grad()
    def update_targets(self, tau: float) -> None:
        """Update the target networks: target <- (1 - tau) target + tau network."""
        torch._foreach_lerp_(self._target_weights, self._weights, tau)

    def state_dict(self) -> dict[str, Any]:
        """Return optimizer, buffer and number of steps; the algorithm saves the networks."""
        return {
            "updates": self.updates,
            "optimizer": self._optimizer.state_dict(),
            "buffer": self.buffer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        load_optimizer_moments(self._optimizer, state["optimizer"])
        self.buffer.load_state_dict(state["buffer"])
