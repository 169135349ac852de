"""Rollouts of a fixed number of actions at every table, in tensors of fixed shape.

On a GPU two groups of tables take turns: while the GPU chooses the actions of one group, the CPU
plays those of the other. Decisions stay on the device, in tensors that keep their addresses, so a
GPU can replay the work of a step as a CUDA graph (see `CapturedStep`).
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.game import jit
from poker_rl.games.tables import tables_from_records
from poker_rl.learning.cuda_graphs import CapturedStep
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.rollout import NO_ROW, DecisionsToMake
from poker_rl.learning.table_group import StepBatch, TableGroup, allocate_on_host
from poker_rl.nets.action_probs import sample_legal_action
from poker_rl.nets.replicas import forward_by_replica

# Columns of `StepBatch` that the CPU writes in play, and those of a decision that is carried over.
CPU_COLUMNS = ("hidden_cards", "seat", "replica", "is_decision", "is_learner", "is_over", "payoffs")
CARRIED = ["observation", "hidden_cards", "mask", "action", "log_prob", "replica", "is_learner"]


class FixedLengthRollout:
    """Rollout that plays a fixed number of actions at every table of `services.rollout`.

    Attributes:
        batch: the decisions of the last `play`; its tensors keep their addresses.
        non_learning_network: network that plays in seats that do not learn.
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
        self._last_row = np.full((table_count, seats), NO_ROW)  # of each seat's last decision

        def allocate(dtype: torch.dtype, *shape: int, rows: int = seats + steps) -> Tensor:
            return torch.zeros(rows, table_count, *shape, dtype=dtype, device=device)

        self.batch = StepBatch(
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
        # Cells without a decision may pad minibatches. A policy without legal actions would be NaN.
        self.batch.mask.fill_(True)
        # The CPU writes into these tensors; at the end of `play` they are copied to the device.
        self._host = {
            name: allocate_on_host(getattr(self.batch, name)[-steps:]) for name in CPU_COLUMNS
        }
        self._columns = {name: tensor.numpy() for name, tensor in self._host.items()}
        self._host_last_row = allocate_on_host(self.batch.seat[:seats])
        self._last_row_on_device = torch.zeros_like(self.batch.seat[:seats])
        self._table_index = torch.arange(table_count, device=device)
        if groups is None:
            groups = 2 if device.type == "cuda" and services.replicas == 1 else 1
        bounds = [i * table_count // groups for i in range(groups + 1)]
        self._groups = [TableGroup(slice(*pair), self.batch, device) for pair in pairwise(bounds)]
        has_fixed_shape = services.has_equal_blocks
        for group in self._groups:
            sample = partial(self._sample_on_device, group)
            group.sample = CapturedStep(sample, device, is_capturable=has_fixed_shape)
        self._captured_carry = CapturedStep(self._carry_on_device, device)
        self._is_bound = False  # whether `_bind_tables` has connected the groups to the tables

    def play(self) -> None:
        """Play `steps` actions at every table, with a new deal where a hand ends."""
        if not self._is_bound:
            self._bind_tables()
        self._carry_pending_decisions()
        for group in self._groups:
            group.on_device["row"].fill_(self._seats)
            if group.stream is not None:
                group.stream.wait_stream(torch.cuda.current_stream())
        for step in range(self._steps):
            for group in self._groups:
                if step:
                    self._finish_step(group, step - 1)
                self._start_step(group, step)
        for group in self._groups:
            self._finish_step(group, self._steps - 1)
            if group.stream is not None:
                torch.cuda.current_stream().wait_stream(group.stream)
        for name, tensor in self._host.items():
            getattr(self.batch, name)[-self._steps :].copy_(tensor, non_blocking=True)

    def _bind_tables(self) -> None:
        """Let the groups use the memory of the rollout's tables; deal if no hand is in play."""
        rollout = self._rollout
        if rollout.tables.records["over"].any():
            rollout.deal_hands(np.arange(len(self._last_row)))
        for group in self._groups:
            records = rollout.tables.records[group.columns]
            group.tables = tables_from_records(rollout.game, records)
            group.seat[:] = records["to_act"]
            group.mask[:] = group.tables.legal_mask()
            if rollout.encode_observations is None:
                group.observation[:] = group.tables.observe()
        self._is_bound = True

    def _carry_pending_decisions(self) -> None:
        """Move the pending decisions into the first rows of the batch."""
        self._host_last_row.numpy()[:] = self._last_row.T
        self._captured_carry()
        self._last_row = np.where(self._last_row == NO_ROW, NO_ROW, np.arange(self._seats))

    def _carry_on_device(self) -> None:
        last_row = self._last_row_on_device
        last_row.copy_(self._host_last_row, non_blocking=True)
        seats, table_count = last_row.shape
        cell = (last_row.clamp(min=0) * table_count + self._table_index).flatten()
        for name in CARRIED:
            column = getattr(self.batch, name)
            carried = column.flatten(0, 1).index_select(0, cell)
            column[:seats] = carried.view(seats, table_count, *column.shape[2:])
        self.batch.is_decision[:seats] = last_row != NO_ROW

    def _start_step(self, group: TableGroup, step: int) -> None:
        """Encode a group's next decisions, and start sampling its actions."""
        rollout, rows, seat = self._rollout, group.rows, group.seat
        if rollout.encode_observations is not None:
            self._services.encoder.encode_into(group.tables, group.observation)
        uses_agents = rollout.opponents is not None or rollout.assign_replicas is not None
        agent = rollout.agent_of_seat[rows, seat] if uses_agents else seat  # a lookup takes time
        parts = rows, seat, agent, group.observation, group.mask, group.replica
        decisions = DecisionsToMake(*parts, rollout.tables)
        group.is_decision, is_opponent = rollout.find_deciders(agent, group.mask)
        if rollout.opponents is not None:
            group.opponent_rows = np.flatnonzero(is_opponent)
            group.opponent_actions = rollout.opponents.sample_actions(
                rows[group.opponent_rows], group.mask[group.opponent_rows]
            )
        columns = {name: column[step, group.columns] for name, column in self._columns.items()}
        columns["seat"][:], columns["is_decision"][:] = seat, group.is_decision
        if rollout.assign_replicas is not None:
            columns["replica"][:] = group.replica[:] = rollout.assign_replicas(decisions)
        if rollout.sample_learning_seats is not None:
            group.is_learner[:] = rollout.is_learning_seat[rows, seat]
        columns["is_learner"][:] = group.is_learner
        if rollout.encode_hidden_cards is not None:
            columns["hidden_cards"][:] = rollout.encode_hidden_cards(group.tables.records)
        self._services.generator.random(out=group.uniform, dtype=np.float32)
        if self._services.device.type == "cpu":
            self._sample_on_cpu(group, decisions, step)
        else:
            timing = self._services.timer.time_networks(group.stream)
            with torch.cuda.stream(group.stream), timing:
                group.sample()

    def _sample_on_cpu(self, group: TableGroup, decisions: DecisionsToMake, step: int) -> None:
        """Sample the actions of learning agents; write the decisions into the batch."""
        group.action[:] = group.mask.argmax(1)  # for forced moves, the only legal action
        log_prob = np.zeros(len(group.rows), np.float32)
        parts = [(self._actor, group.is_decision & group.is_learner)]
        if self.non_learning_network is not None:
            parts.append((self.non_learning_network, group.is_decision & ~group.is_learner))
        for module, part in parts:
            if part.any():
                own = decisions if part.all() else decisions.select_rows(part)
                group.action[part], log_prob[part] = self._services.sample_actions(
                    module, own, group.uniform[part]
                )
        row = self._seats + step
        self.batch.observation[row, group.columns] = group.host["observation"]
        self.batch.mask[row, group.columns] = group.host["mask"]
        self.batch.action[row, group.columns] = group.host_action
        self.batch.log_prob[row, group.columns] = torch.from_numpy(log_prob)

    @torch.no_grad()
    def _sample_on_device(self, group: TableGroup) -> None:
        """Sample actions at all tables of a group; write the decisions into the batch."""
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
        action, log_prob = sample_legal_action(logits, inputs["mask"], inputs["uniform"])
        for column, values in (
            (self.batch.observation, inputs["observation"]),
            (self.batch.mask, inputs["mask"]),
            (self.batch.action, action),
            (self.batch.log_prob, log_prob),
        ):
            column[:, group.columns].index_copy_(0, inputs["row"], values[None])
        inputs["row"].add_(1)
        group.host_action.copy_(action, non_blocking=True)

    def _finish_step(self, group: TableGroup, step: int) -> None:
        """Play the actions that the networks have chosen; deal where a hand ends."""
        if group.stream is not None:
            group.stream.synchronize()
        rollout, columns = self._rollout, group.columns
        group.action[group.opponent_rows] = group.opponent_actions
        seat, is_over, payoffs = (
            self._columns[name][step, columns] for name in ("seat", "is_over", "payoffs")
        )
        observation = group.observation if rollout.encode_observations is None else None
        group.tables.step_autoreset(
            group.action, group.seat, observation, group.mask, payoffs, is_over.view(np.uint8)
        )
        last_row = self._last_row[columns]
        _set_last_rows(self._seats + step, seat, group.is_decision, is_over, last_row)
        ended = group.rows[is_over]
        if len(ended):
            rollout.record_finished_hands(ended, payoffs[is_over])
            rollout.seat_agents(ended)

    def state_dict(self) -> dict[str, Any]:
        """Return the columns of the pending decisions, [seats, T, ...] each."""
        self._carry_pending_decisions()
        columns = {name: getattr(self.batch, name) for name in (*CARRIED, "is_decision")}
        return {name: column[: self._seats].cpu().clone() for name, column in columns.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`; the services must have been restored before."""
        for name in CARRIED:
            getattr(self.batch, name)[: self._seats].copy_(state[name])
        is_pending = state["is_decision"].numpy().T
        self._last_row = np.where(is_pending, np.arange(self._seats), NO_ROW)
        self._is_bound = False


@jit
def _set_last_rows(row, seat, is_decision, is_over, last_row):  # type: ignore[no-untyped-def]
    """Update the rows of the seats' last decisions, [T, seats], after a step at T tables."""
    for i in range(len(seat)):  # without branches, which would often be mispredicted
        s = seat[i]
        last_row[i, s] = row if is_decision[i] else last_row[i, s]
        for j in range(last_row.shape[1]):
            last_row[i, j] = NO_ROW if is_over[i] else last_row[i, j]
