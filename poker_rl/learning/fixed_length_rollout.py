"""Rollouts of a fixed number of actions at every table, in tensors of fixed shape.

On a GPU, two groups of tables can take turns: while the GPU chooses the actions of one group, the
CPU plays those of the other. Decisions stay on the device, in tensors that keep their addresses, so
a GPU can replay the work of a step as a CUDA graph (see `CapturedStep`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.learning.cuda_graphs import CapturedStep
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.rollout import DecisionsToMake
from poker_rl.nets.action_probs import sample_actions_without_waiting
from poker_rl.nets.replicas import forward_by_replica

# Columns of `FixedLengthBatch` that the CPU fills during play.
CPU_COLUMNS = ("hidden_cards", "seat", "replica", "is_decision", "is_learner", "is_over", "payoffs")
# Columns of pending decisions that are copied into the next batch.
CARRIED = ["observation", "hidden_cards", "mask", "action", "log_prob", "replica", "is_learner"]


@dataclass
class FixedLengthBatch:
    """Decisions at T tables in R = seats + steps rows, at most one in each cell [row, table].

    Row i < seats: the last decision of seat i in the previous batch, if it was pending (the batch
    ended before the seat's next decision and before the end of the hand). Row seats + j: the
    decision at step j, if a learning agent made it. W counts the features of an observation, A
    actions, H the numbers that stand for the hidden cards.
    """

    observation: Tensor  # [R, T, W]
    hidden_cards: Tensor  # the other players' cards [R, T, H] uint8; H = 0 if not shown
    mask: Tensor  # legal actions [R, T, A] bool
    action: Tensor  # [R, T] int64
    log_prob: Tensor  # log-probability of the action in the policy that took it [R, T] float32
    seat: Tensor  # seat that acted [R, T] int64
    replica: Tensor  # network replica that decided [R, T] int64
    is_decision: Tensor  # whether the cell holds a decision [R, T] bool
    is_learner: Tensor  # whether the networks learn from the decision [R, T] bool
    is_over: Tensor  # whether the hand ended with the action of this step [steps, T] bool
    payoffs: Tensor  # chips won by each seat where a hand ended [steps, T, seats] int64


class TableGroup:
    """B adjacent tables of a rollout that advance together, and buffers for their next decisions.

    Attributes:
        table_slice, rows: indices of these tables in the rollout and in the table axis of the
            batch, as a slice and as an array [B].
        opponent_rows: indices within the group of the tables where an opponent acts.
        observation, mask, is_learner, replica, uniform: inputs of the networks for each table, in
            main memory; `uniform` has random numbers in [0, 1) from which actions are sampled.
        on_device: the same inputs on the networks' device; `row` [1] is the row of the batch to
            fill next.
    """

    tables: Tables  # shares the memory of the rollout's tables
    sample: CapturedStep  # samples actions on a GPU

    def __init__(self, table_slice: slice, batch: FixedLengthBatch, device: torch.device) -> None:
        self.table_slice, self.rows = table_slice, np.arange(table_slice.start, table_slice.stop)
        names = ("observation", "mask", "is_learner", "replica")
        inputs = {name: getattr(batch, name)[0, table_slice] for name in names}
        inputs["uniform"] = batch.log_prob[0, table_slice]
        self.host = {name: _create_zeros_on_host(like) for name, like in inputs.items()}
        self.host_action = _create_zeros_on_host(batch.action[0, table_slice])
        self.observation, self.mask, self.is_learner, self.replica, self.uniform = (
            tensor.numpy() for tensor in self.host.values()
        )
        self.action = self.host_action.numpy()
        self.on_device = {name: torch.zeros_like(like) for name, like in inputs.items()}
        self.on_device["row"] = torch.zeros(1, dtype=torch.int64, device=device)
        self.is_learner[:] = True
        self.seat = np.zeros(len(self.rows), np.int64)
        self.opponent_rows = self.opponent_actions = np.zeros(0, np.int64)
        self.stream: Any = torch.cuda.Stream() if device.type == "cuda" else None  # type: ignore[no-untyped-call]


class FixedLengthRollout:
    """Rollout that takes `steps` actions at every table of `services.rollout`.

    The network `actor` chooses the actions. `groups` is the number of groups of tables that take
    turns; None: 2 on a GPU with a single replica, else 1.

    Attributes:
        batch: the decisions of the latest `play`; each `play` overwrites the same tensors.
        non_learning_network: network that decides in the seats that do not learn in a hand; None if
            all seats learn.
    """

    def __init__(
        self, services: LearnerServices, steps: int, actor: nn.Module, groups: int | None = None
    ) -> None:
        self._services, self._rollout = services, services.rollout
        self._steps, self._actor = steps, actor
        self.non_learning_network: nn.Module | None = None
        device = services.device
        table_count, seats = self._rollout.agent_of_seat.shape
        self._seats = seats

        def allocate(dtype: torch.dtype, *shape: int, rows: int = seats + steps) -> Tensor:
            return torch.zeros(rows, table_count, *shape, dtype=dtype, device=device)

        self.batch = FixedLengthBatch(
            observation=allocate(services.input_dtype, services.input_size),
            hidden_cards=allocate(torch.uint8, services.hidden_card_size),
            mask=allocate(torch.bool, services.game.action_count),
            action=allocate(torch.int64),
            log_prob=allocate(torch.float32),
            seat=allocate(torch.int64),
            replica=allocate(torch.int64),
            is_decision=allocate(torch.bool),
            is_learner=allocate(torch.bool),
            is_over=allocate(torch.bool, rows=steps),
            payoffs=allocate(torch.int64, seats, rows=steps),
        )
        self.batch.seat[:seats] = torch.arange(seats, device=device)[:, None]
        # Cells without a decision may pad minibatches; without a legal action, they would give NaN.
        self.batch.mask.fill_(True)
        # The CPU fills these tensors [steps, T, ...]; at its end, `play` copies them to the device.
        self._host = {
            name: _create_zeros_on_host(getattr(self.batch, name)[-steps:]) for name in CPU_COLUMNS
        }
        self._columns = {name: tensor.numpy() for name, tensor in self._host.items()}
        self._rows = torch.arange(seats + steps, device=device)[:, None]
        self._tables = torch.arange(table_count, device=device)
        if groups is None:
            groups = 2 if device.type == "cuda" and services.replicas == 1 else 1
        bounds = [i * table_count // groups for i in range(groups + 1)]
        self._groups = [TableGroup(slice(*pair), self.batch, device) for pair in pairwise(bounds)]
        for group in self._groups:
            sample = partial(self._sample_on_device, group)
            group.sample = CapturedStep(sample, device, is_capturable=services.has_equal_blocks)
        self._captured_carry = CapturedStep(self._carry_pending_decisions, device)
        # Whether `_share_tables_with_groups` has connected the groups to the rollout's tables
        self._is_bound = False

    def play(self) -> None:
        """Play `steps` actions at every table, with a new deal where a hand ends; fill `batch`."""
        if not self._is_bound:
            self._share_tables_with_groups()
        self._captured_carry()
        for group in self._groups:
            group.on_device["row"].fill_(self._seats)
            if group.stream is not None:
                group.stream.wait_stream(torch.cuda.current_stream())
        for step in range(self._steps):
            for group in self._groups:
                if step:
                    self._play_sampled_actions(group, step - 1)
                self._start_step(group, step)
        for group in self._groups:
            self._play_sampled_actions(group, self._steps - 1)
            if group.stream is not None:
                torch.cuda.current_stream().wait_stream(group.stream)
        for name, tensor in self._host.items():
            getattr(self.batch, name)[-self._steps :].copy_(tensor, non_blocking=True)

    def _share_tables_with_groups(self) -> None:
        """Let the groups share the memory of the rollout's tables; deal hands if none was dealt."""
        rollout = self._rollout
        if rollout.tables.records["over"].any():
            rollout.deal_hands(np.arange(len(rollout.agent_of_seat)))
        for group in self._groups:
            records = rollout.tables.records[group.table_slice]
            group.tables = tables_from_records(rollout.game, records)
            group.seat[:] = records["to_act"]
            group.mask[:] = group.tables.legal_mask()
            if rollout.encode_observations is None:
                group.observation[:] = group.tables.observe()
        self._is_bound = True

    def _carry_pending_decisions(self) -> None:
        """Copy the last decision of each seat i, if it is pending, to row i of the batch."""
        batch, seats, rows = self.batch, self._seats, self._rows
        # Row of the last step that ended a hand, or -1, [T]
        last_end = torch.where(batch.is_over, rows[seats:], -1).amax(0)
        is_own = batch.is_decision & (batch.seat == rows[:seats, :, None])  # [seats, R, T]
        last_row = torch.where(is_own, rows, -1).amax(1)  # [seats, T]
        is_pending = last_row > last_end
        cell = (torch.where(is_pending, last_row, 0) * len(self._tables) + self._tables).flatten()
        for name in CARRIED:
            column = getattr(batch, name)
            carried = column.flatten(0, 1).index_select(0, cell)
            column[:seats] = carried.view(seats, len(self._tables), *column.shape[2:])
        batch.is_decision[:seats] = is_pending

    def _start_step(self, group: TableGroup, step: int) -> None:
        """Encode a group's next decisions, and start to sample their actions."""
        rollout, rows, seat = self._rollout, group.rows, group.seat
        if rollout.encode_observations is not None:
            self._services.encoder.encode_into(group.tables, group.observation)
        uses_agents = rollout.opponents is not None or rollout.assign_replicas is not None
        agent = rollout.agent_of_seat[rows, seat] if uses_agents else seat  # seat is a placeholder
        parts = rows, seat, agent, group.observation, group.mask, group.replica
        decisions = DecisionsToMake(*parts, rollout.tables)
        is_decision, is_opponent = rollout.find_decisions_and_opponents(agent, group.mask)
        if rollout.opponents is not None:
            group.opponent_rows = np.flatnonzero(is_opponent)
            group.opponent_actions = rollout.opponents.sample_actions(
                rows[group.opponent_rows], group.mask[group.opponent_rows]
            )
        columns = {name: column[step, group.table_slice] for name, column in self._columns.items()}
        columns["seat"][:], columns["is_decision"][:] = seat, is_decision
        if rollout.assign_replicas is not None:
            columns["replica"][:] = group.replica[:] = rollout.assign_replicas(decisions)
        if rollout.sample_learning_seats is not None:
            group.is_learner[:] = rollout.is_learning_seat[rows, seat]
        columns["is_learner"][:] = group.is_learner
        if rollout.encode_hidden_cards is not None:
            columns["hidden_cards"][:] = rollout.encode_hidden_cards(group.tables.records)
        self._services.generator.random(out=group.uniform, dtype=np.float32)
        if self._services.device.type == "cpu":
            self._sample_on_cpu(group, decisions, is_decision, step)
        else:
            timing = self._services.timer.time_networks(group.stream)
            with torch.cuda.stream(group.stream), timing:
                group.sample()

    def _sample_on_cpu(
        self, group: TableGroup, decisions: DecisionsToMake, is_decision: np.ndarray, step: int
    ) -> None:
        """Sample the actions of learning agents at step `step`; write them into the batch."""
        group.action[:] = group.mask.argmax(1)  # for forced moves, the only legal action
        log_prob = np.zeros(len(group.rows), np.float32)
        parts = [(self._actor, is_decision & group.is_learner)]
        if self.non_learning_network is not None:
            parts.append((self.non_learning_network, is_decision & ~group.is_learner))
        for module, part in parts:
            if part.any():
                own = decisions if part.all() else decisions.select_rows(part)
                group.action[part], log_prob[part] = self._services.sample_actions(
                    module, own, group.uniform[part]
                )
        row = self._seats + step
        self.batch.observation[row, group.table_slice] = group.host["observation"]
        self.batch.mask[row, group.table_slice] = group.host["mask"]
        self.batch.action[row, group.table_slice] = group.host_action
        self.batch.log_prob[row, group.table_slice] = torch.from_numpy(log_prob)

    @torch.no_grad()
    def _sample_on_device(self, group: TableGroup) -> None:
        """Sample actions at all tables of a group; write them into the batch's next row."""
        inputs = group.on_device
        names = ["observation", "mask", "uniform"]
        names += ["is_learner"] * (self.non_learning_network is not None)
        names += ["replica"] * (not self._services.has_equal_blocks)
        for name in names:
            inputs[name].copy_(group.host[name], non_blocking=True)
        replica = None if self._services.has_equal_blocks else inputs["replica"]
        logits = forward_by_replica(self._actor, inputs["observation"], replica)
        if self.non_learning_network is not None:
            others = forward_by_replica(self.non_learning_network, inputs["observation"], replica)
            logits = torch.where(inputs["is_learner"][:, None], logits, others)
        action, log_prob = sample_actions_without_waiting(logits, inputs["mask"], inputs["uniform"])
        results = {name: inputs[name] for name in ("observation", "mask")}
        for name, values in (results | {"action": action, "log_prob": log_prob}).items():
            column = getattr(self.batch, name)[:, group.table_slice]
            column.index_copy_(0, inputs["row"], values[None])
        inputs["row"].add_(1)
        group.host_action.copy_(action, non_blocking=True)

    def _play_sampled_actions(self, group: TableGroup, step: int) -> None:
        """Play the actions sampled for a group; record hands that end, and deal new ones."""
        if group.stream is not None:
            group.stream.synchronize()
        rollout, cells = self._rollout, (step, group.table_slice)
        group.action[group.opponent_rows] = group.opponent_actions
        is_over, payoffs = self._columns["is_over"][cells], self._columns["payoffs"][cells]
        observation = group.observation if rollout.encode_observations is None else None
        group.tables.step_autoreset(
            group.action, group.seat, observation, group.mask, payoffs, is_over.view(np.uint8)
        )
        ended = group.rows[is_over]
        if len(ended):
            rollout.accumulate_hand_results(ended, payoffs[is_over])
            rollout.seat_agents(ended)

    def state_dict(self) -> dict[str, Any]:
        """Return the next batch's first rows, which hold the pending decisions, [seats, T, ...]."""
        self._captured_carry()
        columns = {name: getattr(self.batch, name) for name in (*CARRIED, "is_decision")}
        return {name: column[: self._seats].cpu().clone() for name, column in columns.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`; the services, which hold the tables, must be restored first."""
        self.batch.is_decision.zero_()
        self.batch.is_over.zero_()
        for name, column in state.items():
            getattr(self.batch, name)[: self._seats].copy_(column)
        self._is_bound = False


def _create_zeros_on_host(like: Tensor) -> Tensor:
    """Return zeros in main memory with the shape of `like`; pinned memory if `like` is on a GPU."""
    tensor = torch.zeros(like.shape, dtype=like.dtype)
    return tensor.pin_memory() if like.device.type == "cuda" else tensor
