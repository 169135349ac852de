"""Vine: policy gradient over all likely actions, each valued by a rollout with the dealt cards.

The vine procedure of TRPO (Schulman et al., arXiv:1502.05477, section 5.2) plays several actions
from copies of one state with common random numbers: the cards are the same at all copies, so the
returns differ only by the actions. Policy pi, whose weights are the EMA of the actor's, plays the
hands. Each iteration:

    play `rollout_steps` actions at every table; at each decision, for every action a with
    pi(a) >= `min_action_prob` (at most `max_actions`), on a copy of the table with the same cards:
        play a, then let all seats play by pi until the same player decides again
        Q(a) = value of that decision by the EMA of the critic, or the payoff if the hand ends first
    scale pi to the sum 1 over these actions;  V = sum_a pi(a) Q(a),  A(a) = Q(a) - V
    add (s, a, pi, A, V) to the replay buffer
    for `gradient_steps` batches of the buffer:
        actor p(s):   minimize  - sum_a p(a) A(a) + kl_old_coef KL(p, pi) - entropy_coef H(p)
        critic v(s):  minimize  (v(s) - V)^2
    update the EMAs of actor and critic

A single rollout gives a noisy value. But the hidden cards at a table follow their distribution
given the play so far, so networks that learn from many similar decisions average over these cards.
A decision with one likely action trains only the critic. Only a random share of such decisions
(`single_action_share`) is valued, and each of them has the weight 1 / share.

Differences: TRPO follows each rollout to its end and takes one step under a KL constraint. The
bootstrapping, the replay buffer with a KL penalty, and the constants are ours. In shapes, K counts
network replicas, B decisions (in [K, B] those of each replica), and L legal actions; `width` is the
largest number of actions tried at a decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    PassCount,
    PositiveFloat,
    PositiveInt,
    PositiveShare,
    Probability,
)
from poker_rl.config.schedules import ScheduleOverDecisions
from poker_rl.games.tables import tables_from_records
from poker_rl.learning.buffers.insertion_rules import CircularInsertion
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.gradient_steps import build_adam, set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.rollout import NEXT_PENDING, DecisionsToMake, Seating
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax, masked_softmax
from poker_rl.nets.dense import NetworkPair
from poker_rl.nets.legal_output_layer import LegalActions, list_legal_actions
from poker_rl.nets.weight_ema import WeightEMA
from poker_rl.players.action_values_by_lookahead import MAX_TABLES, estimate_action_values
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player, sample_actions_and_log_probs

ADAM_EPSILON = 1e-5
METRIC_TAGS = ("loss/policy", "loss/value", "policy/entropy", "policy/kl", "gradient/norm")


@dataclass(kw_only=True)
class Vine(NetworkLearner, SharingAndSeatingSettings):
    """Vine learner; its schedules advance with each decision played, in rollouts too."""

    tables: PositiveInt
    rollout_steps: PositiveInt
    min_action_prob: Probability
    max_actions: PositiveInt
    single_action_share: PositiveShare
    replay_capacity: PositiveInt
    gradient_steps: PassCount
    batch_size: PositiveInt
    actor_lr: ScheduleOverDecisions
    critic_lr: ScheduleOverDecisions
    max_grad_norm: PositiveFloat
    kl_old_coef: ScheduleOverDecisions
    entropy_coef: ScheduleOverDecisions
    reward_scale: PositiveFloat
    output_init_scale: NonNegativeFloat
    ema_decay: Probability
    network_sharing: Literal["shared", "per_seat"]
    seating: Seating = field(init=False, default="fixed")

    warm_start_parts: ClassVar = ("networks", "weight_average")
    per_process_parts: ClassVar = ("services", "buffer")
    warm_start_sources: ClassVar = ("poker_rl.algos.ppo.PPO",)

    def __post_init__(self, context: LearnerContext) -> None:
        if context.opponents is not None:
            raise ConfigError("opponents: vine plays itself, and takes none")
        self.services = services = LearnerServices(
            context, self, tables_per_instance=self.tables, include_forced_moves=False
        )
        self._actor = services.build_network(context.game.action_count, self.output_init_scale)
        self._critic = services.build_critic(1)
        self._actor_critic = NetworkPair(self._actor, self._critic, shared_layers=0)
        self._optimizer = build_adam(self._actor, self._critic, eps=ADAM_EPSILON)
        self._actor_ema = WeightEMA(self._actor, self.ema_decay)
        self._critic_ema = WeightEMA(self._critic, self.ema_decay)
        self._max_tried_actions = width = min(self.max_actions, context.game.action_count)
        columns = {
            "observation": services.observation_column,
            "action": Column(torch.int32, width),  # actions tried, from the most probable on
            "count": Column(torch.int32),  # number of actions tried
            "policy": Column(torch.float32, width),
            "advantage": Column(torch.float32, width),
            "value": Column(torch.float32),
        }
        storage = CircularInsertion(), columns, services.device, services.sample_seed()
        self._buffer = ReplayBuffer(
            "replay_capacity", self.replay_capacity, *storage, replicas=services.replicas
        )
        self._buffer.check_min_capacity("batch_size", self.batch_size)
        self._rollout_decisions = 0

    def run_iteration(self) -> dict[str, float]:
        """Play `rollout_steps` actions at every table, value all likely actions, and learn."""
        self._rollout_decisions = 0
        batch = self.services.rollout.play_steps(
            self._choose_actions_and_store_values, self.rollout_steps
        )
        metric_sums = torch.zeros(len(METRIC_TAGS), device=self.services.device)
        step = self.progress.decisions
        set_learning_rates(self._optimizer, self.actor_lr.value(step), self.critic_lr.value(step))
        kl_old_coef, entropy_coef = self.kl_old_coef.value(step), self.entropy_coef.value(step)
        updates = (
            self.gradient_steps if self._buffer.min_items_per_replica >= self.batch_size else 0
        )
        for _ in range(updates):
            metric_sums += self._update_networks(kl_old_coef, entropy_coef)
        self._actor_ema.update(self._actor, self.progress.iterations + 1)
        self._critic_ema.update(self._critic, self.progress.iterations + 1)
        self.progress.updates += updates
        self.add_progress(int((batch.next_row != NEXT_PENDING).sum()) + self._rollout_decisions)
        metrics = {"memory/fill": self._buffer.fill_fraction, "schedule/kl_old_coef": kl_old_coef}
        if updates:
            metrics |= dict(zip(METRIC_TAGS, (metric_sums / updates).tolist(), strict=True))
        return metrics

    def players(self) -> dict[str, Player]:
        """Return "weight_average" (EMA of the actor, which plays in training) and "current"."""
        module = self._critic_ema.module
        critic = self.services.build_critic_for_player(module, self.reward_scale, per_action=False)
        return self.services.build_players(
            critic, weight_average=self._actor_ema.module, current=self._actor
        )

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy `warm_start_parts` and the EMA of the critic's weights.

        A PPO run has no such EMA; after a warm start from it, the EMA is a copy of the critic.
        """
        super().warm_start(state)
        self._critic_ema.load_state_dict(state.get("value_average") or self._critic.state_dict())

    def warm_start_from_player(self, player: NetworkPlayer) -> None:
        super().warm_start_from_player(player)  # copies the player's critic to the EMA
        self._critic.load_state_dict(self._critic_ema.module.state_dict())

    def _choose_actions_and_store_values(
        self, rows: DecisionsToMake
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose actions by the policy; put the values of all likely actions into the buffer."""
        services = self.services
        legal = list_legal_actions(rows.mask, services.device)
        with torch.no_grad():
            logits = services.compute_logits(self._actor_ema.module, rows, legal)
            policy = masked_softmax(logits, legal.non_padding_mask).double().cpu().numpy()  # [B, L]
        self._estimate_and_store_values(rows, legal.actions.cpu().numpy(), policy)
        position, log_prob = services.sample_from_probs(policy)
        return legal.to_action(position), log_prob

    def _estimate_and_store_values(
        self, rows: DecisionsToMake, action: np.ndarray, policy: np.ndarray
    ) -> None:
        """Estimate the values of the likely actions at B decisions; put them into the buffer.

        `action` and `policy` [B, L] have the legal actions of each decision, at most L, and their
        probabilities, which are 0 in the padding.
        """
        likeliest = np.argsort(-policy, axis=1, kind="stable")[:, : self._max_tried_actions]
        policy = np.take_along_axis(policy, likeliest, 1)
        action = np.take_along_axis(action, likeliest, 1)
        min_prob = np.minimum(self.min_action_prob, policy[:, :1])  # the likeliest is always tried
        is_tried = (policy > 0) & (policy >= min_prob)  # [B, width]
        count = is_tried.sum(1)
        is_stored = self.services.generator.random(len(count)) < self.single_action_share
        is_stored |= count > 1
        decision, column = np.nonzero(is_tried & is_stored[:, None])
        action_values = np.zeros(policy.shape)  # in units of `reward_scale` chips
        records = rows.records
        for start in range(0, len(decision), MAX_TABLES):
            chunk = decision[start : start + MAX_TABLES], column[start : start + MAX_TABLES]
            action_values[chunk] = self._estimate_action_values(
                records.take(chunk[0]), rows.table[chunk[0]], action[chunk]
            )
        policy = np.where(is_tried, policy, 0.0)
        policy /= policy.sum(1, keepdims=True)
        value = (policy * action_values).sum(1)
        advantage = np.where(is_tried, action_values - value[:, None], 0.0)
        padding = ((0, 0), (0, self._max_tried_actions - policy.shape[1]))
        self._buffer.add(
            rows.replica[is_stored],
            observation=rows.observation[is_stored],
            action=np.pad(action, padding)[is_stored],
            count=count[is_stored],
            policy=np.pad(policy, padding)[is_stored],
            advantage=np.pad(advantage, padding)[is_stored],
            value=value[is_stored],
        )

    def _estimate_action_values(
        self, records: np.ndarray, source_table: np.ndarray, action: np.ndarray
    ) -> np.ndarray:
        """Estimate the values of N actions, by one rollout each, in units of `reward_scale` chips.

        Action i is played on `records[i]`, a copy of table `source_table[i]` of `services.rollout`.
        """
        services = self.services
        tables = tables_from_records(services.game, records)

        def compute_outputs(
            module: nn.Module, rows: np.ndarray, legal: LegalActions | None = None
        ) -> Tensor:
            records_now = tables.records.take(rows)
            replica = services.to_tensor(services.assign_replicas(records_now, source_table[rows]))
            inputs = DeduplicatedInputs(services.encoder(records_now), services.device)
            with services.timer.time_networks(), torch.no_grad():
                return inputs.forward_all(module, replica, legal)

        def choose_responses(rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
            self._rollout_decisions += len(rows)
            legal = list_legal_actions(mask, services.device)
            logits = compute_outputs(self._actor_ema.module, rows, legal)
            uniform = services.generator.random(len(rows), np.float32)
            position, _ = sample_actions_and_log_probs(
                logits, legal.non_padding_mask.cpu().numpy(), uniform
            )
            return legal.to_action(position)

        def estimate_values(rows: np.ndarray) -> np.ndarray:
            values = compute_outputs(self._critic_ema.module, rows)[:, 0].double().cpu().numpy()
            return values * self.reward_scale

        values = estimate_action_values(tables, action, choose_responses, estimate_values)
        return values / self.reward_scale

    def _update_networks(self, kl_old_coef: float, entropy_coef: float) -> Tensor:
        """Take one gradient step of both networks; return the metrics of METRIC_TAGS, [5]."""
        rows = self._buffer.sample(self.batch_size)
        observation, count = rows["observation"].float(), rows["count"].long()
        legal = LegalActions(rows["action"].long(), count)
        is_tried = legal.non_padding_mask  # [K, B, width]
        weight = torch.where(count > 1, 1.0, 1 / self.single_action_share)
        with self.services.timer.time_networks():
            logits, value = self._actor_critic(observation, legal)  # [K, B, width], [K, B, 1]
            p, log_p = masked_softmax(logits, is_tried), masked_log_softmax(logits, is_tried)
            expected_advantage = (p * rows["advantage"]).sum(2)
            log_policy = rows["policy"].clamp(min=1e-8).log()
            kl = masked_expectation(p, log_p - log_policy, is_tried)
            policy_entropy = -masked_expectation(p, log_p, is_tried)
            value_loss = (value[..., 0] - rows["value"]).square()
            actor_loss = -expected_advantage + kl_old_coef * kl - entropy_coef * policy_entropy
            loss = (actor_loss + weight * value_loss).mean(1).sum()
            norm = take_gradient_step(loss, self._optimizer, self._actor, self.max_grad_norm)
            with torch.no_grad():
                parts = (-expected_advantage, value_loss, policy_entropy, kl)
                return torch.stack([*(part.mean() for part in parts), norm])

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "networks": self._actor_critic,
            "optimizer": self._optimizer,
            "weight_average": self._actor_ema,
            "value_average": self._critic_ema,
            "buffer": self._buffer,
        }
