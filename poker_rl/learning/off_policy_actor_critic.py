"""Off-policy actor-critic networks, with a replay buffer that stores poker decisions as hands.

An item is one decision, stored as the cards and actions of the hand, and the number of actions
before the decision. This takes far less memory than the inputs of a critic that sees all cards.

Target networks are updated by Polyak averaging. Without them, each step of the critic would also
move the values that it is fitted to (arXiv:1509.02971).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.hand_history import TablePacker
from poker_rl.learning.buffers.insertion_rules import CircularInsertion
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.gradient_steps import (
    build_adam,
    load_optimizer_moments,
    set_learning_rates,
    take_gradient_step,
)
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax, masked_softmax


class HandReplayBuffer(ReplayBuffer):
    """Replay buffer of the newest `capacity` decisions of each of K replicas, stored as hands."""

    def __init__(
        self, table_packer: TablePacker, services: LearnerServices, capacity: int, **settings: Any
    ) -> None:
        columns = {
            "hand": Column(torch.uint8, table_packer.row_bytes),
            "moves": Column(torch.uint8),  # number of actions before the decision
            # number of actions before the agent's next decision or, without one, in the whole hand
            "next": Column(torch.uint8),
            "reward": Column(torch.float32),
        }
        device = torch.device("cpu")  # hands are replayed on the CPU
        parts = CircularInsertion(), columns, device, services.sample_seed()
        super().__init__("replay_capacity", capacity, *parts, **settings)
        self._table_packer, self._services = table_packer, services

    def sample_transitions(self, batch_size: int) -> dict[str, Tensor]:
        """Sample B transitions of each of K replicas with replacement.

        A transition goes from a decision to the agent's next one, or to the end of the hand. Return
        `observation`, `critic_input` (with hidden cards) and `legal_mask`, [2, K, B, ...], with
        index 0 before and 1 after the transition; and `action`, `reward` and `not_done`, [K, B].
        `not_done` is False for a transition to the end of the hand.
        """
        items, to_tensor = self.sample(batch_size), self._services.to_tensor
        shape = items["reward"].shape  # K, B
        hand = items["hand"].flatten(0, 1).numpy()
        moves, next_moves = (items[name].flatten().numpy() for name in ("moves", "next"))
        # The tables before the transitions come first, then those after them: [2 K B].
        tables = self._table_packer.unpack_tables(
            np.concatenate([hand, hand]), np.concatenate([moves, next_moves])
        )
        observations, hidden_cards = self._services.encode_seen_and_hidden_cards(tables.records)
        per_decision = {
            "observation": observations,
            "critic_input": np.concatenate([observations, hidden_cards], 1),
            "legal_mask": tables.legal_mask(),
        }
        not_done = tables.records["over"][len(hand) :] == 0
        return {
            **{name: to_tensor(rows).view(2, *shape, -1) for name, rows in per_decision.items()},
            "action": to_tensor(self._table_packer.get_next_actions(hand, moves)).view(shape),
            "reward": items["reward"].to(self._services.device),
            "not_done": to_tensor(not_done).view(shape),
        }


class OffPolicyActorCritic:
    """Actor and critic with K replicas, their target networks, replay buffer and optimizer.

    `networks` are [actor, critic, target actor, target critic]. Replica k of each is the replica
    `first_replica` + k of the whole algorithm. In shapes, B counts the transitions sampled for each
    replica, and A the actions.
    """

    def __init__(
        self,
        services: LearnerServices,
        first_replica: int,
        networks: list[nn.Module],
        buffer: HandReplayBuffer,
    ) -> None:
        self.first_replica, self.networks, self.buffer = first_replica, networks, buffer
        self._services, self.updates = services, 0
        weights: list[list[Tensor]] = [list(network.parameters()) for network in networks]
        self._weights, self._target_weights = weights[0] + weights[1], weights[2] + weights[3]
        self._optimizer = build_adam(*networks[:2])

    def compute_losses_and_entropy(self, batch_size: int, gamma: float) -> Tensor:
        """Return critic loss, actor loss and entropy [3]: batch means, summed over replicas."""
        rows = self.buffer.sample_transitions(batch_size)
        actor, critic, target_actor, target_critic = self.networks
        (observation, next_observation), (mask, next_mask) = rows["observation"], rows["legal_mask"]
        critic_input, next_critic_input = rows["critic_input"]
        with self._services.timer.time_networks():
            with torch.no_grad():
                pi = masked_softmax(target_actor(next_observation), next_mask)
                next_value = (pi * target_critic(next_critic_input)).sum(2)
                td_target = rows["reward"] + gamma * rows["not_done"] * next_value
            q = critic(critic_input)  # [K, B, A]
            critic_loss = (q.gather(2, rows["action"][..., None])[..., 0] - td_target).square()
            log_pi = masked_log_softmax(actor(observation), mask)
            pi = log_pi.exp()
            entropy = -masked_expectation(pi, log_pi, mask)
            parts = torch.stack([critic_loss, -(pi * q.detach()).sum(2), entropy])
            return parts.mean(2).sum(1)

    def take_step_and_move_targets(
        self, loss: Tensor, actor_lr: float, critic_lr: float, tau: float
    ) -> Tensor:
        """Take an optimizer step on `loss`, then move the target networks; return gradient norm [].

        `loss` is the sum of actor and critic losses; target <- (1 - tau) target + tau network.
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
