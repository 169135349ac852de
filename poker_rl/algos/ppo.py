"""Proximal policy optimization (PPO) in self-play, and deep magnetic mirror descent (MMD).

PPO is Algorithm 1 of Schulman et al. (arXiv:1707.06347) with the clipped objective of equation 7;
here generalized advantage estimation runs along the decisions of each agent. Deep MMD (Sokota et
al., arXiv:2206.05825, section 5) is PPO with a penalty on the KL divergence from the policy before
the iteration. MMD's other penalty, on the KL divergence from the uniform policy, has the same
effect as the entropy bonus: it is a constant minus the entropy. In games of imperfect
information the entropy bonus has to start high and decay (Rudolph et al., "Reevaluating policy
gradient methods for imperfect-information games"). Each iteration:

    play `rollout_steps` actions at every table
    d = r + gamma V(next) - V,  A = d + gamma gae_lambda A(next),  target = A + V
    for each minibatch of each epoch:
        minimize  - min(ratio A, clip(ratio, 1 - clip_coef, 1 + clip_coef) A)
                  + value_coef (V - target)^2 / 2
                  - entropy_coef H(pi) + kl_old_coef KL(pi, pi before the iteration)
                  + log_barrier_coef KL(uniform, pi)

With `entropy_over: action_types`, H(pi) is replaced by minus the KL divergence of pi from a policy
that is uniform over types of actions (fold, call, raise). This suits games with many raise sizes.

The gradients of the PPO objective and of the entropy bonus vanish as an action becomes rare. That
of the log barrier (arXiv:1908.00261, section 5) does not: it keeps each action's probability near
or above log_barrier_coef / (number of legal actions * cost), where cost is minus the advantage.

Differences from the papers: actor and critic are separate networks with one optimizer, or share
their first layers; values are computed once per batch, not during play; if a batch ends within a
hand, the last decision of each agent only gives V(next) for the agent's decision before it, and the
networks learn from it in the next batch; the critic may see the hidden cards (arXiv:2105.11674); an
EMA of the weights, an average-policy network and an opponent pool are options.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from poker_rl.algos import ppo_loss
from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    NonNegativeInt,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import ScheduleOverInstanceDecisions
from poker_rl.learning import collectives
from poker_rl.learning.advantages import compute_gae_and_completeness
from poker_rl.learning.average_policy_network import AveragePolicySettings, EMAAndAveragePolicy
from poker_rl.learning.cuda_graphs import CapturedStep
from poker_rl.learning.fixed_length_rollout import FixedLengthRollout
from poker_rl.learning.gradient_steps import take_gradient_step
from poker_rl.learning.learner_services import (
    CriticView,
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.minibatches import iterate_minibatch_indices, sample_uniform_numbers
from poker_rl.learning.opponent_pool import OpponentPool, OpponentPoolSettings
from poker_rl.nets.action_probs import masked_log_softmax
from poker_rl.nets.dense import NetworkPair
from poker_rl.players.player import Player

ADAM_EPSILON = 1e-5  # as in common implementations of PPO
MINIBATCH_MARGIN = 1.03  # on a GPU, where sizes are fixed, minibatches have 3 % spare rows


@dataclass(kw_only=True)
class PPO(NetworkLearner, SharingAndSeatingSettings):
    """PPO learner; its schedules count the decisions of one of its `instances`, not of all."""

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
    log_barrier_coef: ScheduleOverInstanceDecisions | None
    value_coef: NonNegativeFloat
    clip_value_loss: bool
    normalize_advantages: bool
    reward_scale: PositiveFloat
    critic_view: CriticView
    shared_layers: NonNegativeInt
    output_init_scale: NonNegativeFloat
    ema_decay: Probability
    average_policy: AveragePolicySettings | None
    opponent_pool: OpponentPoolSettings
    include_forced_moves: bool

    warm_start_parts: ClassVar = ("networks", "weight_average", "average")
    min_gpu_work: ClassVar = 5e5
    per_process_parts: ClassVar = ("services", "buffer", "opponent_pool", "step_rollout")
    average_learns_actions: ClassVar[bool] = False  # if False, it learns action probabilities

    def __post_init__(self, context: LearnerContext) -> None:
        if self.critic_view != "own" and self.shared_layers:
            raise ConfigError("shared_layers: a critic that sees more shares no layer; allowed: 0")
        self.services = LearnerServices(
            context,
            self,
            tables_per_instance=self.tables,
            critic_view=self.critic_view,
            include_forced_moves=self.include_forced_moves,
        )
        self._actor = self.services.build_network(context.game.action_count, self.output_init_scale)
        self._critic = self.services.build_critic(1)
        self._actor_critic = NetworkPair(self._actor, self._critic, self.shared_layers)
        device = context.device
        self._schedule_values = {  # current values, in tensors that CUDA graphs read
            name: torch.zeros((), device=device)
            for name in ("lr", "clip_coef", "entropy_coef", "kl_old_coef", "log_barrier_coef")
            if getattr(self, name) is not None
        }
        self._optimizer = torch.optim.Adam(
            self._actor_critic.parameters(),
            lr=self._schedule_values["lr"],
            eps=ADAM_EPSILON,
            fused=True,
            capturable=device.type == "cuda",
        )
        self._same_type = None
        if self.entropy_over == "action_types":
            self._same_type = ppo_loss.build_same_type_matrix(context.game.action_types, device)
        self._averages = EMAAndAveragePolicy(
            self.services,
            self._actor,
            ema_decay=self.ema_decay,
            settings=self.average_policy,
            output_init_scale=self.output_init_scale,
            learn_from_actions=self.average_learns_actions,
        )
        self._rollout = FixedLengthRollout(self.services, self.rollout_steps, self._actor)
        self._inputs = ppo_loss.NetworkAndLossInputs(self.services, self._rollout.batch)
        self._seed = torch.zeros((), dtype=torch.int64, device=device)  # seed of the row order
        self._metric_sums = torch.zeros(len(ppo_loss.METRIC_TAGS), device=device)
        self._epoch_row_count = 0  # rows of each replica in an epoch, with padding
        # A GPU records these steps as CUDA graphs.
        self._prepare_data = CapturedStep(
            self._update_loss_inputs, device, is_capturable=self.services.replicas == 1
        )
        self._learn_epoch = CapturedStep(self._run_one_epoch, device)
        self._opponent_pool: OpponentPool | None = None
        if self.opponent_pool.play_prob:
            pool = OpponentPool(self.opponent_pool, self.services, self._actor)
            self._opponent_pool = pool
            self._rollout.non_learning_network = pool.opponent_network
            self.services.rollout.sample_learning_seats = pool.sample_learning_seats
        self._warm_start_iterations = 0  # iterations of earlier runs that `warm_start` continues

    def run_iteration(self) -> dict[str, float]:
        """Play `rollout_steps` actions at every table and learn from them for `epochs` epochs."""
        step = self.progress.decisions // self.instances
        schedule_values = {name: getattr(self, name).value(step) for name in self._schedule_values}
        for name, value in schedule_values.items():
            self._schedule_values[name].fill_(value)
        if self._opponent_pool is not None:
            self._opponent_pool.update(self.progress.iterations)
        self._rollout.play()
        with self.services.timer.time_networks():
            self._prepare_data()
        self._metric_sums.zero_()
        self._set_epoch_row_count()
        for _ in range(self.epochs):
            self._seed.fill_(self.services.sample_seed())
            with self.services.timer.time_networks():
                self._learn_epoch()
        iterations = self._warm_start_iterations + self.progress.iterations
        self._averages.weight_ema.update(self._actor, iterations)
        metrics: dict[str, float] = {}
        if (average_policy := self._averages.average_policy) is not None:
            average_policy.add(
                *self._select_average_policy_decisions(), self.progress.iterations + 1
            )
            metrics = average_policy.learn()
        updates = self.epochs * max(1, min(self.minibatches, self._epoch_row_count))
        self.progress.updates += updates
        columns = self._inputs.columns
        self.add_progress(int(columns["is_complete"].sum()))
        means = torch.cat([self._metric_sums / updates, columns["explained_variance"]]).tolist()
        tags = (*ppo_loss.METRIC_TAGS, "value/explained_variance")
        schedules = {f"schedule/{name}": value for name, value in schedule_values.items()}
        return metrics | dict(zip(tags, means, strict=True)) | schedules

    def players(self) -> dict[str, Player]:
        """Return "average" (if any), "weight_average" (EMA of actor's weights) and "current"."""
        scale, gamma = self.reward_scale, self.gamma
        critic = self.services.build_critic_for_player(self._critic, scale, gamma, per_action=False)
        return self._averages.build_players(critic)

    def _set_epoch_row_count(self) -> None:
        """Set `_epoch_row_count`, the number of rows per replica in all minibatches of an epoch.

        It is the largest number of decisions that a replica in any process has to learn from. A
        change requires a new CUDA graph, so on a GPU it includes spare rows and never decreases.
        """
        used_replicas = self._inputs.columns["replica"][self._inputs.columns["is_used"]]
        size = int(used_replicas.bincount(minlength=self.services.replicas).max())
        size = collectives.max_over_processes(size)
        if self.services.device.type == "cpu":
            self._epoch_row_count = size
        elif size > self._epoch_row_count:
            self._epoch_row_count = ceil(MINIBATCH_MARGIN * size)
            self._learn_epoch.reset()

    def _select_average_policy_decisions(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return decisions for the average policy: replica, observation, mask, target, [n, ...]."""
        batch, rows = self._rollout.batch, self._inputs.columns["is_used"].nonzero()[:, 0]
        replica, observation, mask, action = (
            self._inputs.gather_cells(column)[rows].cpu().numpy()
            for column in (batch.replica, batch.observation, batch.mask, batch.action)
        )
        if self.average_learns_actions:
            return replica, observation, mask, action[:, None] == np.arange(mask.shape[1])
        columns, legal = self._inputs.select_rows(rows)
        policy = columns["old"].exp()
        if legal is not None:
            policy = legal.scatter(policy, mask.shape[1])
        return replica, observation, mask, policy.cpu().numpy()

    @torch.no_grad()
    def _update_loss_inputs(self) -> None:
        """Compute the inputs of networks and loss for the latest batch; write them to `_inputs`."""
        batch, inputs = self._rollout.batch, self._inputs
        inputs.update_network_inputs()
        names = ("mask", "action", "replica", "log_prob")
        columns = {name: inputs.gather_cells(getattr(batch, name)) for name in names}
        mask = columns["mask"]
        replica = columns["replica"] if self.services.replicas > 1 else None
        if self._same_type is not None:  # log of a policy uniform over types, up to a constant
            columns["same_type"] = -(mask.float() @ self._same_type).clamp(min=1).log()
        average_needs_policy = self.average_policy is not None and not self.average_learns_actions
        if self.kl_old_coef is not None or average_needs_policy:
            logits = inputs.actor_inputs.forward_all(self._actor, replica)
            columns["old"] = masked_log_softmax(logits, mask)
        value = inputs.critic_inputs.forward_all(self._critic, replica)[:, 0]
        if self.clip_value_loss:
            columns["old_value"] = value
        cell_values = value.new_zeros(batch.action.shape)
        cell_values.view(-1)[inputs.cells] = value
        advantages, is_complete = compute_gae_and_completeness(
            batch, cell_values, self.gamma, self.gae_lambda, self.reward_scale
        )
        advantage = inputs.gather_cells(advantages)
        is_used = inputs.gather_cells(is_complete & batch.is_learner)
        explained_variance = ppo_loss.compute_explained_variance(advantage, value, is_used)
        columns |= {"advantage": advantage, "target": advantage + value, "is_used": is_used}
        columns |= {"is_complete": inputs.gather_cells(is_complete)}
        inputs.set_columns(columns | {"explained_variance": explained_variance})

    def _run_one_epoch(self) -> None:
        """Take the gradient steps of one epoch and add their metrics to `_metric_sums`."""
        inputs, columns = self._inputs, self._inputs.columns
        count = self._rollout.batch.action.numel()
        uniform = sample_uniform_numbers(self._seed, count)[inputs.cells]
        for index, row_weight in iterate_minibatch_indices(
            columns["replica"],
            columns["is_used"],
            uniform,
            self.services.replicas,
            self.minibatches,
            self._epoch_row_count,
        ):
            minibatch, legal = inputs.select_rows(index)
            if inputs.critic_inputs is inputs.actor_inputs:
                logits, value = inputs.actor_inputs.forward_rows(self._actor_critic, index, legal)
            else:
                logits = inputs.actor_inputs.forward_rows(self._actor, index, legal)
                value = inputs.critic_inputs.forward_rows(self._critic, index)
            loss, metrics = ppo_loss.compute_loss_and_metrics(
                logits,
                value[..., 0],
                minibatch,
                row_weight,
                self._schedule_values,
                value_coef=self.value_coef,
                normalizes_advantages=self.normalize_advantages,
            )
            norm = take_gradient_step(loss, self._optimizer, self._actor_critic, self.max_grad_norm)
            self._metric_sums += torch.cat([metrics, norm[None]])

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"warm_start_iterations": self._warm_start_iterations}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._learn_epoch.reset()  # loading has replaced moments that the CUDA graph uses
        self._warm_start_iterations = state["warm_start_iterations"]

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy `warm_start_parts`; the warm-up of the EMA counts the iterations of both runs."""
        super().warm_start(state)
        iterations = state["warm_start_iterations"] + state["progress"]["iterations"]
        self._warm_start_iterations = iterations

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "networks": self._actor_critic,
            "optimizer": self._optimizer,
            "step_rollout": self._rollout,
            "opponent_pool": self._opponent_pool,
            **self._averages.stateful_parts(),
        }
