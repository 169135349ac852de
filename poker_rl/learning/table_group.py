"""Tables that a rollout advances together, and the batch of decisions that they fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from poker_rl.games.tables import Tables
from poker_rl.learning.cuda_graphs import CapturedStep


@dataclass
class StepBatch:
    """Decisions at T tables in R rows of cells, in tensors on the networks' device.

    Row i < seats has the decision of seat i that is carried over from the previous batch, if any.
    Row seats + j has the decision at step j, if a learning agent decided there.
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
    is_over: Tensor  # whether the hand ended at this step [steps, T] bool
    payoffs: Tensor  # chips won by each seat where a hand ended [steps, T, seats] int64


class TableGroup:
    """Adjacent tables of a rollout that advance together, and buffers for their next decisions.

    Attributes:
        columns: slice of these tables in the rollout, and of the batch's columns that they fill.
        tables: the tables; they share the memory of the rollout's tables.
        is_decision: whether a learning agent decides, [B].
        opponent_rows, opponent_actions: tables at which opponents act, and their actions.
        observation, mask, uniform, is_learner, replica: inputs of the networks, [B, ...]; `uniform`
            holds random numbers in [0, 1) to sample the actions with.
        on_device: copies of the inputs on the device, and the `row` of the batch to fill, [1].
    """

    tables: Tables
    sample: CapturedStep  # samples actions on a GPU

    def __init__(self, columns: slice, batch: StepBatch, device: torch.device) -> None:
        self.columns, self.rows = columns, np.arange(columns.start, columns.stop)
        inputs = {
            "observation": batch.observation[0, columns],
            "mask": batch.mask[0, columns],
            "uniform": batch.log_prob[0, columns],
            "is_learner": batch.is_learner[0, columns],
            "replica": batch.replica[0, columns],
        }
        self.host = {name: allocate_on_host(like) for name, like in inputs.items()}
        self.host_action = allocate_on_host(batch.action[0, columns])
        self.observation, self.mask, self.uniform, self.is_learner, self.replica = (
            tensor.numpy() for tensor in self.host.values()
        )
        self.action = self.host_action.numpy()
        self.on_device = {name: torch.zeros_like(like) for name, like in inputs.items()}
        self.on_device["row"] = torch.zeros(1, dtype=torch.int64, device=device)
        self.is_learner[:] = True
        self.is_decision = np.ones(len(self.rows), bool)
        self.seat = np.zeros(len(self.rows), np.int64)
        self.opponent_rows = self.opponent_actions = np.zeros(0, np.int64)
        self.stream: Any = torch.cuda.Stream() if device.type == "cuda" else None  # type: ignore[no-untyped-call]


def allocate_on_host(like: Tensor) -> Tensor:
    """Return zeros in main memory like a tensor, pinned for copies in parallel if on a GPU."""
    tensor = torch.zeros(like.shape, dtype=like.dtype)
    return tensor.pin_memory() if like.device.type == "cuda" else tensor
