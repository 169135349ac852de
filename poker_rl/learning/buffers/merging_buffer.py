"""Replay buffer that merges equal observations into one row with the weighted mean target.

A network fitted to such means has the same optimum as one fitted to the single items, without the
noise of sampling items. If there are more observations than the capacity, a uniform sample stays,
chosen by a hash of the observation: one that was dropped will be dropped whenever it is added
again, and one in the sample has the mean over all of its items.

Items of iteration t have weight t^power, as in linear CFR and Deep CFR (arXiv:1811.00164).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import hash_bytes, jit
from poker_rl.learning.external_sampling import TraversalDecisions
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.memory_checks import check_memory
from poker_rl.learning.minibatches import find_distinct_rows

ALWAYS_MERGE_BELOW = 100_000  # a buffer with fewer rows is merged at every addition
MAX_UNMERGED_FRACTION = 1 / 8  # share of new rows at which a larger buffer is merged
MERGE_MEMORY_FACTOR = 5  # memory needed while merging, as a multiple of the buffer's size


class TargetBatch(NamedTuple):
    """Observations and regression targets for K replicas."""

    observation: Tensor  # [K, B, W] uint8 if binary, else float32
    mask: Tensor  # legal actions [K, B, A] bool
    target: Tensor  # [K, B, A] float32
    weight: Tensor  # weight of each row in its replica's mean error [K, B]; 0 for padding


class MergingBuffer:
    """Buffer that merges equal observations, with up to `capacity` observations of each replica."""

    def __init__(
        self,
        services: LearnerServices,
        capacity: int,
        iteration_weight_power: float,
        *,
        other_buffers: Sequence[MergingBuffer] = (),
    ) -> None:
        self._services, self._iteration_weight_power = services, iteration_weight_power
        self._capacity = capacity * services.replicas
        self._is_binary = services.observation_column.dtype == torch.bool
        self._observation_size = services.observation_column.width or 1
        actions = services.game.action_count
        self.iteration = 0
        self._unmerged_rows = 0  # rows added since the last merge
        self._generator = np.random.Generator(np.random.PCG64(services.sample_seed()))
        self._hash_salt = self._generator.integers(2**64, dtype=np.uint64)
        packed_size = -(-self._observation_size // 8) if self._is_binary else self._observation_size
        dtype = np.uint8 if self._is_binary else np.float32
        self._rows: dict[str, np.ndarray] = {
            "replica": np.zeros(0, np.int64),
            "observation": np.zeros((0, packed_size), dtype),
            "mask": np.zeros((0, actions), np.bool_),
            "target_sum": np.zeros((0, actions)),  # weighted sum of the targets of merged items
            "weight": np.zeros(0),  # sum of the weights of merged items
            "priority": np.zeros(0),  # hash of the observation in [0, 1): the smallest stay
        }
        # Valid until rows change: row indices and weights by replica, and a batch of all rows.
        self._rows_by_replica: list[tuple[np.ndarray, np.ndarray]] | None = None
        self._full_batch: TargetBatch | None = None
        row_bytes = sum(
            part.itemsize * int(np.prod(part.shape[1:])) for part in self._rows.values()
        )
        self.nbytes = int((1 + MAX_UNMERGED_FRACTION) * self._capacity) * row_bytes
        setting = f"capacity: {capacity:,} observations for each of {services.replicas} networks"
        other_bytes = sum(other.nbytes for other in other_buffers)
        needed_bytes = MERGE_MEMORY_FACTOR * self.nbytes + other_bytes
        check_memory(setting, needed_bytes, torch.device("cpu"))

    def __len__(self) -> int:
        return len(self._rows["replica"])

    def start_iteration(self) -> None:
        """Increment the iteration that determines the weight of items added from now on."""
        self.iteration += 1

    def add(self, decisions: TraversalDecisions) -> None:
        """Add decisions; merge equal rows if the buffer is small or many rows are new."""
        if not len(decisions):
            return
        weight = float(self.iteration) ** self._iteration_weight_power
        if self._is_binary:
            observation = np.packbits(decisions.observation, axis=1)
        else:
            observation = decisions.observation.astype(np.float32)
        new_rows = {
            "replica": decisions.replica,
            "observation": observation,
            "mask": decisions.mask,
            "target_sum": weight * decisions.targets,
            "weight": np.full(len(decisions), weight),
        }
        new_rows["priority"] = _hash_priorities(_build_row_keys(new_rows), self._hash_salt)
        self._rows = {
            name: np.concatenate([part, new_rows[name]]) for name, part in self._rows.items()
        }
        self._rows_by_replica = self._full_batch = None
        self._unmerged_rows += len(decisions)
        is_small = len(self) < ALWAYS_MERGE_BELOW
        if is_small or self._unmerged_rows > MAX_UNMERGED_FRACTION * len(self):
            self._merge_equal_rows()

    def _merge_equal_rows(self) -> None:
        """Merge equal rows, then drop rows beyond the capacity."""
        rows, self._unmerged_rows = self._rows, 0
        first_rows, merged_row = find_distinct_rows(_build_row_keys(rows))
        self._rows = {name: part[first_rows] for name, part in rows.items()}
        for name in ("target_sum", "weight"):
            self._rows[name] = np.zeros_like(self._rows[name])
            np.add.at(self._rows[name], merged_row, rows[name])
        if len(first_rows) > self._capacity:
            kept_rows = np.argpartition(self._rows["priority"], self._capacity)[: self._capacity]
            self._rows = {name: part[kept_rows] for name, part in self._rows.items()}

    def get_or_sample_targets(self, batch_size: int) -> TargetBatch:
        """Return each replica's rows, or `batch_size` sampled by weight if it has more."""
        if self._full_batch is not None and self._full_batch.weight.shape[1] <= batch_size:
            return self._full_batch
        if self._rows_by_replica is None:
            replica, weight = self._rows["replica"], self._rows["weight"]
            order = np.argsort(replica, kind="stable")
            ends = np.searchsorted(replica[order], np.arange(1, self._services.replicas))
            parts = np.split(order, ends)
            self._rows_by_replica = [(part, np.cumsum(weight[part])) for part in parts]
        max_rows = max(len(replica_rows) for replica_rows, _ in self._rows_by_replica)
        rows = np.zeros((len(self._rows_by_replica), min(max_rows, batch_size)), np.int64)
        row_weights = np.zeros(rows.shape)
        for k, (replica_rows, cumulative_weight) in enumerate(self._rows_by_replica):
            if len(replica_rows) > batch_size:
                sampled_weight = self._generator.random(batch_size) * cumulative_weight[-1]
                index = np.searchsorted(cumulative_weight, sampled_weight, side="right")
                # Because of rounding, the index may be past the last row.
                rows[k] = replica_rows[np.minimum(index, len(replica_rows) - 1)]
                row_weights[k] = 1 / batch_size
            elif len(replica_rows):
                rows[k, : len(replica_rows)] = replica_rows
                weight = self._rows["weight"][replica_rows]
                row_weights[k, : len(replica_rows)] = weight / weight.sum()
        observations = self._rows["observation"][rows]
        if self._is_binary:
            observations = np.unpackbits(observations, axis=2, count=self._observation_size)
        mean = self._rows["target_sum"][rows] / self._rows["weight"][rows][..., None]
        targets, weights = mean.astype(np.float32), row_weights.astype(np.float32)
        columns = (observations, self._rows["mask"][rows], targets, weights)
        batch = TargetBatch(*map(self._services.to_tensor, columns))
        if max_rows <= batch_size:
            self._full_batch = batch
        return batch

    def state_dict(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "unmerged_rows": self._unmerged_rows,
            "generator": self._generator.bit_generator.state,
            "hash_salt": int(self._hash_salt),
            "rows": {name: torch.from_numpy(part.copy()) for name, part in self._rows.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._generator.bit_generator.state = state["generator"]
        self.warm_start(state)

    def warm_start(self, state: dict[str, Any]) -> None:
        rows = {name: state["rows"][name].numpy().copy() for name in self._rows}
        self._unmerged_rows = state["unmerged_rows"]
        if len(rows["replica"]) - self._unmerged_rows > self._capacity:
            problem = f"{self._capacity:,} observations, the other buffer has"
            raise ConfigError(f"capacity: {problem} {len(rows['replica']):,}")
        self._rows, self.iteration = rows, state["iteration"]
        self._rows_by_replica = self._full_batch = None
        self._hash_salt = np.uint64(state["hash_salt"])  # dropped observations stay dropped


def _build_row_keys(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Return the bytes of replica, observation and mask, which identify a row, [N, bytes]."""
    parts = (rows["replica"], rows["observation"], np.packbits(rows["mask"], axis=1))
    byte_columns = [
        np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1) for part in parts
    ]
    return np.concatenate(byte_columns, 1)


@jit
def _hash_priorities(keys, salt):  # type: ignore[no-untyped-def]
    """Return a hash of each row, uniform in [0, 1), which decides which rows stay, [N]."""
    priorities = np.empty(len(keys))
    for i in range(len(keys)):
        hash_bits = hash_bytes(keys[i], salt)
        for _ in range(2):  # mixes the bits, since FNV leaves most entropy in the lower half
            hash_bits = (hash_bits ^ (hash_bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        priorities[i] = np.float64(hash_bits >> np.uint64(11)) / 2**53
    return priorities
