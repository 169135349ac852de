"""All-action actor-critic with a perfect-information action-value critic.

The algorithm is our own combination of published parts: the policy gradient over all actions of
mean actor-critic (arXiv:1709.00503); a critic trained by expected SARSA with Retrace
(arXiv:1606.02647) that by default sees the hidden cards (unbiased asymmetric critic,
arXiv:2105.11674); doubly robust advantages (a control variate, as in arXiv:2008.12234 and
arXiv:1809.03057); a decaying penalty on the KL divergence from uniform play (magnetic mirror
descent, arXiv:2206.05825). Each iteration:

    deal hands; in each hand one seat, the traverser, explores: it plays a policy b that mixes
        uniform play into the current policy pi; the other seats play pi
    for each decision of the traverser, where it took the action x:
        target = r + E_pi Q(next) + retrace_lambda w (target(next) - Q(next, next action)),
                 where w is min(1, pi / b) of the next action;  r alone if the hand ended
        d      = (target - Q(x)) / max(b(x), min_behavior_prob)
        advantage(a) = Q(a) - E_pi Q - pi(x) d,  plus d if a = x
        critic : minimize  (Q(x) - target)^2
        actor  : maximize  sum_a pi(a) advantage(a) - kl_uniform_coef KL(pi, uniform)

In the actor's gradient, the step of a logit is proportional to the probability of its action, so a
rare action hardly ever becomes frequent again. `actor_gradient: neurd` (neural replicator dynamics,
arXiv:1906.00190) leaves this factor out and keeps logits within a limit, as in arXiv:2206.15378.

Both networks learn only from the traverser's decisions, since the results of the other seats are
distorted by the traverser's exploration. In shapes, K counts network replicas, B the rows of each,
N decisions and A actions.
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
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import ScheduleOverDecisions
from poker_rl.learning import collectives
from poker_rl.learning.advantages import compute_retrace_targets_and_advantages
from poker_rl.learning.average_policy_network import AveragePolicySettings, EMAAndAveragePolicy
from poker_rl.learning.gradient_steps import build_adam, set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    CriticView,
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.minibatches import iterate_minibatch_indices, sample_uniform_numbers
from poker_rl.learning.rollout import DecisionsToMake, RolloutBatch
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax
from poker_rl.players.player import Player, mix_with_uniform


def compute_neurd_loss(
    log_pi: Tensor, advantage: Tensor, mask: Tensor, kl_weight: float, logit_limit: float
) -> Tensor:
    """Return the loss [K, B] of neural replicator dynamics, from tensors [K, B, A].

    The gradient with respect to the logit of a legal action a is mean(w) - w(a), where the mean is
    over legal actions and w(a) = advantage(a) - kl_weight log pi(a). The gradient is 0 where pi is
    the softmax of advantage / kl_weight, which also maximizes
    sum_a pi(a) advantage(a) - kl_weight KL(pi, uniform). If a logit is further than `logit_limit`
    from the mean logit, steps away from the mean are left out. Otherwise logits could grow without
    bounds, and the policy would adapt too slowly to new advantages.
    """
    action_count = mask.sum(2, keepdim=True)
    log_pi = torch.where(mask, log_pi, 0.0)
    logit = torch.where(mask, log_pi - log_pi.sum(2, keepdim=True) / action_count, 0.0)
    weight = torch.where(mask, advantage - kl_weight * log_pi.detach(), 0.0)
    step = torch.where(mask, weight - weight.sum(2, keepdim=True) / action_count, 0.0)
    is_beyond = (logit.abs() > logit_limit) & (logit * step > 0)
    return -(logit * torch.where(is_beyond, 0.0, step)).sum(2)


@dataclass(kw_only=True)
class AllActionActorCritic(NetworkLearner, SharingAndSeatingSettings):
    """All-action actor-critic; its schedules count the decisions of all instances together."""

    hands_per_iteration: PositiveInt
    enumerate_deals: bool
    exploration: Probability
    critic_view: CriticView
    min_behavior_prob: Probability
    retrace_lambda: Probability
    actor_gradient: Literal["policy", "neurd"]
    logit_limit: PositiveFloat
    kl_uniform_coef: ScheduleOverDecisions
    actor_lr: ScheduleOverDecisions
    critic_lr: ScheduleOverDecisions
    minibatches: PositiveInt
    max_grad_norm: PositiveFloat
    reward_scale: PositiveFloat
    output_init_scale: NonNegativeFloat
    ema_decay: Probability
    average_policy: AveragePolicySettings | None

    min_gpu_work: ClassVar = 1e8
    warm_start_parts: ClassVar = ("actor", "critic", "weight_average", "average")
    per_process_parts: ClassVar = ("services", "buffer")

    def __post_init__(self, context: LearnerContext) -> None:
        self.services = LearnerServices(
            context,
            self,
            tables_per_instance=self.hands_per_iteration,
            critic_view=self.critic_view,
        )
        game = context.game
        self._actor = self.services.build_network(game.action_count, self.output_init_scale)
        self._critic = self.services.build_critic(game.action_count)
        self._optimizer = build_adam(self._actor, self._critic)
        self._averages = EMAAndAveragePolicy(
            self.services, self._actor, self.ema_decay, self.average_policy, self.output_init_scale
        )
        traverser_count = game.seats if context.opponents is None else 1
        tables = np.arange(self.instances * self.hands_per_iteration)
        deal_number, self._traverser_of_table = np.divmod(tables, traverser_count)
        self._decks = None  # decks to deal [tables, cards]; None: random ones
        if self.enumerate_deals:
            traversals = game.count_deals() * traverser_count
            if self.hands_per_iteration % traversals:
                allowed = f"a multiple of {traversals:,}, for every deal of {game.name}"
                problem = f"{self.hands_per_iteration:,}, but each traverser needs {allowed}"
                raise ConfigError(f"hands_per_iteration: {problem}")
            deals = game.list_deals()
            self._decks = deals[deal_number % len(deals)]
        self._recorded_policies: list[np.ndarray] = []  # pi at this iteration's decisions

    def run_iteration(self) -> dict[str, float]:
        """Play the hands of one iteration and train both networks on them for one epoch."""
        self._recorded_policies.clear()
        batch = self.services.rollout.play_full_hands(self._choose_actions, self._decks)
        empty_policy = np.zeros((0, self.services.game.action_count), np.float32)
        policy = np.concatenate([empty_policy, *self._recorded_policies])  # [N, A]
        is_traverser = batch.agent == self._traverser_of_table[batch.table]
        metrics = self._fit_networks(
            batch.select_rows_and_renumber(np.flatnonzero(is_traverser)), policy[is_traverser]
        )
        self._averages.weight_ema.update(self._actor)
        if (average_policy := self._averages.average_policy) is not None:
            # Average the policy at decisions without exploration, which are those of the other
            # seats. Against opponents only the traverser's decisions are recorded, so use these.
            rows = is_traverser if is_traverser.all() else ~is_traverser
            decisions = batch.replica[rows], batch.observation[rows], batch.mask[rows], policy[rows]
            average_policy.add(*decisions, self.progress.iterations + 1)
            metrics |= average_policy.learn()
        self.add_progress(len(batch))
        return metrics

    def players(self) -> dict[str, Player]:
        """Return "average" (if any), "weight_average" (EMA of actor's weights) and "current"."""
        critic = self.services.build_critic_for_player(
            self._critic, self.reward_scale, per_action=True
        )
        return self._averages.build_players(critic)

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        policy = self.services.compute_probs(self._actor, rows)
        self._recorded_policies.append(policy)
        is_traverser = rows.agent == self._traverser_of_table[rows.table]
        probs = mix_with_uniform(policy, rows.mask, self.exploration * is_traverser[:, None])
        return self.services.sample_from_probs(probs)

    def _fit_networks(self, batch: RolloutBatch, policy: np.ndarray) -> dict[str, float]:
        """Train both networks on N decisions of traversers for an epoch; return metrics.

        `policy` [N, A] is the current policy pi at these decisions, without exploration.
        """
        inputs = self.services.build_actor_and_critic_inputs(batch.observation, batch.hidden_cards)
        actor_inputs, critic_inputs = inputs
        replica = self.services.to_tensor(batch.replica)
        with self.services.timer.time_networks(), torch.no_grad():
            action_values = critic_inputs.forward_all(self._critic, replica).cpu().numpy()
        target, advantage = compute_retrace_targets_and_advantages(
            batch,
            policy,
            action_values,
            self.retrace_lambda,
            self.min_behavior_prob,
            self.reward_scale,
        )
        columns = target, advantage, batch.action, batch.mask
        targets, advantages, actions, mask = map(self.services.to_tensor, columns)
        max_entropy = mask.sum(1).log()  # entropy of uniform play [N]

        step = self.progress.decisions
        kl_coef = self.kl_uniform_coef.value(step)
        set_learning_rates(self._optimizer, self.actor_lr.value(step), self.critic_lr.value(step))
        kl_weight = kl_coef * self.services.game.unit_chips / self.reward_scale
        metric_sums, updates = torch.zeros(4, device=self.services.device), 0
        replicas = self.services.replicas
        size = int(np.bincount(batch.replica, minlength=replicas).max())
        size = collectives.max_over_processes(size)
        uniform = sample_uniform_numbers(torch.tensor(self.services.sample_seed()), len(batch))
        is_used = torch.ones_like(replica, dtype=torch.bool)
        for rows, row_weight in iterate_minibatch_indices(
            replica, is_used, uniform.to(replica.device), replicas, self.minibatches, size
        ):
            with self.services.timer.time_networks():
                values = critic_inputs.forward_rows(self._critic, rows)  # [K, B, A]
                q = values.gather(2, actions[rows][..., None])[..., 0]
                critic_loss = (q - targets[rows]).square()  # [K, B]
                logits = actor_inputs.forward_rows(self._actor, rows)
                log_pi = masked_log_softmax(logits, mask[rows])  # [K, B, A]
                pi = log_pi.exp()
                entropy = -masked_expectation(pi, log_pi, mask[rows])
                divergence = max_entropy[rows] - entropy  # KL(pi, uniform) of each row, [K, B]
                if self.actor_gradient == "neurd":
                    actor_loss = compute_neurd_loss(
                        log_pi, advantages[rows], mask[rows], kl_weight, self.logit_limit
                    )
                else:
                    actor_loss = kl_weight * divergence - (pi * advantages[rows]).sum(2)
                parts = torch.stack([critic_loss, actor_loss, entropy])
                metrics = (row_weight * parts).sum((1, 2))  # replica means, summed over replicas
                loss = metrics[0] + metrics[1]
                norm = take_gradient_step(loss, self._optimizer, self._actor, self.max_grad_norm)
                metric_sums += torch.cat([metrics.detach(), norm[None]])
            updates += 1
        self.progress.updates += updates
        means = (metric_sums[:3] / (updates * replicas)).tolist()
        return {
            **dict(zip(("loss/critic", "loss/actor", "policy/entropy"), means, strict=True)),
            "gradient/norm": metric_sums[3].item() / updates,
            "schedule/kl_uniform_coef": kl_coef,
        }

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "critic": self._critic,
            "optimizer": self._optimizer,
            **self._averages.stateful_parts(),
        }
