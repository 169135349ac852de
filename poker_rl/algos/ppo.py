"""Proximal policy optimization (PPO) in self-play, and deep magnetic mirror descent (MMD).

PPO (Schulman et al., arXiv:1707.06347, Algorithm 1 with the clipped objective of equation 7) with
generalized advantage estimation along the decisions of each agent. Deep MMD (Sokota et al.,
arXiv:2206.05825, section 5) is PPO with a KL penalty towards the policy before the iteration;
MMD's KL term to the uniform policy is the entropy bonus up to a constant. In games of imperfect
information the entropy bonus has to start high and decay (Rudolph et al., "Reevaluating policy
gradient methods for imperfect-information games"). Each iteration:

    play `rollout_steps` actions at every table
    d = r + gamma V(next) - V,  A = d + gamma gae_lambda A(next),  target = A + V
    for each minibatch of each epoch:
        minimize  - min(ratio A, clip(ratio, 1 - clip_coef, 1 + clip_coef) A)
                  + value_coef (V - target)^2 / 2
                  - entropy_coef H(pi) + kl_old_coef KL(pi, pi before the iteration)

With `entropy_over: action_types`, the bonus is minus the KL divergence of pi from a policy that is
uniform over types of actions (fold, call, raise); it suits games with many sizes of raises.

Differences from the papers: actor and critic are separate networks with one optimizer, or share
their first layers; values are computed once per batch, not during play; if an agent's next decision
is not yet played at the end of a batch, its last decision serves only for bootstrapping there, and
is learned from in the next batch; the critic may see the hidden cards (arXiv:2105.11674); an EMA of
the weights, an average-policy network and an opponent pool are options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import ScheduleOverInstanceDecisions
from poker_rl.config.validation import (
    ConfigError,
    NonNegativeFloat,
    NonNegativeInt,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.learning.advantages import estimate_advantages, normalize_advantages
from poker_rl.learning.agents import Agents, LearnerContext, NetworkAssignment
from poker_rl.learning.averaging.average_policy import AveragePolicySettings
from poker_rl.learning.averaging.policy_averages import PolicyAverages
from poker_rl.learning.best_response_seats import BestResponseSeats
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.minibatches import NetworkInputs
from poker_rl.learning.opponent_pool import OpponentPool, OpponentPoolSettings
from poker_rl.learning.rollout import NEXT_PENDING, PendingDecisions, RolloutBatch
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax, masked_softmax
from poker_rl.nets.dense import NetworkPair
from poker_rl.nets.legal_logits import LegalActions, list_legal_actions_if_few
from poker_rl.players.player import Player

ADAM_EPSILON = 1e-5  # as in common implementations of PPO
METRIC_TAGS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


@dataclass(kw_only=True)
class PPO(NetworkLearner, NetworkAssignment):
    """PPO learner; its schedules count the decisions of one instance."""

    tables: PositiveInt
    rollout_steps: PositiveInt
    epochs: PassCount
    minibatches: PositiveInt
    gamma: Probability
    gae_lambda: Probability
    clip_coef: ScheduleOverInstanceDecisions
    lr: ScheduleOverInstanceDecisions
    max_grad_norm: PositiveFloat
    entropy_coef: ScheduleOverInstanceDecisions
    entropy_over: Literal["actions", "action_types"]
    kl_old_coef: ScheduleOverInstanceDecisions | None
    value_coef: NonNegativeFloat
    clip_value_loss: bool
    normalize_advantages: bool
    reward_scale: PositiveFloat
    critic_view: Literal["own", "perfect_information"]
    shared_layers: NonNegativeInt
    output_init_scale: NonNegativeFloat
    ema_decay: Probability
    average_policy: AveragePolicySettings | None
    opponent_pool: OpponentPoolSettings
    include_forced_moves: bool

    warm_start_parts: ClassVar = ("networks", "weight_average", "average")
    per_process_parts: ClassVar = ("agents", "buffer", "best_response_seats", "opponent_pool")
    average_learns_actions: ClassVar[bool] = False  # the average policy learns probabilities

    def __post_init__(self, context: LearnerContext) -> None:
        sees_hidden_cards = self.critic_view == "perfect_information"
        if sees_hidden_cards and self.shared_layers:
            raise ConfigError(
                "shared_layers: a critic that sees more than the actor shares no layer: 0"
            )
        decisions = self.tables * self.rollout_steps
        if self.minibatches > decisions:
            problem = f"{self.minibatches:,} parts of the {decisions:,} decisions of an iteration"
            raise ConfigError(f"minibatches: {problem}, tables times rollout_steps")
        self.set_agents(
            Agents(
                context,
                self,
                tables_per_instance=self.tables,
                show_hidden_cards=sees_hidden_cards,
                include_forced_moves=self.include_forced_moves,
                rollout_steps=self.rollout_steps,
            )
        )
        self._actor = self.agents.build_network(context.game.action_count, self.output_init_scale)
        self._critic = self.agents.build_critic(1)
        self._actor_critic = NetworkPair(self._actor, self._critic, self.shared_layers)
        self._optimizer = torch.optim.Adam(
            self._actor_critic.parameters(), eps=ADAM_EPSILON, fused=True
        )
        self._same_type = None
        if self.entropy_over == "action_types":
            self._same_type = build_same_type_matrix(context.game.action_types)
        self._averages = PolicyAverages(
            self.agents,
            self._actor,
            self.ema_decay,
            self.average_policy,
            output_init_scale=self.output_init_scale,
            learn_from_actions=self.average_learns_actions,
        )
        self._best_response_seats: BestResponseSeats | None = None  # None: every seat learns
        self._other_network: nn.Module = self._actor  # plays the seats that do not learn
        self._opponent_pool: OpponentPool | None = None
        if self.opponent_pool.play_prob:
            if context.opponent is not None:
                raise ConfigError("opponent_pool.play_prob: needs self-play; with an opponent: 0")
            self._opponent_pool = OpponentPool(self.opponent_pool, self.agents, self._actor)
            self._best_response_seats = BestResponseSeats(
                self.agents, self._opponent_pool.sample_learning_seats
            )
            self._other_network = self._opponent_pool.opponent_network
        self._warm_start_iterations = 0  # iterations of the runs that a warm start continues

    def run_iteration(self) -> dict[str, float]:
        """Play `rollout_steps` actions at every table and learn from them for `epochs` epochs."""
        step = self.progress.decisions // self.instances
        schedule_values = {
            name: schedule.value(step)
            for name in ("lr", "clip_coef", "entropy_coef", "kl_old_coef")
            if (schedule := getattr(self, name)) is not None
        }
        if self._opponent_pool is not None:
            self._opponent_pool.update(self.progress.iterations)
        batch = self.agents.rollout.play_steps(self._choose_actions, self.rollout_steps)
        actor_inputs, critic_inputs = self.agents.build_actor_critic_inputs(batch)
        data = self._build_loss_data(batch, actor_inputs, critic_inputs)
        complete_rows = np.flatnonzero(batch.next_row != NEXT_PENDING)
        rows = complete_rows[self._select_learning_rows(batch)[complete_rows]]
        set_learning_rates(self._optimizer, schedule_values["lr"])
        metric_sums, updates = torch.zeros(len(METRIC_TAGS), device=self.agents.device), 0
        for _ in range(self.epochs):
            for index, row_weight in self.agents.iterate_minibatches(
                rows, batch.replica[rows], self.minibatches
            ):
                minibatch = {name: values[index] for name, values in data.items()}
                legal = _get_legal_actions(minibatch)
                with self.agents.timer.time_networks():
                    if critic_inputs is actor_inputs:  # outputs [K, B, A + 1]
                        outputs = actor_inputs.forward_rows(self._actor_critic, index, legal)
                        logits, value = outputs[..., :-1], outputs[..., -1]
                    else:
                        logits = actor_inputs.forward_rows(self._actor, index, legal)
                        value = critic_inputs.forward_rows(self._critic, index)[..., 0]
                    metric_sums += self._update_networks(
                        logits, value, minibatch, row_weight, schedule_values
                    )
                updates += 1
        # EMA warm-up: the decay grows with iteration t so that early weights are forgotten.
        t = self._warm_start_iterations + self.progress.iterations
        self._averages.weight_ema.decay = min(self.ema_decay, t / (t + 3))
        self._averages.weight_ema.update(self._actor)
        metrics: dict[str, float] = {}
        if (average_policy := self._averages.average_policy) is not None:
            policy = self._average_policy_targets(batch, data)[rows]
            metrics = average_policy.add_and_learn(
                batch, rows, policy, self.progress.iterations + 1
            )

        self.progress.updates += updates
        self.count_progress(len(complete_rows))
        target, error = data["target"][rows], (data["target"] - data["value"])[rows]
        return metrics | {
            **dict(zip(METRIC_TAGS, (metric_sums / updates).tolist(), strict=True)),
            "value/explained_variance": _compute_explained_variance(error, target),
            **{f"schedule/{name}": value for name, value in schedule_values.items()},
        }

    def players(self) -> dict[str, Player]:
        """Return the average policy if any, the EMA of the weights and the current policy."""
        critic = self.agents.build_player_critic(
            self._critic, self.reward_scale, self.gamma, per_action=False
        )
        return self._averages.build_players(critic)

    def _choose_actions(self, rows: PendingDecisions) -> tuple[np.ndarray, np.ndarray]:
        if self._best_response_seats is None:
            return self.agents.sample_actions(self._actor, rows)
        is_learner = self._best_response_seats.record_rows(rows)
        action = np.empty(len(is_learner), np.int64)
        log_prob = np.empty(len(is_learner), np.float32)
        for module, part in ((self._actor, is_learner), (self._other_network, ~is_learner)):
            if part.any():
                sample = self.agents.sample_actions(module, rows.select_rows(part))
                action[part], log_prob[part] = sample
        return action, log_prob

    def _select_learning_rows(self, batch: RolloutBatch) -> np.ndarray:
        """Return which decisions actor and critic learn from, [N] bool."""
        if self._best_response_seats is None:
            return np.full(len(batch), True)
        is_learner = self._best_response_seats.pop_recorded()
        self._best_response_seats.restore_recorded(is_learner[batch.next_row == NEXT_PENDING])
        return is_learner

    def _average_policy_targets(self, batch: RolloutBatch, data: dict[str, Tensor]) -> np.ndarray:
        """Return the target of the average-policy network for each row, [N, A]."""
        policy = data["old"].exp()
        if (legal := _get_legal_actions(data)) is not None:
            policy = legal.scatter(policy, batch.mask.shape[1])
        return policy.cpu().numpy()

    @torch.no_grad()
    def _build_loss_data(
        self, batch: RolloutBatch, actor_inputs: NetworkInputs, critic_inputs: NetworkInputs
    ) -> dict[str, Tensor]:
        """Return the tensors by name that the loss needs of N decisions, [N] or [N, A] each.

        If few of the A actions are legal, [N, A] becomes [N, L] with a column per legal action, and
        `action` holds the column of the action taken.
        """
        replica, mask = self.agents.to_tensor(batch.replica), self.agents.to_tensor(batch.mask)
        log_policies = {}
        if self._same_type is not None:  # uniform over types; without its normalizing constant
            actions_of_same_type = mask.float() @ self._same_type.to(mask.device)
            log_policies["same_type"] = -actions_of_same_type.clamp(min=1).log()
        average_needs_policy = self.average_policy is not None and not self.average_learns_actions
        with self.agents.timer.time_networks():
            if self.kl_old_coef is not None or average_needs_policy:
                logits = actor_inputs.forward_all(self._actor, replica)
                log_policies["old"] = masked_log_softmax(logits, mask)
            value = critic_inputs.forward_all(self._critic, replica)[:, 0]
        advantage = estimate_advantages(
            batch, value, self.gamma, self.gae_lambda, self.reward_scale
        )
        action = self.agents.to_tensor(batch.action)
        legal = list_legal_actions_if_few(batch.mask, self.agents.device)
        columns = {"mask": mask, "action": action}
        if legal is not None:
            log_policies = {name: legal.gather(values) for name, values in log_policies.items()}
            columns = {"mask": legal.mask, "action": legal.to_column(action)}
            columns |= {"legal": legal.actions, "count": legal.counts}
        return {
            **log_policies,
            **columns,
            "log_prob": self.agents.to_tensor(batch.log_prob),
            "value": value,
            "advantage": advantage,
            "target": advantage + value,
        }

    def _update_networks(
        self,
        logits: Tensor,
        value: Tensor,
        minibatch: dict[str, Tensor],
        row_weight: Tensor,
        schedule_values: dict[str, float],
    ) -> Tensor:
        """Take one gradient step; return the metrics of METRIC_TAGS, [5].

        Args:
            logits: outputs of the actor, [K, B, A], or [K, B, L] for legal actions only.
            value: output of the critic, [K, B].
            minibatch: rows of the tensors of `_build_loss_data`, [K, B, ...] each.
            row_weight: weight of each row in its replica's mean, [K, B].
            schedule_values: current values of the schedules.
        """
        clip_coef = schedule_values["clip_coef"]
        log_policy = masked_log_softmax(logits, minibatch["mask"])  # [K, B, A]
        policy = masked_softmax(logits, minibatch["mask"])  # exp is slow where it underflows
        log_prob = log_policy.gather(2, minibatch["action"][..., None])[..., 0]  # [K, B]
        log_ratio = log_prob - minibatch["log_prob"]
        ratio = log_ratio.exp()
        advantage = minibatch["advantage"]
        if self.normalize_advantages:
            advantage = normalize_advantages(advantage, row_weight)
        clipped_ratio = ratio.clamp(1 - clip_coef, 1 + clip_coef)
        surrogate = torch.min(ratio * advantage, clipped_ratio * advantage)
        entropy = -masked_expectation(policy, log_policy, minibatch["mask"])
        entropy_bonus = entropy
        if "same_type" in minibatch:
            entropy_bonus = entropy + (policy * minibatch["same_type"]).sum(2)
        actor_loss = -surrogate - schedule_values["entropy_coef"] * entropy_bonus
        if "kl_old_coef" in schedule_values:
            log_difference = log_policy - minibatch["old"]
            kl_old = masked_expectation(policy, log_difference, minibatch["mask"])
            actor_loss = actor_loss + schedule_values["kl_old_coef"] * kl_old

        value_loss = (value - minibatch["target"]).square()
        if self.clip_value_loss:
            change = (value - minibatch["value"]).clamp(-clip_coef, clip_coef)
            clipped_value = minibatch["value"] + change
            value_loss = torch.max(value_loss, (clipped_value - minibatch["target"]).square())

        loss = (row_weight * (actor_loss + self.value_coef / 2 * value_loss)).sum()
        take_gradient_step(loss, self._optimizer, self._actor_critic, self.max_grad_norm)
        with torch.no_grad():
            kl = ratio - 1 - log_ratio  # estimate of KL(behavior policy, pi) from the action taken
            is_clipped = ((ratio - 1).abs() > clip_coef).float()
            metrics = torch.stack([-surrogate, value_loss / 2, entropy, kl, is_clipped])
            return (metrics * row_weight).sum((1, 2)) / len(row_weight)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parts, and the iterations of runs that a warm start continues."""
        return super().state_dict() | {"warm_start_iterations": self._warm_start_iterations}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        super().load_state_dict(state)
        self._warm_start_iterations = state["warm_start_iterations"]

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy `warm_start_parts`; the EMA warm-up continues from the other run's iterations."""
        super().warm_start(state)
        iterations = state["warm_start_iterations"] + state["progress"]["iterations"]
        self._warm_start_iterations = iterations

    def stateful_parts(self) -> dict[str, Stateful | None]:
        """Return the parts to save, by name; a part that the settings turn off is None."""
        return {
            "networks": self._actor_critic,
            "optimizer": self._optimizer,
            "best_response_seats": self._best_response_seats,
            "opponent_pool": self._opponent_pool,
            **self._averages.stateful_parts(),
        }


def _get_legal_actions(rows: dict[str, Tensor]) -> LegalActions | None:
    """Return the legal actions if only they have columns in rows of `_build_loss_data`, or None."""
    return LegalActions(rows["legal"], rows["count"]) if "legal" in rows else None


def _compute_explained_variance(error: Tensor, target: Tensor) -> float:
    """Return the share of the targets' variance that the values explain; 0 for under 2 targets."""
    if len(target) < 2:
        return 0.0
    return 1 - float(error.var() / target.var().clamp(min=1e-8))


def build_same_type_matrix(action_types: np.ndarray) -> Tensor | None:
    """Return 1 for actions of equal type, else 0, [A, A]; None if each action has its own type."""
    is_same_type = action_types[:, None] == action_types
    if is_same_type.sum() == len(action_types):
        return None
    return torch.from_numpy(is_same_type.astype(np.float32))
