"""Deep CFR (Brown et al., arXiv:1811.00164) with external sampling and merged samples.

Deep CFR is counterfactual regret minimization (CFR) with networks in place of tables. It works for
any number of seats, but the average policy only converges with two. In iteration t each seat in
turn is the traverser of some hands; all of the traverser's actions are played:

    traverser's decisions    play every action a: its regret is r(a) = v(a) - sum_b policy(b) v(b)
    other seats' decisions   sample one action from their policy
    regret network           fitted to the mean of all r so far, with weight t
    policy                   in proportion to the positive outputs of the regret network, or the
                             action with the largest output if none is positive
    average network          fitted to the mean of the other seats' policies so far, with weight t

Here a buffer merges the samples of equal observations into their mean (`merging_buffer.py`), where
Deep CFR and Single Deep CFR (Steinberger, arXiv:1901.07621) keep a reservoir of single samples.
Networks are trained further in each iteration, where the papers train a new regret network, because
the means change little between iterations. Single Deep CFR has no average network; it keeps every
regret network and samples one for each hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import Schedule, ScheduleOverDecisions
from poker_rl.config.validation import (
    ConfigError,
    NonNegativeFloat,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.learning.buffers.merging_buffer import MergingBuffer, TargetBatch
from poker_rl.learning.external_sampling import traverse
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import LearnerContext, LearnerServices, NetworkAssignment
from poker_rl.learning.minibatches import DeduplicatedInputs
from poker_rl.nets.action_probs import masked_log_softmax, regret_matching
from poker_rl.nets.net_config import get_value_net_config
from poker_rl.players.network_player import RegretMatchingPlayer
from poker_rl.players.player import Player


@dataclass(frozen=True)
class NetworkFit:
    """One of the two networks, and how it is fitted to the targets in its buffer."""

    module: nn.Module
    optimizer: torch.optim.Optimizer
    buffer: MergingBuffer
    lr: Schedule
    gradient_steps: int
    compute_error: Callable[[Tensor, TargetBatch], Tensor]  # of each observation, [K, B]


@dataclass(kw_only=True)
class DeepCFR(NetworkLearner):
    """Deep CFR learner; its schedules depend on the decisions in all branches of the hands."""

    traversals: PositiveInt
    iteration_weight_power: NonNegativeFloat
    capacity: PositiveInt
    regret_gradient_steps: PassCount
    average_gradient_steps: PassCount
    batch_size: PositiveInt
    max_epochs: PositiveFloat
    regret_lr: ScheduleOverDecisions
    average_lr: ScheduleOverDecisions
    max_grad_norm: PositiveFloat
    reward_scale: PositiveFloat
    regret_normalization: Probability
    output_init_scale: NonNegativeFloat
    network_sharing: Literal["shared", "per_seat"]
    instances: PositiveInt

    min_gpu_work: ClassVar = 1e8  # most of its time is spent outside networks
    warm_start_parts: ClassVar = ("regrets", "average", "regret_buffer", "average_buffer")

    def __post_init__(self, context: LearnerContext) -> None:
        if context.opponents is not None:
            raise ConfigError("opponents: deep_cfr plays itself, and takes none")
        if get_value_net_config(context.net) is not context.net:
            raise ConfigError("net: has no values of actions, which regrets need; try mlp_relu")
        assignment = NetworkAssignment(
            network_sharing=self.network_sharing, instances=self.instances, seating="fixed"
        )
        self.services = services = LearnerServices(
            context, assignment, tables_per_instance=self.traversals
        )
        settings = self.capacity, self.iteration_weight_power
        self._fits: list[NetworkFit] = []
        for lr, gradient_steps, compute_error in (
            (self.regret_lr, self.regret_gradient_steps, self._compute_squared_error),
            (self.average_lr, self.average_gradient_steps, self._compute_cross_entropy),
        ):
            other_buffers = [fit.buffer for fit in self._fits]
            module = services.build_network(context.game.action_count, self.output_init_scale)
            optimizer = torch.optim.Adam(module.parameters(), fused=True)
            buffer = MergingBuffer(services, *settings, other_buffers=other_buffers)
            fit = NetworkFit(module, optimizer, buffer, lr, gradient_steps, compute_error)
            self._fits.append(fit)
        self._regrets, self._average = self._fits

    def run_iteration(self) -> dict[str, float]:
        """For each seat in turn, traverse hands and fit both networks."""
        decision_count, means = 0, []
        for fit in self._fits:
            set_learning_rates(fit.optimizer, fit.lr.value(self.progress.decisions))
            fit.buffer.start_iteration()
        for traverser in range(self.services.game.seats):
            decisions_of_seats = traverse(self.services, traverser, self._compute_policy)
            for fit, decisions in zip(self._fits, decisions_of_seats, strict=True):
                fit.buffer.add(decisions)
                decision_count += len(decisions.replica)
            self.progress.updates += self._count_steps(self._regrets)
            means.append([self._fit_network(fit) for fit in self._fits])
        self.count_progress(decision_count)
        regrets, average = np.mean(means, 0).tolist()
        return {
            "loss/regrets": regrets[0],
            "loss/average": average[0],
            "gradient/norm": regrets[1],
            "gradient/norm_average": average[1],
        }

    def players(self) -> dict[str, Player]:
        """Return the average policy and the current policy."""
        return {
            "average": self.services.build_player(self._average.module),
            "current": self.services.build_player(self._regrets.module, RegretMatchingPlayer),
        }

    def _compute_policy(
        self, observation: np.ndarray, mask: np.ndarray, replica: np.ndarray
    ) -> np.ndarray:
        services = self.services
        with services.timer.time_networks(), torch.no_grad():
            inputs = DeduplicatedInputs(observation, services.device)
            regrets = inputs.forward_all(self._regrets.module, services.to_tensor(replica))
            return regret_matching(regrets, services.to_tensor(mask)).cpu().numpy()

    def _compute_squared_error(self, out: Tensor, targets: TargetBatch) -> Tensor:
        regrets = targets.target / self.reward_scale
        # Regret matching ignores the scale of the regrets at an information set.
        scale = regrets.abs().amax(2, keepdim=True).clamp(min=1e-6) ** self.regret_normalization
        return ((out - regrets / scale).square() * targets.mask).sum(2)

    def _compute_cross_entropy(self, out: Tensor, targets: TargetBatch) -> Tensor:
        return -(targets.target * masked_log_softmax(out, targets.mask)).sum(2)

    def _count_steps(self, fit: NetworkFit) -> int:
        """Return the number of steps to fit a network: at most `max_epochs` passes."""
        batches_per_epoch = max(1.0, len(fit.buffer) / self.services.replicas / self.batch_size)
        return min(fit.gradient_steps, math.ceil(self.max_epochs * batches_per_epoch))

    def _fit_network(self, fit: NetworkFit) -> tuple[float, float]:
        """Take the gradient steps; return the means of the error per replica and gradient norm."""
        sums, steps = torch.zeros(2, device=self.services.device), self._count_steps(fit)
        for _ in range(steps):
            targets = fit.buffer.get_or_sample_targets(self.batch_size)
            with self.services.timer.time_networks():
                error = fit.compute_error(fit.module(targets.observation), targets)
                loss = (targets.weight * error).sum()
                norm = take_gradient_step(loss, fit.optimizer, fit.module, self.max_grad_norm)
                sums += torch.stack([loss.detach(), norm])
        error_sum, norm_sum = sums.tolist()
        return error_sum / (steps * self.services.replicas), norm_sum / steps

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "regrets": self._regrets.module,
            "average": self._average.module,
            "regret_optimizer": self._regrets.optimizer,
            "average_optimizer": self._average.optimizer,
            "regret_buffer": self._regrets.buffer,
            "average_buffer": self._average.buffer,
        }
