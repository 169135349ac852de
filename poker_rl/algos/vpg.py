"""Vanilla policy gradient (VPG): a critic as baseline, and a choice of three objectives.

Sutton et al., "Policy gradient methods for reinforcement learning with function approximation"
(1999), with generalized advantage estimation (arXiv:1506.02438) over whole hands. Each iteration:

    play hands;  d = generalized advantages (r - V(s) if gae_lambda is 1),  target = d + V(s)
    `gradient_steps` times, one step of each network:
        critic : minimize  (V(s) - target)^2
        actor  : maximize  mean objective(d, pi(a|s)) + entropy_coef H(pi(.|s))

    objective  log_probability  d log pi, whose gradient is that of the expected reward
               probability      d pi, as in Vegapit, "Kuhn poker with Torch" (2019)
               clipped_ratio    min(d w, d clip(w, 1 - clip_coef, 1 + clip_coef)), w = pi / old pi
                                (arXiv:1707.06347, equation 7)

The gradient of d pi is pi times the gradient of d log pi, so unlikely actions recover more slowly.
If `gradient_steps` is 1, w is 1: clipping has no effect, and `clipped_ratio` has the gradient of
`log_probability`.

Differences: if `min_network_decisions` is set, hands are added to a batch, as in Vegapit's work,
until every network has made at least this many decisions. Shapes have N decisions and A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import (
    ConfigError,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import ScheduleOverInstanceDecisions
from poker_rl.learning.advantages import compute_gae
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.rollout import DecisionsToMake, RolloutBatch, concatenate_batches
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax
from poker_rl.nets.weight_ema import WeightEMA
from poker_rl.players.player import Player

MAX_ROUNDS = 1000  # limit on the rounds of a batch, each of `hands_per_iteration` hands


@dataclass(kw_only=True)
class VPG(NetworkLearner, SharingAndSeatingSettings):
    """VPG learner; its schedules count the decisions of one of its instances, not of all."""

    hands_per_iteration: PositiveInt
    min_network_decisions: PositiveInt | None
    gradient_steps: PassCount
    objective: Literal["log_probability", "probability", "clipped_ratio"]
    clip_coef: PositiveFloat
    gae_lambda: Probability
    entropy_coef: ScheduleOverInstanceDecisions
    actor_lr: ScheduleOverInstanceDecisions
    critic_lr: ScheduleOverInstanceDecisions
    max_grad_norm: PositiveFloat | None
    reward_scale: PositiveFloat
    ema_decay: Probability

    warm_start_parts: ClassVar = ("actor", "critic", "weight_average")

    def __post_init__(self, context: LearnerContext) -> None:
        self.services = LearnerServices(context, self, tables_per_instance=self.hands_per_iteration)
        self._actor = self.services.build_network(context.game.action_count)
        self._critic = self.services.build_critic(1)
        self._actor_optimizer = torch.optim.Adam(self._actor.parameters())
        self._critic_optimizer = torch.optim.Adam(self._critic.parameters())
        self._weight_ema = WeightEMA(self._actor, self.ema_decay)

    def run_iteration(self) -> dict[str, float]:
        """Play one batch and take `gradient_steps` steps of each network on it."""
        step = self.progress.decisions // self.instances
        entropy_coef = self.entropy_coef.value(step)
        set_learning_rates(self._actor_optimizer, self.actor_lr.value(step))
        set_learning_rates(self._critic_optimizer, self.critic_lr.value(step))
        batch, hands = self._play_batch()
        if not len(batch):  # opponents ended all hands before the learner decided
            self.progress.hands += hands
            return {}
        inputs = DeduplicatedInputs(batch.observation, self.services.device)
        replica = self.services.to_tensor(batch.replica)
        with self.services.timer.time_networks(), torch.no_grad():
            value = inputs.forward_all(self._critic, replica)[:, 0]  # [N]
        reward = batch.reward / np.float32(self.reward_scale)
        advantage = self.services.to_tensor(
            compute_gae(reward, value.cpu().numpy(), batch.next_row, 1, self.gae_lambda)
        )
        target = advantage + value
        # The weights of each network's decisions sum to 1.
        weight = (1 / np.bincount(batch.replica)[batch.replica]).astype(np.float32)
        columns = batch.action, batch.mask, batch.log_prob, weight
        action, mask, old_log_prob, row_weight = map(self.services.to_tensor, columns)
        losses, norm = np.zeros(3), 0.0
        for _ in range(self.gradient_steps):
            with self.services.timer.time_networks():
                logits = inputs.forward_all(self._actor, replica)  # [N, A]
                log_policy = masked_log_softmax(logits, mask)
                log_prob = log_policy.gather(1, action[:, None])[:, 0]
                entropy = -masked_expectation(log_policy.exp(), log_policy, mask)
                objective = self._compute_objective(advantage, log_prob, old_log_prob)
                loss = -(row_weight * (objective + entropy_coef * entropy)).sum()
                actor = self._actor_optimizer, self._actor, self.max_grad_norm
                norm += take_gradient_step(loss, *actor).item()
                value_error = inputs.forward_all(self._critic, replica)[:, 0] - target
                critic_loss = (row_weight * value_error.square()).sum()
                critic = self._critic_optimizer, self._critic, self.max_grad_norm
                take_gradient_step(critic_loss, *critic)
                means = (row_weight * objective).sum(), critic_loss, (row_weight * entropy).sum()
                losses += [mean.item() for mean in means]
        self._weight_ema.update(self._actor)

        self.progress.hands += hands
        self.progress.decisions += len(batch)
        self.progress.updates += self.gradient_steps
        # The sums become means over steps and over the networks that decided in this batch.
        losses /= self.gradient_steps * len(np.unique(batch.replica))
        return {
            "loss/actor": -losses[0],
            "loss/critic": losses[1],
            "policy/entropy": losses[2],
            "gradient/norm": norm / self.gradient_steps,
            "schedule/entropy_coef": entropy_coef,
        }

    def players(self) -> dict[str, Player]:
        """Return "weight_average" (EMA of the actor's weights) and "current" (the actor)."""
        services, scale = self.services, self.reward_scale
        critic = services.build_critic_for_player(self._critic, scale, per_action=False)
        average = self._weight_ema.module
        return services.build_players(critic, weight_average=average, current=self._actor)

    def _compute_objective(
        self, advantage: Tensor, log_prob: Tensor, old_log_prob: Tensor
    ) -> Tensor:
        if self.objective == "log_probability":
            return advantage * log_prob
        if self.objective == "probability":
            return advantage * log_prob.exp()
        ratio = (log_prob - old_log_prob).exp()
        clipped = ratio.clamp(1 - self.clip_coef, 1 + self.clip_coef)
        return torch.min(advantage * ratio, advantage * clipped)

    def _play_batch(self) -> tuple[RolloutBatch, int]:
        """Play one batch; return its decisions and its number of hands."""
        play = self.services.rollout.play_full_hands
        if self.min_network_decisions is None:
            return play(self._choose_actions), self.instances * self.hands_per_iteration
        rounds: list[RolloutBatch] = []
        decisions = np.zeros(self.services.replicas, np.int64)
        while decisions.min() < self.min_network_decisions:
            if len(rounds) == MAX_ROUNDS:
                raise ConfigError(
                    f"algo.min_network_decisions: a network decided {decisions.min()} times in"
                    f" {MAX_ROUNDS * self.hands_per_iteration:,} hands, not"
                    f" {self.min_network_decisions}"
                )
            rounds.append(play(self._choose_actions))
            decisions += np.bincount(rounds[-1].replica, minlength=self.services.replicas)
        hands, n = self.hands_per_iteration, self.min_network_decisions
        hand = np.concatenate([i * hands + part.table % hands for i, part in enumerate(rounds)])
        batch = concatenate_batches(rounds)
        # Keep an instance's hands until all of its networks have n decisions; drop the later ones.
        order = np.lexsort((hand, batch.replica))
        nth_hand = hand[order][np.cumsum(decisions) - decisions + n - 1]
        last_hand = nth_hand.reshape(self.instances, -1).max(1)
        kept_rows = np.flatnonzero(hand <= last_hand[batch.table // self.hands_per_iteration])
        return batch.select_rows_and_renumber(kept_rows), int((last_hand + 1).sum())

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        return self.services.sample_actions(self._actor, rows)

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "critic": self._critic,
            "actor_optimizer": self._actor_optimizer,
            "critic_optimizer": self._critic_optimizer,
            "weight_average": self._weight_ema,
        }
