"""Replay buffer that merges equal observations into one row with the weighted mean target.

A network fitted to such means has the same optimum as one fitted to the single items, without the
noise of sampling items. If there are more observations than the capacity, a uniform sample of them
stays, chosen by a hash of the observation. So a dropped observation is dropped whenever it is added
again, and an observation in the sample has the mean over all of its items.

Items of iteration t have weight t^power, as in linear CFR and Deep CFR (arXiv:1811.00164).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import hash_bytes, jit
from poker_rl.learning.deduplicated_inputs import find_distinct_rows
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.memory_checks import check_memory

ALWAYS_MERGE_BELOW = 100_000  # a buffer with fewer rows merges equal ones at every addition
MAX_UNMERGED_FRACTION = 1 / 8  # unmerged share of the rows above which a larger buffer merges
REPLICA_BYTES = 8  # bytes of a row's key that hold the replica
MERGE_MEMORY_FACTOR = 5  # memory needed while merging, as a multiple of the buffer's size


class TraversalDecisions(NamedTuple):
    """N decisions visited in traversals of the game tree, with targets to learn."""

    observation: np.ndarray  # W features of each decision [N, W]
    mask: np.ndarray  # which of the A actions are legal [N, A] bool
    replica: np.ndarray  # network replica that decided [N] int64
    targets: np.ndarray  # sampled regrets in chips, or probabilities of actions [N, A] float64


class TargetBatch(NamedTuple):
    """Batch of B observations (W features) and targets (for A actions) for each of K replicas."""

    observation: Tensor  # [K, B, W] uint8 if all features are 0 or 1, else float32
    mask: Tensor  # legal actions [K, B, A] bool
    target: Tensor  # [K, B, A] float32
    weight: Tensor  # weight of each row in its replica's mean error [K, B]; 0 for padding


class MergingBuffer:
    """Buffer that merges equal observations; all K replicas share its K x `capacity` rows."""

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
        self._action_count = services.game.action_count
        # The learner increments it; items added in iteration t weigh t^iteration_weight_power.
        self.iteration = 0
        self._unmerged_rows = 0  # rows added since the last merge
        self._generator = np.random.Generator(np.random.PCG64(services.sample_seed()))
        self._hash_salt = self._generator.integers(2**64, dtype=np.uint64)
        size = self._observation_size
        self._observation_bytes = -(-size // 8) if self._is_binary else 4 * size
        key_bytes = REPLICA_BYTES + self._observation_bytes - (-self._action_count // 8)
        self._replace_rows(
            np.zeros((0, key_bytes), np.uint8), np.zeros((0, self._action_count + 1))
        )
        row_bytes = key_bytes + (self._action_count + 1) * self._sums.itemsize
        self.nbytes = int((1 + MAX_UNMERGED_FRACTION) * self._capacity) * row_bytes
        setting = f"capacity: {capacity:,} observations for each of {services.replicas} networks"
        other_bytes = sum(other.nbytes for other in other_buffers)
        needed_bytes = MERGE_MEMORY_FACTOR * self.nbytes + other_bytes
        check_memory(setting, needed_bytes, torch.device("cpu"))

    def _replace_rows(self, keys: np.ndarray, sums: np.ndarray) -> None:
        """Replace the contents by N rows, and index them by replica.

        `keys` [N, bytes] encode replica, observation and mask; rows with equal keys can be merged.
        `sums` [N, A + 1] have a row's sums of weight x target by action, then its sum of weights.
        """
        self._keys, self._sums = keys, sums
        replica = keys[:, :REPLICA_BYTES].copy().view(np.int64)[:, 0]
        order = np.argsort(replica, kind="stable")
        ends = np.searchsorted(replica[order], np.arange(1, self._services.replicas))
        self._rows_by_replica = np.split(order, ends)
        self._cumulative_weights = [np.cumsum(sums[rows, -1]) for rows in self._rows_by_replica]
        self._full_batch: TargetBatch | None = None  # batch of all rows

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, decisions: TraversalDecisions) -> None:
        """Add decisions; merge equal rows if the buffer is small or has many unmerged rows."""
        count = len(decisions.replica)
        weight = float(self.iteration) ** self._iteration_weight_power
        if self._is_binary:
            observation = np.packbits(decisions.observation, axis=1)
        else:
            observation = decisions.observation.astype(np.float32).view(np.uint8)
        replica = decisions.replica.reshape(-1, 1).view(np.uint8)
        new_keys = np.hstack([replica, observation, np.packbits(decisions.mask, axis=1)])
        new_sums = np.hstack([weight * decisions.targets, np.full((count, 1), weight)])
        keys, sums = np.concatenate([self._keys, new_keys]), np.concatenate([self._sums, new_sums])
        self._unmerged_rows += count
        is_small = len(keys) < ALWAYS_MERGE_BELOW
        if is_small or self._unmerged_rows > MAX_UNMERGED_FRACTION * len(keys):
            self._unmerged_rows = 0
            first_rows, merged_row = find_distinct_rows(keys)
            keys, unmerged_sums = keys[first_rows], sums
            sums = np.zeros((len(keys), sums.shape[1]))
            np.add.at(sums, merged_row, unmerged_sums)
            if len(keys) > self._capacity:
                priorities = _hash_priorities(keys, self._hash_salt)
                kept_rows = np.argpartition(priorities, self._capacity)[: self._capacity]
                keys, sums = keys[kept_rows], sums[kept_rows]
        self._replace_rows(keys, sums)

    def get_or_sample_batch(self, batch_size: int) -> TargetBatch:
        """Return all rows of each replica that has at most `batch_size` rows.

        Of every other replica, sample `batch_size` rows in proportion to their weights, one from
        each of `batch_size` equal parts of the total weight, which makes gradients less noisy. A
        row that is sampled several times is in the batch once, with a weight as many times as high.
        """
        if self._full_batch is not None and self._full_batch.weight.shape[1] <= batch_size:
            return self._full_batch
        max_rows = max(map(len, self._rows_by_replica))
        rows = np.zeros((len(self._rows_by_replica), min(max_rows, batch_size)), np.int64)
        row_weights = np.zeros(rows.shape)
        for k, replica_rows in enumerate(self._rows_by_replica):
            if len(replica_rows) > batch_size:
                uniform = self._generator.random(batch_size)
                index, weight = _sample_stratified(self._cumulative_weights[k], uniform)
                replica_rows = replica_rows[index]
            else:
                weight = self._sums[replica_rows, -1]
                weight = weight / weight.sum()
            rows[k, : len(replica_rows)] = replica_rows
            row_weights[k, : len(replica_rows)] = weight
        used = slice(np.count_nonzero(row_weights, axis=1).max())
        rows, row_weights = rows[:, used], row_weights[:, used]
        keys, sums = self._keys.take(rows, 0), self._sums.take(rows, 0)
        mask_start = REPLICA_BYTES + self._observation_bytes
        observations, masks = keys[..., REPLICA_BYTES:mask_start], keys[..., mask_start:]
        if self._is_binary:
            observations = np.unpackbits(observations, axis=2, count=self._observation_size)
        else:
            observations = observations.copy().view(np.float32)
        masks = np.unpackbits(masks, axis=2, count=self._action_count).view(np.bool_)
        targets = (sums[..., :-1] / sums[..., -1:]).astype(np.float32)
        columns = observations, masks, targets, row_weights.astype(np.float32)
        batch = TargetBatch(*map(self._services.to_tensor, columns))
        if max_rows <= batch_size:
            self._full_batch = batch
        return batch

    def state_dict(self) -> dict[str, Any]:
        keys, sums = torch.from_numpy(self._keys), torch.from_numpy(self._sums)
        return {
            "iteration": self.iteration,
            "unmerged_rows": self._unmerged_rows,
            "generator": self._generator.bit_generator.state,
            "hash_salt": int(self._hash_salt),
            "rows": {"keys": keys, "sums": sums},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._generator.bit_generator.state = state["generator"]
        self.warm_start(state)

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy rows and iteration of another buffer; raise ConfigError if the rows do not fit."""
        keys, sums = (state["rows"][name].numpy() for name in ("keys", "sums"))
        self._unmerged_rows = state["unmerged_rows"]
        if len(keys) - self._unmerged_rows > self._capacity:
            problem = f"{self._capacity:,} observations, the other buffer has {len(keys):,}"
            raise ConfigError(f"capacity: {problem}")
        self._replace_rows(keys, sums)
        self.iteration = state["iteration"]
        self._hash_salt = np.uint64(state["hash_salt"])  # so the same observations are dropped


