"""Asynchronous policy update (APU) and Dual-APU, off-policy actor-critics for many players.

Shi et al. published the method for six-player limit hold'em (doi:10.3390/e24060774); our results
are in docs/results/apu.md. The actor sees the player's own cards, the critic all cards (perfect
information). The variants differ in who learns:

    apu            an actor-critic per agent; one agent learns at a time
    dual_apu       one agent learns; a periodically updated copy of its actor plays the other seats
    apu_ctrl       an actor-critic per agent; all learn at once
    dual_apu_ctrl  one actor-critic plays and learns in all seats

Each iteration:

    play `episodes_per_iteration` episodes, each of as many hands as the game has seats; learning
        agents play a random action with probability epsilon, and else sample from pi(s); the other
        agents always sample from their policy; in the share `opponent_pool.play_prob` of the
        iterations, one agent learns and a snapshot from the pool plays the other seats
    add the transition (w, a, r, w') of each decision selected by `store_decisions_of` to the replay
        buffer of the agent's learner: w is the table with all cards, s the player's view of it,
        w' the table at the player's next decision
    for each gradient step due:
        y = r + gamma sum_a' pi'(a' | s') Q'(w', a'),  or r alone if the hand ended
        critic Q: minimize  (Q(w, a) - y)^2
        actor pi: minimize  - sum_a pi(a | s) Q(w, a) - entropy_coef H(pi(s))
        Polyak update of the target networks pi', Q' by `tau`
    update the EMA of the actors if `ema_decay` > 0

The published reward of a decision is minus the chips that it puts into the pot. The last decision
in a hand also gets the square of the chips taken from the pot. Chips are counted in units of
`reward_unit` times the game's unit of results. `reward_power` replaces the exponent 2; with 1, the
rewards of a hand add up to the chips won plus the blind posted. With `reward_type: payoff`, the
only reward is the chips won, at the hand's end.

Differences: seats are sampled for each hand, whereas in the paper the button rotates; episodes are
played in parallel; in a split pot, the chips taken include the odd chips that the player gets;
learning starts when each agent of a learner has a batch of transitions; the entropy bonus, EMA,
opponent pool and `reward_power` are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

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
from poker_rl.config.schedules import Schedule, ScheduleOverGradientSteps, StepUnit
from poker_rl.games.hand_history import TablePacker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.off_policy_actor_critic import HandReplayBuffer, OffPolicyActorCritic
from poker_rl.learning.opponent_pool import OpponentPool, OpponentPoolSettings
from poker_rl.learning.rollout import HAND_ENDED, DecisionsToMake, RolloutBatch
from poker_rl.nets.replicas import expand_replicas, slice_replicas
from poker_rl.nets.weight_ema import WeightEMA
from poker_rl.players.network_player import NetworkPlayer, NetworkSharing
from poker_rl.players.player import Player, mix_with_uniform


@dataclass(kw_only=True)
class APU(NetworkLearner):
    """APU and Dual-APU learner; `progress.updates` counts a joint step of several agents once."""

    variant: Literal["apu", "dual_apu", "apu_ctrl", "dual_apu_ctrl"]
    episodes_per_iteration: PositiveInt
    gradient_steps: PassCount
    training_period: PositiveInt
    agent_switch_period: PositiveInt
    actor_copy_period: PositiveInt
    batch_size: PositiveInt
    replay_capacity: PositiveInt
    gamma: Probability
    epsilon: Annotated[Schedule, StepUnit("episodes")]
    actor_lr: ScheduleOverGradientSteps
    critic_lr: ScheduleOverGradientSteps
    entropy_coef: ScheduleOverGradientSteps
    tau: PositiveShare
    output_init_scale: NonNegativeFloat
    store_decisions_of: Literal["all", "learner"]
    ema_decay: Probability
    opponent_pool: OpponentPoolSettings
    reward_type: Literal["published", "payoff"]
    reward_power: PositiveFloat
    reward_unit: PositiveFloat
    reward_scale: PositiveFloat

    warm_start_parts: ClassVar = (
        "actor",
        "critic",
        "target_actor",
        "target_critic",
        "weight_average",
    )
    per_process_parts: ClassVar = ("services", "buffer", "opponent_pool")

    def __post_init__(self, context: LearnerContext) -> None:
        self._check_settings(context)
        game = context.game
        self._table_packer = TablePacker(game)
        self._hands_per_episode = game.seats
        self._unit_chips = game.unit_chips * self.reward_unit
        sharing: NetworkSharing = "per_agent" if self.variant in ("apu", "apu_ctrl") else "shared"
        self.services = LearnerServices(
            context,
            SharingAndSeatingSettings(network_sharing=sharing, instances=1, seating="shuffled"),
            tables_per_instance=self.episodes_per_iteration * game.seats,
            critic_view="perfect_information",
        )
        outputs = game.action_count, self.output_init_scale
        self._actor = self.services.build_network(*outputs)
        networks = {"actor": self._actor, "critic": self.services.build_critic(*outputs)}
        targets = {f"target_{name}": network for name, network in deepcopy(networks).items()}
        self._networks = networks | targets
        self._learners = self._build_off_policy_learners()
        self._copied_actor: nn.Module | None = None  # plays the other seats in dual_apu
        if self.variant == "dual_apu":
            self._copied_actor = deepcopy(self._actor).requires_grad_(False)
        self._weight_ema = WeightEMA(self._actor, self.ema_decay) if self.ema_decay else None
        pool = self.opponent_pool, self.services, self._actor
        self._opponent_pool = OpponentPool(*pool) if self.opponent_pool.play_prob else None
        self._other_actor = self._copied_actor  # acts for agents that don't learn; None: `_actor`
        self._is_learning = np.full(game.seats, True)  # agents that learn in this iteration
        # For each step, an array [B, 2] about its B decisions: the number of earlier actions in the
        # hand, and the chips that the player to act has put in so far.
        self._moves_and_chips: list[np.ndarray] = []

    def _check_settings(self, context: LearnerContext) -> None:
        if context.opponents is not None and self.variant != "dual_apu_ctrl":
            problem = f"{self.variant} plays itself; with opponents: dual_apu_ctrl"
            raise ConfigError(f"variant: {problem}")
        game = context.game
        if self.reward_type == "published" and isinstance(game, PokerGame) and any(game.dead_antes):
            raise ConfigError("reward_type: published needs equal antes; allowed here: payoff")
        period = {"apu": "agent_switch_period", "dual_apu": "actor_copy_period"}.get(self.variant)
        episodes_at_once = self.episodes_per_iteration * context.workers
        if period is not None and getattr(self, period) % episodes_at_once:
            problem = f"{episodes_at_once} at once do not divide {period}, {getattr(self, period)}"
            raise ConfigError(f"episodes_per_iteration: {problem}")

    def _build_off_policy_learners(self) -> list[OffPolicyActorCritic]:
        """Build one learner per agent for the variant `apu`, else a single one for all agents."""
        learners: list[OffPolicyActorCritic] = []
        replicas = self.services.replicas
        count = 1 if self.variant == "apu" else replicas  # replicas per learner
        for first in range(0, replicas, count):
            buffer = HandReplayBuffer(
                self._table_packer,
                self.services,
                self.replay_capacity,
                replicas=count,
                other_buffers=[learner.buffer for learner in learners],
            )
            buffer.check_min_capacity("batch_size", self.batch_size)
            own = slice(first, first + count)
            networks = [slice_replicas(network, own) for network in self._networks.values()]
            learners.append(OffPolicyActorCritic(self.services, first, networks, buffer))
        return learners

    def run_iteration(self) -> dict[str, float]:
        """Play `episodes_per_iteration` episodes and take the gradient steps that are due."""
        self._moves_and_chips.clear()
        self._epsilon = self.epsilon.value(self.progress.hands // self._hands_per_episode)
        self._other_actor = self._copied_actor
        if self._opponent_pool is not None:
            self._opponent_pool.update(self.progress.iterations)
            if self._opponent_pool.sample_whether_opponent_plays():
                self._other_actor = self._opponent_pool.opponent_network
        # If only one agent learns, agents with their own networks take turns, one period each.
        periods_done = self.progress.hands // (self.agent_switch_period * self._hands_per_episode)
        learner = self._learners[periods_done % len(self._learners)]
        all_learn = self.variant in ("apu_ctrl", "dual_apu_ctrl")
        self._is_learning[:] = all_learn and self._other_actor is None
        self._is_learning[periods_done % self.services.replicas] = True
        updates_due = -self._count_updates_due(self.progress.hands)
        batch = self.services.rollout.play_full_hands(self._choose_actions)
        learners = self._learners if self.store_decisions_of == "all" else [learner]
        self._store_transitions(batch, learners)
        self.add_progress(len(batch))
        updates_due += self._count_updates_due(self.progress.hands)
        step_metrics = []
        if learner.buffer.min_items_per_replica >= self.batch_size:
            step_metrics = [self._take_gradient_step(learner) for _ in range(updates_due)]
        hands_per_copy = self.actor_copy_period * self._hands_per_episode
        if not self.progress.hands % hands_per_copy:
            self._sync_copied_actor()
        if self._weight_ema is not None:
            self._weight_ema.update(self._actor)
        self.progress.updates += len(step_metrics)
        return self._compute_metrics(step_metrics, learner)

    def players(self) -> dict[str, Player]:
        """Return "weight_average" (if `ema_decay` > 0) and "current".

        The instances of these players are the replicas, each of which decides alone in all seats.
        """
        modules = {"current": self._actor}
        if self._weight_ema is not None:
            modules = {"weight_average": self._weight_ema.module} | modules
        build_player = partial(self.services.build_player, instance_per_replica=True)
        return {name: build_player(module) for name, module in modules.items()}

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy the networks of another run; networks that its agents share go to every agent."""
        learned_parts = {name: state[name] for name in self.warm_start_parts if name in state}
        replicas = self.services.replicas
        expanded = {name: expand_replicas(part, replicas) for name, part in learned_parts.items()}
        super().warm_start(state | expanded)
        self._sync_copied_actor()

    def warm_start_from_player(self, player: NetworkPlayer) -> None:
        super().warm_start_from_player(player)
        self._networks["target_actor"].load_state_dict(self._actor.state_dict())
        self._sync_copied_actor()

    def _count_updates_due(self, hands: int) -> int:
        """Return how many gradient steps each process should have taken after `hands` hands."""
        period = self.training_period * self._hands_per_episode * self.services.workers
        return hands * self.gradient_steps // period

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        is_learner = self._is_learning[rows.agent]
        if self._other_actor is None:
            policy = self.services.compute_probs(self._actor, rows)
        else:
            policy = np.empty(rows.mask.shape, np.float32)
            for actor, part in ((self._actor, is_learner), (self._other_actor, ~is_learner)):
                if part.any():
                    policy[part] = self.services.compute_probs(actor, rows.select_rows(part))
        tables = rows.tables.records
        moves, paid = tables["moves"][rows.table], tables["paid"][rows.table, rows.seat]
        self._moves_and_chips.append(np.stack([moves, paid], 1, dtype=np.int64))
        policy = mix_with_uniform(policy, rows.mask, self._epsilon * is_learner[:, None])
        return self.services.sample_from_probs(policy)

    def _store_transitions(
        self, batch: RolloutBatch, learners: Sequence[OffPolicyActorCritic]
    ) -> None:
        """Add the decisions of a batch of finished hands to the buffers of these learners."""
        records = self.services.rollout.tables.records
        moves, paid = np.concatenate([np.zeros((0, 2), np.int64), *self._moves_and_chips]).T  # [N]
        ended = batch.next_row == HAND_ENDED
        next_moves = np.where(ended, records["moves"][batch.table], moves[batch.next_row])
        reward = batch.reward / self._unit_chips
        if self.reward_type == "published":
            final_paid = records["paid"][batch.table, batch.seat]
            chips_added = np.where(ended, final_paid, paid[batch.next_row]) - paid
            pot_won = np.where(ended, batch.reward + final_paid, 0.0)
            reward = (pot_won / self._unit_chips) ** self.reward_power
            reward -= chips_added / self._unit_chips
        hands = self._table_packer.pack(records)
        for learner in learners:
            replica = batch.replica - learner.first_replica
            is_own = (replica >= 0) & (replica < learner.buffer.replicas)
            if self.store_decisions_of == "learner":
                is_own &= self._is_learning[batch.agent]
            learner.buffer.add(
                replica[is_own],
                hand=hands[batch.table[is_own]],
                moves=moves[is_own],
                next=next_moves[is_own],
                reward=(reward / self.reward_scale)[is_own],
            )

    def _take_gradient_step(self, learner: OffPolicyActorCritic) -> tuple[Tensor, Tensor]:
        """Take a gradient step; return its metrics and the gradient norm [].

        The metrics are [critic loss, actor loss, entropy], summed over the learner's replicas.
        """
        metrics = learner.compute_losses_and_entropy(self.batch_size, self.gamma)
        with self.services.timer.time_networks():
            step = learner.updates
            loss = metrics[0] + metrics[1] - self.entropy_coef.value(step) * metrics[2]
            learning_rates = self.actor_lr.value(step), self.critic_lr.value(step)
            norm = learner.take_step_and_move_targets(loss, *learning_rates, self.tau)
        return metrics.detach(), norm

    def _sync_copied_actor(self) -> None:
        if self._copied_actor is not None:
            self._copied_actor.load_state_dict(self._actor.state_dict())

    def _compute_metrics(
        self, step_metrics: list[tuple[Tensor, Tensor]], learner: OffPolicyActorCritic
    ) -> dict[str, float]:
        metrics = {"schedule/epsilon": self._epsilon, "memory/replay": learner.buffer.fill_fraction}
        if step_metrics:
            names = ("loss/critic", "loss/actor", "policy/entropy")
            losses, norms = (torch.stack(parts) for parts in zip(*step_metrics, strict=True))
            means = losses.mean(0) / learner.buffer.replicas
            metrics |= dict(zip(names, means.tolist(), strict=True))
            metrics["gradient/norm"] = norms.mean().item()
        return metrics

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            **self._networks,
            **{f"learner_{i}": learner for i, learner in enumerate(self._learners)},
            "copied_actor": self._copied_actor,
            "weight_average": self._weight_ema,
            "opponent_pool": self._opponent_pool,
        }
