"""Deep Q-learning (DQN) in self-play: each agent learns a best response to the other agents.

Mnih et al., arXiv:1312.5602, Algorithm 1, with the target network of doi:10.1038/nature14236. A
transition goes from a decision of an agent to the same agent's next decision in the hand; the other
agents' moves and the cards dealt in between are part of this agent's environment. Each iteration:

    play `rollout_steps` actions at every table, with probability epsilon random, else argmax Q
    add (s, a, r, s', legal actions at s') to the replay buffer of the agent that acted
    for each gradient step due:
        y = r / reward_scale + gamma max_a' Q_target(s', a'),  without the max if the hand ended
        minimize  (Q(s, a) - y)^2  on a batch of each agent's buffer
        every `target_update_interval` steps copy Q to Q_target

Differences: many tables are played in parallel, so all gradient steps of an iteration are taken
after its play; there are still `gradient_steps` for every `train_freq` decisions of an agent.
Learning starts when each agent has `learning_starts` transitions. All agents' networks are updated
in one call. If agents share a network and its buffer, these numbers count them as one agent. In
shapes, K counts network replicas, B the rows of each, and A actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.input_checks import (
    ConfigError,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
)
from poker_rl.config.schedules import Schedule, ScheduleOverUpdates, StepUnit
from poker_rl.learning.buffers.insertion_rules import CircularInsertion
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.cuda_graphs import CapturedStep, ParallelBranch
from poker_rl.learning.gradient_steps import CapturedUpdates, OptimizerName, ReplayOptimizer
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.rollout import HAND_ENDED, NEXT_PENDING, DecisionsToMake, RolloutBatch
from poker_rl.nets.net_interfaces import get_value_net_config
from poker_rl.players.network_player import Critic, GreedyNetworkPlayer, NetworkPlayer
from poker_rl.players.player import Player, mix_with_uniform


@dataclass(kw_only=True)
class DQN(NetworkLearner, SharingAndSeatingSettings):
    """DQN learner; `progress` counts all agents' decisions, but only one network's updates."""

    tables: PositiveInt
    rollout_steps: PositiveInt
    gradient_steps: PassCount
    train_freq: PositiveInt
    batch_size: PositiveInt
    learning_starts: PositiveInt
    replay_capacity: PositiveInt
    gamma: Probability
    epsilon: Annotated[Schedule, StepUnit("one agent's decisions")]
    target_update_interval: PositiveInt
    optimizer: OptimizerName
    lr: ScheduleOverUpdates
    max_grad_norm: PositiveFloat | None
    reward_scale: PositiveFloat
    network_sharing: Literal["shared", "per_seat", "per_agent"]
    instances: int = field(init=False, default=1)

    warm_start_parts: ClassVar = ("q", "target", "average")
    per_process_parts: ClassVar = ("services", "buffer")

    def __post_init__(self, context: LearnerContext) -> None:
        if get_value_net_config(context.net) is not context.net:
            raise ConfigError("net: has no values of actions, which Q-learning needs; try mlp_relu")
        self.services = LearnerServices(context, self, tables_per_instance=self.tables)
        game = context.game
        self._q_network, self._target_network = (
            self.services.build_network(game.action_count) for _ in range(2)
        )
        self._sync_target_network()
        columns = {
            "observation": self.services.observation_column,
            "action": Column(torch.uint8 if game.action_count <= 256 else torch.int16),
            "reward": Column(torch.float32),
            "next": self.services.observation_column,
            # legal actions at the next decision; all False if the hand ended
            "legal": Column(torch.bool, game.action_count),
        }
        storage = CircularInsertion(), columns, context.device, self.services.sample_seed()
        self._buffer = ReplayBuffer(
            "replay_capacity", self.replay_capacity, *storage, replicas=self.services.replicas
        )
        self._buffer.check_min_capacity("learning_starts", self.learning_starts)
        settings = self.optimizer, self.lr, self.max_grad_norm
        self._replay_optimizer = ReplayOptimizer(
            self._q_network, *settings, self._buffer, self.batch_size, self._compute_loss
        )
        self._updates = CapturedUpdates(
            [self._replay_optimizer], context.device, self.services.timer
        )
        self._target_branch = ParallelBranch(context.device)
        self._acting_networks = NetworkRouter([self._q_network], self.services)

    def run_iteration(self) -> dict[str, float]:
        """Play `rollout_steps` actions at every table and take the gradient steps that are due."""
        self._epsilon = self.epsilon.value(self.progress.decisions // self.services.replicas)
        updates_due = -self._count_updates_due(self.progress.decisions)
        batch = self.services.rollout.play_steps(self._choose_actions, self.rollout_steps)
        self.add_progress(self._store_transitions(batch))
        updates_due += self._count_updates_due(self.progress.decisions)
        if self._buffer.min_items_per_replica >= self.learning_starts:
            self._update_networks(updates_due)
        return self._compute_metrics()

    def players(self) -> dict[str, Player]:
        """Return "greedy", the policy that plays the action with the largest Q."""
        scale, gamma = self.reward_scale, self.gamma
        critic = self.services.build_critic_for_player(None, scale, gamma, per_action=True)
        return {"greedy": self._build_player(self._q_network, GreedyNetworkPlayer, critic)}

    def _build_player(
        self, module: nn.Module, player_class: type[NetworkPlayer], critic: Critic | None = None
    ) -> Player:
        # With shuffled seats each agent learns to play every seat, so the player is agent 0 alone.
        is_first = self.network_sharing == "per_agent" and self.seating == "shuffled"
        player = self.services.build_player(
            module, player_class, critic, instance_per_replica=is_first
        )
        return player.select_instance(0) if is_first else player

    def _count_updates_due(self, decisions: int) -> int:
        """Return how many steps each network should have taken after `decisions` in all seats."""
        period = self.train_freq * self.services.replicas * self.services.workers
        return decisions * self.gradient_steps // period

    def _choose_actions(self, rows: DecisionsToMake) -> tuple[np.ndarray, np.ndarray]:
        values = self._acting_networks.compute_outputs(rows, np.zeros(len(rows.table), np.int64))
        probs = self._compute_epsilon_greedy_probs(values, rows.mask)
        return self.services.sample_from_probs(probs)

    def _compute_epsilon_greedy_probs(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        best = np.where(mask, values, -np.inf).argmax(1)
        greedy = best[:, None] == np.arange(mask.shape[1])
        return mix_with_uniform(greedy, mask, self._epsilon)

    def _store_transitions(self, batch: RolloutBatch) -> int:
        """Add to the buffer the transitions whose next state is known; return their number."""
        rows = np.flatnonzero(batch.next_row != NEXT_PENDING)
        next_rows = batch.next_row[rows]
        not_done = (next_rows != HAND_ENDED)[:, None]
        self._buffer.add(
            batch.replica[rows],
            observation=batch.observation[rows],
            action=batch.action[rows],
            reward=batch.reward[rows] / np.float32(self.reward_scale),
            next=batch.observation[next_rows] * not_done,
            legal=batch.mask[next_rows] & not_done,
        )
        return len(rows)

    def _update_networks(self, updates: int) -> None:
        interval = self.target_update_interval
        while updates:
            steps = min(updates, interval - self.progress.updates % interval)
            self._take_gradient_steps(steps)
            self.progress.updates += steps
            updates -= steps
            if self.progress.updates % interval == 0:
                self._sync_target_network()

    def _take_gradient_steps(self, steps: int) -> None:
        self._updates.take_steps(steps)

    @torch.no_grad()
    def _sync_target_network(self) -> None:
        torch._foreach_copy_(
            list(self._target_network.parameters()), list(self._q_network.parameters())
        )

    def _compute_loss(self, batch: dict[str, Tensor]) -> Tensor:
        with self._target_branch, torch.no_grad():
            values = self._target_network(batch["next"])  # [K, B, A]
            max_values = torch.where(batch["legal"], values, -torch.inf).amax(2)
            not_done = batch["legal"].any(2)  # no action is legal where the hand ended
            td_target = batch["reward"] + self.gamma * torch.where(not_done, max_values, 0.0)
        q = self._q_network(batch["observation"]).gather(2, batch["action"].long()[..., None])
        self._target_branch.join()
        return mse_loss(q.squeeze(2), td_target, reduction="sum") / self.batch_size

    def _compute_metrics(self) -> dict[str, float]:
        return {
            **self._replay_optimizer.pop_metrics("loss/q", "gradient/norm"),
            "schedule/epsilon": self._epsilon,
            "schedule/lr": self.lr.value(self._replay_optimizer.updates),
            "memory/replay": self._buffer.fill_fraction,
        }

    def stateful_parts(self) -> dict[str, Stateful | None]:
        return {
            "q": self._q_network,
            "target": self._target_network,
            "stepper": self._replay_optimizer,
            "buffer": self._buffer,
        }


class NetworkRouter:
    """Networks of a learner, such as best response and average policy; each decision uses one.

    `modules` are the networks, of K replicas each. A GPU runs all replicas of all networks for all
    tables and selects the outputs that are needed. A CPU runs each network only for its decisions.
    """

    def __init__(self, modules: Sequence[nn.Module], services: LearnerServices) -> None:
        self._modules, self._services = modules, services
        self._captured_step: CapturedStep | None = None
        if services.device.type != "cpu":
            rows = len(services.rollout.agent_of_seat)
            self._observation = torch.zeros(
                rows, services.input_size, dtype=services.input_dtype, device=services.device
            )
            # The network and replica that compute each row: index of the network x K + replica.
            self._source = torch.zeros(rows, dtype=torch.int64, device=services.device)
            self._outputs = torch.zeros(rows, services.game.action_count, device=services.device)
            self._captured_step = CapturedStep(self._fill_outputs, services.device)

    @torch.no_grad()
    def compute_outputs(self, decisions: DecisionsToMake, network_index: np.ndarray) -> np.ndarray:
        """Return outputs [B, A] float32; `modules[network_index[i]]` computes decision i of B."""
        if self._captured_step is not None:
            count = len(network_index)
            source = network_index * self._services.replicas + decisions.replica
            self._observation[:count].copy_(torch.from_numpy(decisions.observation))
            self._source[:count].copy_(torch.from_numpy(source))
            with self._services.timer.time_networks():
                self._captured_step()
            return self._outputs[:count].cpu().numpy()
        outputs = np.empty(decisions.mask.shape, np.float32)
        for i, module in enumerate(self._modules):
            is_own = network_index == i
            if is_own.any():
                own = decisions if is_own.all() else decisions.select_rows(is_own)
                outputs[is_own] = self._services.compute_logits(module, own).cpu().numpy()
        return outputs

    @torch.no_grad()
    def _fill_outputs(self) -> None:
        x = self._observation.float().expand(self._services.replicas, -1, -1)
        outputs = torch.cat([module(x) for module in self._modules])  # [networks x K, rows, A]
        index = self._source[None, :, None].expand(1, *self._outputs.shape)
        self._outputs.copy_(outputs.gather(0, index)[0])
