"""Neural replicator dynamics on sampled boards of heads-up poker.

The algorithm is our own combination of published parts: the policy gradient of neural replicator
dynamics (NeuRD, arXiv:1906.00190) with the counterfactual values of a walk of the public tree
(Johanson et al., "Accelerating best response calculation in large extensive games", 2011) in place
of a critic, and penalties on the KL to uniform play and to the average policy (magnetic mirror
descent, arXiv:2206.05825, with a magnet that moves). Each iteration:

    sample boards, and walk the public tree over them with the current policy
    A(a)    = v(a) - sum_b pi(b) v(b), exact on these boards (see `sampled_boards.py`)
    sample decisions in proportion to their probability if both seats explore
    actor   : move the logit of each action by its A(a) minus the slope of the penalties
    average : a second network, fitted to the policies of all iterations

A plain policy gradient multiplies the movement by pi(a), so an action that it has given up returns
slowly when it has become the best one, and the policies circle around the equilibrium.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.algos.sampled_boards import BoardDecisions, SampledBoards, sample_in_proportion
from poker_rl.config.schedules import ScheduleOverDecisions
from poker_rl.config.validation import (
    ConfigError,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.learning.average_policy import AveragePolicySettings, PolicyAverages
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import LearnerContext, LearnerServices, NetworkAssignment
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class PublicPolicyGradient(NetworkLearner):
    """Policy-gradient learner on the public tree.

    Budget and schedules count the decisions in minibatches.
    """

    boards: PositiveInt
    exploration: Probability
    minibatches: PositiveInt
    batch_size: PositiveInt
    kl_uniform_coef: ScheduleOverDecisions
    kl_average_coef: NonNegativeFloat
    min_prob: Probability
    lr: ScheduleOverDecisions
    max_grad_norm: PositiveFloat
    reward_scale: PositiveFloat
    output_init_scale: NonNegativeFloat
    ema_decay: Probability
    average_rows: PositiveInt
    average_policy: AveragePolicySettings | None

    min_gpu_work: ClassVar = 1e8
    warm_start_parts: ClassVar = ("actor", "weight_average", "average")

    def __post_init__(self, context: LearnerContext) -> None:
        if context.opponents is not None:
            raise ConfigError("opponents: public_policy_gradient plays itself, and takes none")
        if self.kl_average_coef and self.average_policy is None:
            raise ConfigError("algo.kl_average_coef: needs algo.average_policy, or 0")
        assignment = NetworkAssignment(network_sharing="shared", instances=1, seating="fixed")
        self.services = LearnerServices(context, assignment, tables_per_instance=1)
        is_suit_invariant = self.services.encoder.is_suit_invariant
        self._sampled_boards = SampledBoards(
            context.game, is_suit_invariant, self.boards, self.exploration
        )
        self._reward_unit = context.game.unit_chips / self.reward_scale
        actions = context.game.action_count
        self._actor = self.services.build_network(actions, self.output_init_scale)
        self._optimizer = torch.optim.Adam(self._actor.parameters(), fused=True)
        settings = self.ema_decay, self.average_policy, self.output_init_scale
        self._averages = PolicyAverages(self.services, self._actor, *settings)

    def run_iteration(self) -> dict[str, float]:
        """Walk the tree once, and fit the networks to decisions sampled from the walk."""
        player = self.services.build_player(self._actor)
        walk = self._sampled_boards.walk(player, self.services.generator)
        count = self.minibatches * self.batch_size
        weights = [board.explored_weights for board in walk]
        metrics = self._fit_actor(*self._sample_decisions(walk, weights, count)[:3])
        self._averages.weight_ema.update(self._actor)
        if (average_policy := self._averages.average_policy) is not None:
            weights = [board.played_weights for board in walk]
            observation, mask, _, probs = self._sample_decisions(walk, weights, self.average_rows)
            replica = np.zeros(self.average_rows, np.int64)
            average_policy.add(replica, observation, mask, probs, self.progress.iterations + 1)
            metrics |= average_policy.learn()
        self.count_progress(count)
        return metrics

    def players(self) -> dict[str, Player]:
        """Return the average policy (if any), the EMA of the weights and the current policy."""
        return self._averages.build_players(critic=None)

    def _sample_decisions(
        self, walk: list[BoardDecisions], weights: list[np.ndarray], count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sample decisions on all boards in proportion to `weights`, [D, R] of each board.

        Return observations [count, W] and, [count, A] each, action masks, advantages in the unit of
        `reward_scale` chips and policies.
        """
        all_weights = np.concatenate([board_weights.ravel() for board_weights in weights])
        sampled = sample_in_proportion(all_weights, count, self.services.generator)
        parts, first = [], 0
        for board in walk:
            lines, hands = board.probs.shape[:2]
            start, stop = np.searchsorted(sampled, [first, first + lines * hands])
            line, hand = np.divmod(sampled[start:stop] - first, hands)
            street = self._sampled_boards.tree.streets[board.street_index]
            records = street.decision_records[line]
            records["deck"][:, : board.decks.shape[2]] = board.decks[records["to_act"], hand]
            values = board.advantages[line, hand], board.probs[line, hand]
            parts.append((records, street.legal_mask[line], *values))
            first += lines * hands
        records, mask, advantage, probs = map(np.concatenate, zip(*parts, strict=True))
        advantage = (advantage / self.reward_scale).astype(np.float32)
        return self.services.encoder(records), mask, advantage, probs.astype(np.float32)

    def _fit_actor(
        self, observation: np.ndarray, mask: np.ndarray, advantage: np.ndarray
    ) -> dict[str, float]:
        """Take a gradient step on each minibatch of the N decisions [N, ...]; return metrics."""
        services, step = self.services, self.progress.decisions
        kl_coef = self.kl_uniform_coef.value(step)
        set_learning_rates(self._optimizer, self.lr.value(step))
        sums = torch.zeros(3, device=services.device)
        for rows in np.split(services.generator.permutation(len(mask)), self.minibatches):
            with services.timer.time_networks():
                inputs, legal, advantages = (
                    services.to_tensor(part[rows])[None] for part in (observation, mask, advantage)
                )  # [1, B, ...]
                logits = torch.where(legal, self._actor(inputs), 0.0)
                log_pi = masked_log_softmax(logits.detach(), legal)
                values, weight = advantages, kl_coef * self._reward_unit
                if self.kl_average_coef:
                    average_weight = self.kl_average_coef * self._reward_unit
                    values = values + average_weight * self._compute_average_log_probs(
                        inputs, legal
                    )
                    weight += average_weight
                movements = compute_neurd_movements(log_pi, legal, values, weight, self.min_prob)
                centered_logits = logits - (logits.sum(2) / legal.sum(2))[..., None]
                loss = -(torch.where(legal, centered_logits, 0.0) * movements).sum(2).mean()
                norm = take_gradient_step(loss, self._optimizer, self._actor, self.max_grad_norm)
                entropy = -masked_expectation(log_pi.exp(), log_pi, legal).mean()
                sums += torch.stack([movements.abs().sum(2).mean(), entropy, norm])
        self.progress.updates += self.minibatches
        movement_mean, entropy_mean, norm_mean = (sums / self.minibatches).tolist()
        return {
            "policy/logit_movement": movement_mean,
            "policy/entropy": entropy_mean,
            "gradient/norm": norm_mean,
            "schedule/kl_uniform_coef": kl_coef,
        }

    @torch.no_grad()
    def _compute_average_log_probs(self, inputs: Tensor, legal: Tensor) -> Tensor:
        """Return log-probabilities of the average policy, [1, B, A], 0 for illegal actions."""
        average_policy = self._averages.average_policy
        assert average_policy is not None
        log_probs = masked_log_softmax(average_policy.module(inputs), legal)
        return torch.where(legal, log_probs.clamp(min=math.log(self.min_prob)), 0.0)

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "optimizer": self._optimizer,
            **self._averages.stateful_parts(),
        }


def compute_neurd_movements(
    log_pi: Tensor, legal: Tensor, values: Tensor, kl_weight: float, min_prob: float
) -> Tensor:
    """Return the directions of neural replicator dynamics for the logits, [..., A].

    These are the advantages of the actions if the player also pays `kl_weight` times the KL of its
    policy to uniform play. All are 0 at the best policy. An action with a smaller probability than
    `min_prob` has no negative one.

    Args:
        log_pi: log-probabilities of the policy, [..., A].
        legal: mask of legal actions, [..., A].
        values: values of the actions up to a constant for each decision, [..., A].
    """
    pi = log_pi.exp()
    advantages = values - (pi * values).sum(-1, keepdim=True)
    entropy = -masked_expectation(pi, log_pi, legal)
    movements = advantages - kl_weight * (log_pi + entropy[..., None])
    is_at_minimum = (log_pi < math.log(min_prob)) & (movements < 0)
    return torch.where(legal & ~is_at_minimum, movements, 0.0)
