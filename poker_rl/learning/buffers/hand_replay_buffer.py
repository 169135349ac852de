"""Replay buffer of poker decisions, each stored as its hand and replayed when sampled.

The cards and actions of a hand take far less memory than the inputs of a critic that sees all
cards. So an item holds the hand, and the number of its actions before the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from poker_rl.games.hand_history import TablePacker
from poker_rl.learning.buffers.item_layout import Column
from poker_rl.learning.buffers.replay_buffer import CircularInsertion, ReplayBuffer
from poker_rl.learning.learner_services import LearnerServices


@dataclass(frozen=True)
class TransitionBatch:
    """B transitions for each of K replicas, from a decision to the same agent's next decision.

    If the hand ended before a next decision, the next inputs encode the table at the end.
    """

    observation: Tensor  # [K, B, W]
    next_observation: Tensor  # [K, B, W]
    critic_input: Tensor  # observation and hidden cards [K, B, W + H]
    next_critic_input: Tensor  # [K, B, W + H]
    legal_mask: Tensor  # [K, B, A] bool
    next_legal_mask: Tensor  # [K, B, A] bool
    action: Tensor  # [K, B] int64
    reward: Tensor  # reward until the next decision [K, B]
    not_done: Tensor  # whether there was a next decision [K, B] bool


class HandReplayBuffer(ReplayBuffer):
    """Replay buffer of the newest `capacity` decisions of each of K replicas, stored as hands."""

    def __init__(
        self,
        table_packer: TablePacker,
        services: LearnerServices,
        capacity_key: str,
        capacity: int,
        *,
        replicas: int,
        other_buffers: Sequence[ReplayBuffer],
    ) -> None:
        columns = {
            "hand": Column(torch.uint8, table_packer.row_bytes),
            "moves": Column(torch.uint8),  # number of actions before the decision
            # number of actions before the agent's next decision, or in the hand if there is none
            "next": Column(torch.uint8),
            "reward": Column(torch.float32),
        }
        super().__init__(
            capacity_key,
            capacity,
            CircularInsertion(),
            columns,
            torch.device("cpu"),  # hands are replayed on the CPU
            services.sample_seed(),
            replicas=replicas,
            other_buffers=other_buffers,
        )
        self._table_packer, self._services = table_packer, services

    def sample_transitions(self, batch_size: int) -> TransitionBatch:
        """Sample `batch_size` decisions of each replica with replacement."""
        items = self.sample(batch_size)
        shape = items["reward"].shape  # K, B
        hand = items["hand"].flatten(0, 1).numpy()
        moves = items["moves"].flatten().numpy()
        move_counts = np.concatenate([moves, items["next"].flatten().numpy()])
        # The current decisions come first, then the next ones: [2 K B].
        tables = self._table_packer.unpack_tables(np.concatenate([hand, hand]), move_counts)
        observations, hidden_cards = self._services.encode_records(tables.records)
        not_done = self._services.to_tensor(tables.records["over"] == 0)[len(hand) :]
        action = self._table_packer.get_next_actions(hand, moves)

        def split(rows: np.ndarray) -> Tensor:
            return self._services.to_tensor(rows).view(2, *shape, -1)

        observation, next_observation = split(observations)
        critic_inputs = np.concatenate([observations, hidden_cards], 1)
        critic_input, next_critic_input = split(critic_inputs)
        legal_mask, next_legal_mask = split(tables.legal_mask())
        return TransitionBatch(
            observation=observation,
            next_observation=next_observation,
            critic_input=critic_input,
            next_critic_input=next_critic_input,
            legal_mask=legal_mask,
            next_legal_mask=next_legal_mask,
            action=self._services.to_tensor(action).view(shape),
            reward=items["reward"].to(self._services.device),
            not_done=not_done.view(shape),
        )
