"""Policy gradient over all hands and actions on sampled boards of heads-up poker.

The algorithm is our own combination of published parts: the policy gradient over all actions (mean
actor-critic, arXiv:1709.00503) with the counterfactual values of a pass over the public tree
(Johanson et al., "Accelerating best response calculation in large extensive games", 2011) in place
of a critic, and a decaying penalty on the KL divergence from uniform play (magnetic mirror descent,
arXiv:2206.05825). Each iteration:

    sample boards, and evaluate the current policy pi on the public tree over these boards
    advantage(a) = v(a) - sum_b pi(b) v(b), exact on these boards (see `sampled_board_values.py`)
    sample decisions in proportion to the probability that they have when both seats explore
    actor   : maximize  sum_a pi(a) advantage(a) - kl_uniform_coef KL(pi, uniform)
    average : a second network, fitted to the policies of all iterations
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.algos.sampled_board_values import (
    BoardDecisions,
    SampledBoardEvaluator,
    sample_systematically,
)
from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import ScheduleOverDecisions
from poker_rl.learning.average_policy_network import AveragePolicySettings, EMAAndAveragePolicy
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class PublicPolicyGradient(NetworkLearner):
    """Policy-gradient learner on the public tree; `progress` counts the decisions trained on."""

    boards: PositiveInt
    exploration: Probability
    minibatches: PositiveInt
    batch_size: PositiveInt
    kl_uniform_coef: ScheduleOverDecisions
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
        assignment = SharingAndSeatingSettings(
            network_sharing="shared", instances=1, seating="fixed"
        )
        self.services = LearnerServices(context, assignment, tables_per_instance=1)
        self._sampled_tree = SampledBoardEvaluator(
            context.game, self.services.encoder.is_suit_invariant, self.boards, self.exploration
        )
        self._actor = self.services.build_network(context.game.action_count, self.output_init_scale)
        self._optimizer = torch.optim.Adam(self._actor.parameters(), fused=True)
        self._averages = EMAAndAveragePolicy(
            self.services, self._actor, self.ema_decay, self.average_policy, self.output_init_scale
        )

    def run_iteration(self) -> dict[str, float]:
        """Evaluate the policy on sampled boards, and fit the networks to sampled decisions."""
        player = self.services.build_player(self._actor)
        boards = self._sampled_tree.sample_and_evaluate_boards(player, self.services.generator)
        count = self.minibatches * self.batch_size
        weights = [board.explored_weights for board in boards]
        metrics = self._fit_actor(*self._sample_and_encode_decisions(boards, weights, count)[:3])
        self._averages.weight_ema.update(self._actor)
        if (average_policy := self._averages.average_policy) is not None:
            weights = [board.played_weights for board in boards]
            observation, mask, _, probs = self._sample_and_encode_decisions(
                boards, weights, self.average_rows
            )
            replica = np.zeros(self.average_rows, np.int64)
            average_policy.add(replica, observation, mask, probs, self.progress.iterations + 1)
            metrics |= average_policy.learn()
        self.add_progress(count)
        return metrics

    def players(self) -> dict[str, Player]:
        """Return "average" (if any), "weight_average" (EMA of actor's weights) and "current"."""
        return self._averages.build_players(critic=None)

    def _sample_and_encode_decisions(
        self, boards: list[BoardDecisions], weights: list[np.ndarray], count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sample `count` decisions on all boards in proportion to `weights`.

        `weights` has an array for each board: [D lines, R hands], as in `BoardDecisions`. Return
        observations [count, W features], and action masks, advantages in units of `reward_scale`
        chips and policies, [count, A actions] each.
        """
        all_weights = np.concatenate([board_weights.ravel() for board_weights in weights])
        sampled = sample_systematically(all_weights, count, self.services.generator)
        parts, first = [], 0
        for board in boards:
            lines, hands = board.probs.shape[:2]
            start, stop = np.searchsorted(sampled, [first, first + lines * hands])
            line, hand = np.divmod(sampled[start:stop] - first, hands)
            street = self._sampled_tree.tree.streets[board.street_index]
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
        """Split N decisions into minibatches, take a gradient step on each, and return metrics."""
        services, step = self.services, self.progress.decisions
        kl_coef = self.kl_uniform_coef.value(step)
        kl_weight = kl_coef * services.game.unit_chips / self.reward_scale
        set_learning_rates(self._optimizer, self.lr.value(step))
        sums = torch.zeros(3, device=services.device)
        for rows in np.split(services.generator.permutation(len(mask)), self.minibatches):
            with services.timer.time_networks():
                inputs, legal, advantages = (
                    services.to_tensor(part[rows])[None] for part in (observation, mask, advantage)
                )  # [1, B, ...]
                log_pi = masked_log_softmax(self._actor(inputs), legal)
                pi = log_pi.exp()
                entropy = -masked_expectation(pi, log_pi, legal)
                divergence = legal.sum(2).log() - entropy  # KL(pi, uniform)
                loss = (kl_weight * divergence - (pi * advantages).sum(2)).mean()
                norm = take_gradient_step(loss, self._optimizer, self._actor, self.max_grad_norm)
                sums += torch.stack([loss.detach(), entropy.detach().mean(), norm])
        self.progress.updates += self.minibatches
        tags = "loss/actor", "policy/entropy", "gradient/norm"
        means = dict(zip(tags, (sums / self.minibatches).tolist(), strict=True))
        return means | {"schedule/kl_uniform_coef": kl_coef}

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "optimizer": self._optimizer,
            **self._averages.stateful_parts(),
        }
