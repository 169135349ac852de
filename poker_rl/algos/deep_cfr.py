"""Deep CFR (Brown et al., arXiv:1811.00164) with external sampling and merged samples.

Deep CFR is counterfactual regret minimization (CFR) with networks in place of tables. It works for
any number of seats, but in theory the average policy approaches an equilibrium only with two. In
iteration t each seat in turn is the traverser of some hands; all of its actions are played:

    traverser's decisions    play every action a: its regret is r(a) = v(a) - sum_b policy(b) v(b)
    other seats' decisions   sample one action from their policy
    regret network           fitted to the weighted mean of all r so far; those of iteration t have
                             weight t^iteration_weight_power
    policy                   in proportion to the positive outputs of the regret network, or the
                             action with the largest output if none is positive
    average network          fitted to the mean of the other seats' policies, with the same weights

Here a buffer merges the samples of equal observations into their mean (`merging_buffer.py`),
whereas Deep CFR and Single Deep CFR (Steinberger, arXiv:1901.07621) keep a reservoir of single
samples. In each iteration the papers train a new regret network; here both networks are trained
further, which suffices because the means change little between iterations. In shapes, K counts
network replicas, B rows (in [K, B] those of each replica), A actions, W the features of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import (
    AveragingExponent,
    ConfigError,
    NonNegativeFloat,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import Schedule, ScheduleOverDecisions
from poker_rl.games.tables import copy_records, tables_from_records
from poker_rl.learning.buffers.merging_buffer import MergingBuffer, TargetBatch, TraversalDecisions
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.memory_checks import check_memory
from poker_rl.learning.rollout import Seating
from poker_rl.nets.action_probs import masked_log_softmax, regret_matching
from poker_rl.nets.net_interfaces import get_value_net_config
from poker_rl.players.network_player import RegretMatchingPlayer
from poker_rl.players.player import Player, sample_from_probs


@dataclass(frozen=True)
class NetworkFit:
    """The regret or average network, and how it is fitted to the targets in its buffer."""

    module: nn.Module
    optimizer: torch.optim.Optimizer
    buffer: MergingBuffer
    lr: Schedule
    gradient_steps: int
    compute_error: Callable[[Tensor, TargetBatch], Tensor]  # error of each row, [K, B]


@dataclass(kw_only=True)
class DeepCFR(NetworkLearner, SharingAndSeatingSettings):
    """Deep CFR learner; its schedules advance with the decisions in all branches of the hands."""

    traversals: PositiveInt
    iteration_weight_power: AveragingExponent
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
    seating: Seating = field(init=False, default="fixed")

    min_gpu_work: ClassVar = 1e8  # most of the time is spent outside networks
    warm_start_parts: ClassVar = ("regrets", "average", "regret_buffer", "average_buffer")

    def __post_init__(self, context: LearnerContext) -> None:
        if context.opponents is not None:
            raise ConfigError("opponents: deep_cfr plays itself, and takes none")
        if get_value_net_config(context.net) is not context.net:
            raise ConfigError("net: has no values of actions, which regrets need; try mlp_relu")
        services = LearnerServices(context, self, tables_per_instance=self.traversals)
        self.services = services
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
        """Traverse hands and fit both networks, for each seat in turn."""
        decision_count, means = 0, []
        for fit in self._fits:
            set_learning_rates(fit.optimizer, fit.lr.value(self.progress.decisions))
            fit.buffer.iteration += 1
        for traverser in range(self.services.game.seats):
            decisions_of_seats = traverse_hands(self.services, traverser, self._compute_policy)
            for fit, decisions in zip(self._fits, decisions_of_seats, strict=True):
                fit.buffer.add(decisions)
                decision_count += len(decisions.replica)
            self.progress.updates += self._count_gradient_steps(self._regrets)
            means.append([self._fit_network(fit) for fit in self._fits])
        self.add_progress(decision_count)
        tags = "loss/regrets", "loss/average", "gradient/norm", "gradient/norm_average"
        return dict(zip(tags, np.mean(means, 0).T.ravel().tolist(), strict=True))

    def players(self) -> dict[str, Player]:
        """Return "average", by the average network, and "current", by the regret network."""
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
        # Regret matching ignores the scale of regrets, so each information set may have its own.
        scale = regrets.abs().amax(2, keepdim=True).clamp(min=1e-6) ** self.regret_normalization
        return ((out - regrets / scale).square() * targets.mask).sum(2)

    def _compute_cross_entropy(self, out: Tensor, targets: TargetBatch) -> Tensor:
        return -(targets.target * masked_log_softmax(out, targets.mask)).sum(2)

    def _count_gradient_steps(self, fit: NetworkFit) -> int:
        """Return how many gradient steps to take, at most `max_epochs` passes over the buffer."""
        batches_per_epoch = max(1.0, len(fit.buffer) / self.services.replicas / self.batch_size)
        return min(fit.gradient_steps, math.ceil(self.max_epochs * batches_per_epoch))

    def _fit_network(self, fit: NetworkFit) -> tuple[float, float]:
        """Train a network further on its buffer; return mean loss and gradient norm per replica."""
        sums, steps = torch.zeros(2, device=self.services.device), self._count_gradient_steps(fit)
        for _ in range(steps):
            targets = fit.buffer.get_or_sample_batch(self.batch_size)
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


def traverse_hands(
    services: LearnerServices,
    traverser: int,
    compute_policy: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> tuple[TraversalDecisions, TraversalDecisions]:
    """Deal a hand at every table and traverse its tree by external sampling (Lanctot et al. 2009).

    All hands advance together, one action at a time: a table at which the traverser decides is
    copied for each legal action. Return the traverser's decisions, whose targets are sampled
    regrets in chips (value of the action minus value of the policy), and those of the other seats,
    whose targets are policies. `compute_policy` maps observations [B, W], masks [B, A] and replicas
    [B] to probabilities [B, A].
    """
    game, rollout = services.game, services.rollout
    rollout.tables.deal()
    hand_count = len(rollout.tables.records)
    rollout.hands_played += hand_count
    tables = tables_from_records(game, copy_records(rollout.tables.records))
    # The decisions of each level of the trees, and a mask of those that the traverser makes.
    levels: list[tuple[TraversalDecisions, np.ndarray]] = []

    def play_and_compute_values(table_index: np.ndarray) -> np.ndarray:
        """Play the n hands in `tables` to their ends; return the traverser's values, [n] chips.

        `table_index` [n] has the index in `rollout.tables` of the table where each hand was dealt.
        """
        is_over = tables.records["over"] != 0
        ended, nonterminal = np.flatnonzero(is_over), np.flatnonzero(~is_over)
        values = np.zeros(len(is_over))
        values[ended] = tables.payoffs(ended)[:, traverser]
        if not len(nonterminal):
            return values
        records, table_index = tables.records.take(nonterminal), table_index[nonterminal]
        mask = tables.legal_mask(nonterminal)
        replica = services.assign_replicas(records, table_index)
        observation = services.encoder(records)
        probs = compute_policy(observation, mask, replica).astype(np.float64)
        is_traverser = records["to_act"] == traverser
        levels.append((TraversalDecisions(observation, mask, replica, probs), is_traverser))

        is_played = mask & is_traverser[:, None]
        other_rows = np.flatnonzero(~is_traverser)
        uniform = services.generator.random(len(other_rows))
        is_played[other_rows, sample_from_probs(probs[other_rows], uniform)] = True
        parent, action = np.nonzero(is_played)
        setting = f"algo.traversals: {hand_count:,} hands lead to {len(parent):,} positions and"
        level_bytes = [sum(column.nbytes for column in decisions) for decisions, _ in levels]
        decision_bytes = sum(level_bytes) + len(parent) * level_bytes[-1] // len(nonterminal)
        table_bytes = 2 * game.table_dtype.itemsize  # tables of this level and of the next one
        # Decisions are in memory twice while the levels are concatenated.
        check_memory(setting, 2 * decision_bytes + len(parent) * table_bytes, torch.device("cpu"))
        tables.load_records(records.take(parent))
        tables.step(action)
        del records  # otherwise every level of the recursion would keep them in memory
        action_values = np.zeros(probs.shape)
        action_values[parent, action] = play_and_compute_values(table_index[parent])
        # The action of another seat was sampled, so its value counts with weight 1.
        weights = np.where(is_traverser[:, None], probs, 1.0)
        state_values = (weights * action_values).sum(1, keepdims=True)
        values[nonterminal] = state_values[:, 0]
        regrets = (action_values - state_values) * mask
        # `probs` is the target array in `levels`, where the traverser's targets are regrets.
        probs[is_traverser] = regrets[is_traverser]
        return values

    def select_decisions(of_traverser: bool) -> TraversalDecisions:
        parts = [[column[rows == of_traverser] for column in level] for level, rows in levels]
        return TraversalDecisions(*map(np.concatenate, zip(*parts, strict=True)))

    play_and_compute_values(np.arange(hand_count))
    return select_decisions(True), select_decisions(False)
