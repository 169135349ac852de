"""Off-policy actor-critic networks, with a replay buffer that stores poker decisions as hands.

An item holds the cards and actions of a hand, which take far less memory than the inputs of a
critic that sees all cards, and the number of actions before the decision.

Target networks are updated by Polyak averaging. Without them, each step of the critic would also
move the values that it is fitted to (arXiv:1509.02971).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.hand_history import TablePacker
from poker_rl.learning.buffers.replay_buffer import CircularInsertion, Column, ReplayBuffer
from poker_rl.learning.gradient_steps import (
    load_optimizer_moments,
    set_learning_rates,
    take_gradient_step,
)
from poker_rl.learning.learner_services import LearnerServices


@dataclass(frozen=True)
class TransitionBatch:
    """B transitions for each of K replicas, from a decision to the same agent's next decision.

    The first axis is this decision and the next one, or the end of the hand if there is none.
    """

    observation: Tensor  # [2, K, B, W]
    critic_input: Tensor  # observation and hidden cards [2, K, B, W + H]
    legal_mask: Tensor  # [2, K, B, A] bool
    action: Tensor  # [K, B] int64
    reward: Tensor  # reward until the next decision [K, B]
    not_done: Tensor  # whether there was a next decision [K, B] bool


class HandReplayBuffer(ReplayBuffer):
    """Replay buffer of the newest `capacity` decisions of each of K replicas, stored as hands."""

    def __init__(
        self, table_packer: TablePacker, services: LearnerServices, capacity: int, **settings: Any
    ) -> None:
        columns = {
            "hand": Column(torch.uint8, table_packer.row_bytes),
            "moves": Column(torch.uint8),  # number of actions before the decision
            # number of actions before the agent's next decision, or in the hand if there is none
            "next": Column(torch.uint8),
            "reward": Column(torch.float32),
        }
        device = torch.device("cpu")  # where hands are replayed
        parts = CircularInsertion(), columns, device, services.sample_seed()
        super().__init__("replay_capacity", capacity, *parts, **settings)
        self._table_packer, self._services = table_packer, services

    def sample_transitions(self, batch_size: int) -> TransitionBatch:
        """Sample `batch_size` decisions of each replica with replacement."""
        items, to_tensor = self.sample(batch_size), self._services.to_tensor
        shape = items["reward"].shape  # K, B
        hand = items["hand"].flatten(0, 1).numpy()
        moves = items["moves"].flatten().numpy()
        # The current decisions come first, then the next ones: [2 K B].
        tables = self._table_packer.unpack_tables(
            np.concatenate([hand, hand]), np.concatenate([moves, items["next"].flatten().numpy()])
        )
        observations, hidden_cards = self._services.encode_records(tables.records)

        def split(rows: np.ndarray) -> Tensor:
            return to_tensor(rows).view(2, *shape, -1)

        return TransitionBatch(
            observation=split(observations),
            critic_input=split(np.concatenate([observations, hidden_cards], 1)),
            legal_mask=split(tables.legal_mask()),
            action=to_tensor(self._table_packer.get_next_actions(hand, moves)).view(shape),
            reward=items["reward"].to(self._services.device),
            not_done=split(tables.records["over"] == 0)[1, ..., 0],
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

    def step(self, loss: Tensor, actor_lr: float, critic_lr: float, tau: float) -> Tensor:
        """Take a step on the sum of actor and critic losses; return the gradient norm, [].

        Then update the target networks: target <- (1 - tau) target + tau network.
        """
        set_learning_rates(self._optimizer, actor_lr, critic_lr)
        self.updates += 1
        norm = take_gradient_step(loss, self._optimizer)
        with torch.no_grad():
            torch._foreach_lerp_(self._target_weights, self._weights, tau)
        return norm

    def state_dict(self) -> dict[str, Any]:
        return {
            "updates": self.updates,
            "optimizer": self._optimizer.state_dict(),
            "buffer": self.buffer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        load_optimizer_moments(self._optimizer, state["optimizer"])
        self.buffer.load_state_dict(state["buffer"])
