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
from poker_rl.config.schedules import ScheduleOverDecisions
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
        outputs = context.game.action_count, self.output_init_scale
        self._regret_network = services.build_network(*outputs)
        self._average_network = services.build_network(*outputs)
        self._regret_optimizer, self._average_optimizer = (
            torch.optim.Adam(module.parameters(), fused=True)
            for module in (self._regret_network, self._average_network)
        )
        settings = self.capacity, self.iteration_weight_power
        self._regret_buffer = MergingBuffer(services, *settings)
        self._average_buffer = MergingBuffer(
            services, *settings, other_buffers=[self._regret_buffer]
        )

    def run_iteration(self) -> dict[str, float]:
        """For each seat in turn, traverse hands and fit both networks."""
        step, decisions, losses = self.progress.decisions, 0, []
        set_learning_rates(self._regret_optimizer, self.regret_lr.value(step))
        set_learning_rates(self._average_optimizer, self.average_lr.value(step))
        self._regret_buffer.start_iteration()
        self._average_buffer.start_iteration()
        for traverser in range(self.services.game.seats):
            traverser_decisions, other_decisions = traverse(
                self.services, traverser, self._compute_policy
            )
            self._regret_buffer.add(traverser_decisions)
            self._average_buffer.add(other_decisions)
            decisions += len(traverser_decisions) + len(other_decisions)
            regret_steps = self._count_steps(self._regret_buffer, self.regret_gradient_steps)
            average_steps = self._count_steps(self._average_buffer, self.average_gradient_steps)
            regrets = self._regret_network, self._regret_optimizer, self._regret_buffer
            regret_loss = self._fit_network(*regrets, regret_steps, self._compute_squared_error)
            average = self._average_network, self._average_optimizer, self._average_buffer
            average_loss = self._fit_network(*average, average_steps, self._compute_cross_entropy)
            self.progress.updates += regret_steps
            losses.append([*regret_loss, *average_loss])
        self.count_progress(decisions)
        regret_loss, regret_norm, average_loss, average_norm = np.mean(losses, 0).tolist()
        return {
            "loss/regrets": regret_loss,
            "loss/average": average_loss,
            "gradient/norm": regret_norm,
            "gradient/norm_average": average_norm,
        }

    def players(self) -> dict[str, Player]:
        """Return the average policy and the current policy."""
        return {
            "average": self.services.build_player(self._average_network),
            "current": self.services.build_player(self._regret_network, RegretMatchingPlayer),
        }

    def _compute_policy(
        self, observation: np.ndarray, mask: np.ndarray, replica: np.ndarray
    ) -> np.ndarray:
        services = self.services
        with services.timer.time_networks(), torch.no_grad():
            inputs = DeduplicatedInputs(observation, services.device)
            regrets = inputs.forward_all(self._regret_network, services.to_tensor(replica))
            return regret_matching(regrets, services.to_tensor(mask)).cpu().numpy()

    def _compute_squared_error(self, out: Tensor, targets: TargetBatch) -> Tensor:
        regrets = targets.target / self.reward_scale
        # Regret matching ignores the scale of the regrets at an information set.
        scale = regrets.abs().amax(2, keepdim=True).clamp(min=1e-6) ** self.regret_normalization
        return ((out - regrets / scale).square() * targets.mask).sum(2)

    def _compute_cross_entropy(self, out: Tensor, targets: TargetBatch) -> Tensor:
        return -(targets.target * masked_log_softmax(out, targets.mask)).sum(2)

    def _count_steps(self, buffer: MergingBuffer, gradient_steps: int) -> int:
        """Return the number of steps to fit a network: at most `max_epochs` passes."""
        batches_per_epoch = max(1.0, len(buffer) / self.services.replicas / self.batch_size)
        return min(gradient_steps, math.ceil(self.max_epochs * batches_per_epoch))

    def _fit_network(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        buffer: MergingBuffer,
        gradient_steps: int,
        compute_error: Callable[[Tensor, TargetBatch], Tensor],
    ) -> tuple[float, float]:
        """Return the mean error per replica and the mean gradient norm of `gradient_steps`."""
        sums = torch.zeros(2, device=self.services.device)
        for _ in range(gradient_steps):
            targets = buffer.get_or_sample_targets(self.batch_size)
            with self.services.timer.time_networks():
                loss = (targets.weight * compute_error(module(targets.observation), targets)).sum()
                norm = take_gradient_step(loss, optimizer, module, self.max_grad_norm)
                sums += torch.stack([loss.detach(), norm])
        error_sum, norm_sum = sums.tolist()
        error = error_sum / (gradient_steps * self.services.replicas)
        return error, norm_sum / gradient_steps

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "regrets": self._regret_network,
            "average": self._average_network,
            "regret_optimizer": self._regret_optimizer,
            "average_optimizer": self._average_optimizer,
            "regret_buffer": self._regret_buffer,
            "average_buffer": self._average_buffer,
        }