@jit
def _hash_priorities(keys, salt):  # type: ignore[no-untyped-def]
    """Return a hash in [0, 1) for each of N keys, [N]; a full buffer keeps the lowest hashes."""
    priorities = np.empty(len(keys))
    for i in range(len(keys)):
        hash_bits = hash_bytes(keys[i], salt)
        for _ in range(2):  # mixes the bits: the last bytes hardly change the upper half of FNV
            hash_bits = (hash_bits ^ (hash_bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        priorities[i] = np.float64(hash_bits >> np.uint64(11)) / 2**53
    return priorities


@jit
def _sample_stratified(cumulative_weights, uniform):  # type: ignore[no-untyped-def]
    """Divide the total weight into B equal parts, and sample a row from each part by weight.

    `uniform` [B] has a random number in [0, 1) for each part. Return the distinct rows sampled, in
    ascending order, and the share of samples of each.
    """
    rows, shares = np.empty(len(uniform), np.int64), np.zeros(len(uniform))
    row, distinct_count = 0, 0
    for i in range(len(uniform)):
        weight = (i + uniform[i]) / len(uniform) * cumulative_weights[-1]
        row += np.searchsorted(cumulative_weights[row:], weight, side="right")
        row = min(row, len(cumulative_weights) - 1)  # may be beyond the last row by rounding
        if distinct_count == 0 or rows[distinct_count - 1] != row:
            rows[distinct_count] = row
            distinct_count += 1
        shares[distinct_count - 1] += 1 / len(uniform)
    return rows[:distinct_count], shares[:distinct_count]
