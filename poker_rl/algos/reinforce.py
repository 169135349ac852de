"""REINFORCE with a moving average of the reward as baseline.

The algorithm is that of Williams, "Simple statistical gradient-following algorithms for
connectionist reinforcement learning" (1992), with reinforcement comparison (section 3): an
exponential moving average of past rewards is subtracted from the reward. With one weight per
information set (`net=k2`) this is the learner of "Kuhn poker via reinforcement learning" (BSM
2025). Each iteration:

    play `hands_per_iteration` hands
    loss = 1/hands  sum over decisions  -log pi(a) (r - baseline[seat]),  r: chips won in the hand
    take one optimizer step
    baseline[seat] = decay baseline[seat] + (1 - decay) mean r[seat]

Differences: the baselines are updated once per iteration, by the mean reward of its hands; each of
the `instances` (copies of the learner) has its own baselines. Shapes have N decisions, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import PositiveFloat, PositiveInt, Probability
from poker_rl.learning.advantages import compute_gae
from poker_rl.learning.gradient_steps import OptimizerName, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.rollout import HAND_ENDED, DecisionsToMake
from poker_rl.nets.action_probs import masked_log_softmax
from poker_rl.players.player import Player, sample_actions_and_log_probs

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


@dataclass(kw_only=True, frozen=True)
class MovingAverageBaselineSettings:
    """Settings of the baseline: its `decay` per iteration, and its `initial_value` in chips."""

    decay: Probability
    initial_value: float


@dataclass(kw_only=True)
class Reinforce(NetworkLearner, SharingAndSeatingSettings):
    """REINFORCE learner; `baseline: null` means no baseline."""

    hands_per_iteration: PositiveInt
    baseline: MovingAverageBaselineSettings | None
    optimizer: OptimizerName
    lr: PositiveFloat

    warm_start_parts: ClassVar = ("policy",)

    def __post_init__(self, context: LearnerContext) -> None:
        self.services = LearnerServices(context, self, tables_per_instance=self.hands_per_iteration)
        self._policy_network = self.services.build_network(context.game.action_count)
        self._optimizer = OPTIMIZERS[self.optimizer](self._policy_network.parameters(), lr=self.lr)
        initial_value = 0.0 if self.baseline is None else self.baseline.initial_value
        self._baselines = np.full((self.instances, context.game.seats), initial_value, np.float32)
        self._recorded_logits: list[Tensor] = []  # of this iteration's decisions, with gradients

    def run_iteration(self) -> dict[str, float]:
        """Play hands and take one gradient step."""
        self._recorded_logits.clear()
        batch = self.services.rollout.play_full_hands(self._choose_actions)
        if not len(batch):  # opponents ended all hands before the learner decided
            self.add_progress(0)
            return {}
        returns = compute_gae(batch.reward, np.zeros_like(batch.reward), batch.next_row, 1, 1)
        instance = self.services.get_instance_of_table(batch.table)
        advantage = returns - self._baselines[instance, batch.seat]
        with self.services.timer.time_networks():
            logits = torch.cat(self._recorded_logits)  # [N, A]
            log_policy = masked_log_softmax(logits, self.services.to_tensor(batch.mask))
            log_prob = log_policy.gather(1, self.services.to_tensor(batch.action)[:, None])[:, 0]
            loss = -(log_prob * self.services.to_tensor(advantage)).sum() / self.hands_per_iteration
            norm = take_gradient_step(loss, self._optimizer)
            entropy = -(log_policy.exp() * log_policy).sum(1).mean()
        if self.baseline is not None:
            last = batch.next_row == HAND_ENDED  # the last decision of each seat in each hand
            baseline_index = instance[last], batch.seat[last]
            self._update_baselines(self.baseline.decay, baseline_index, returns[last])
        self.add_progress(len(batch))
        self.progress.updates += 1
        averages = self._baselines.mean(0) if self.baseline else []
        return {
            "loss/policy": loss.item() / self.instances,
            "policy/entropy": entropy.item(),
            "gradient/norm": norm.item(),
            **{f"value/baseline/seat_{seat}": float(chips) for seat, chips in enumerate(averages)},
        }

    def players(self) -> dict[str, Player]:
        """Return "current", the current policy."""
        return self.services.build_players(current=self._policy_network)

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        logits = self.services.compute_logits(self._policy_network, rows)
        self._recorded_logits.append(logits)
        uniform = self.services.generator.random(len(rows.mask), np.float32)
        return sample_actions_and_log_probs(logits, rows.mask, uniform)

    def _update_baselines(
        self, decay: float, baseline_index: tuple[np.ndarray, np.ndarray], returns: np.ndarray
    ) -> None:
        """Move baselines towards the mean of N returns.

        `baseline_index` has the instance [N] and the seat [N] of each return.
        """
        hand_counts, return_sums = np.zeros((2, *self._baselines.shape))
        np.add.at(hand_counts, baseline_index, 1)
        np.add.at(return_sums, baseline_index, returns)
        decays = np.where(hand_counts > 0, decay, 1.0)  # 1: no change, for seats without a hand
        mean = return_sums / np.maximum(hand_counts, 1)
        self._baselines[:] = decays * self._baselines + (1 - decays) * mean

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"baseline": torch.from_numpy(self._baselines.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._baselines[:] = state["baseline"].numpy()

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {"policy": self._policy_network, "optimizer": self._optimizer}
