"""Neural fictitious self-play (NFSP): best responses by Q-learning, and their average policy.

Heinrich and Silver, arXiv:1603.01121, Algorithm 1: for each hand every agent samples whether it
plays its best response (probability eta, epsilon-greedy in Q) or its average policy. Actions of the
best response go into a reservoir for the average-policy network; all transitions go into the replay
buffer of Q. So the agents respond to average policies, which approach an equilibrium in two-player
zero-sum games. An iteration does the same as in `dqn`; for each gradient step of Q, the
average-policy network takes `average_policy.gradient_steps` steps to

    minimize  - log average(a | s)  on a batch of each agent's reservoir

If eta is 1, only best responses play; the average policy is still learned.

Differences: those that `dqn` lists; and the average policy starts to learn when each agent's
reservoir has `learning_starts` items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from poker_rl.algos.algorithm import Stateful
from poker_rl.algos.dqn import DQN, NetworkRouter
from poker_rl.config.input_checks import Probability
from poker_rl.learning.average_policy_network import AveragePolicyNetwork, AveragePolicySettings
from poker_rl.learning.gradient_steps import CapturedUpdates
from poker_rl.learning.learner_services import LearnerContext
from poker_rl.learning.rollout import DecisionsToMake, RolloutBatch
from poker_rl.nets.action_probs import masked_softmax
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class NFSP(DQN):
    """NFSP learner, whose best responses learn as in `DQN`."""

    eta: Probability
    average_policy: AveragePolicySettings

    def __post_init__(self, context: LearnerContext) -> None:
        super().__post_init__(context)
        buffers = [self._buffer]
        self._average_policy = AveragePolicyNetwork(
            self.average_policy, self.services, learn_from_actions=True, other_buffers=buffers
        )
        self._average_policy.buffer.check_min_capacity("learning_starts", self.learning_starts)
        self._joint_updates = CapturedUpdates(
            [self._replay_optimizer, self._average_policy.optimizer],
            context.device,
            self.services.timer,
        )
        self._acting_networks = NetworkRouter(
            [self._q_network, self._average_policy.module], self.services
        )
        self.services.set_learning_seat_prob(self.eta)  # best responses play in learning seats
        self._recorded_best_responses: list[np.ndarray] = []  # for each step, a mask [B]

    def players(self) -> dict[str, Player]:
        """Return "average", the average policy, and "greedy", the best response to it."""
        average = self._build_player(self._average_policy.module, NetworkPlayer)
        return {"average": average} | super().players()

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        is_best_response = self.services.rollout.is_learning_seat[rows.table, rows.seat]
        self._recorded_best_responses.append(is_best_response)
        is_average = ~is_best_response
        outputs = self._acting_networks.compute_outputs(rows, is_average.astype(np.int64))
        probs = np.empty(rows.mask.shape)
        probs[is_best_response] = self._compute_epsilon_greedy_probs(
            outputs[is_best_response], rows.mask[is_best_response]
        )
        logits, mask = outputs[is_average], rows.mask[is_average]
        probs[is_average] = masked_softmax(torch.from_numpy(logits), torch.from_numpy(mask)).numpy()
        return self.services.sample_from_probs(probs)

    def _store_transitions(self, batch: RolloutBatch) -> int:
        """Store transitions for DQN, and best-response actions for the average policy."""
        transition_count = super()._store_transitions(batch)
        is_best_response = np.concatenate([np.zeros(0, bool), *self._recorded_best_responses])
        self._recorded_best_responses.clear()
        # Skip the first rows of the batch: an earlier iteration has already added these decisions.
        rows = len(batch) - len(is_best_response) + np.flatnonzero(is_best_response)
        one_hot_actions = batch.action[rows, None] == np.arange(batch.mask.shape[1])
        decisions = batch.replica[rows], batch.observation[rows], batch.mask[rows]
        self._average_policy.add(*decisions, one_hot_actions, self.progress.iterations + 1)
        return transition_count

    def _take_gradient_steps(self, steps: int) -> None:
        if self._average_policy.buffer.min_items_per_replica < self.learning_starts:
            super()._take_gradient_steps(steps)
            return
        self._joint_updates.take_steps(steps)
        more_average_steps = steps * (self.average_policy.gradient_steps - 1)
        self._average_policy.captured_updates.take_steps(more_average_steps)

    def _compute_metrics(self) -> dict[str, float]:
        metrics = super()._compute_metrics() | self._average_policy.pop_metrics()
        return metrics | {"memory/average": self._average_policy.buffer.fill_fraction}

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return super().stateful_parts() | {"average": self._average_policy}
