"""Network inputs whose equal rows are computed only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.game import hash_bytes, jit
from poker_rl.nets.dense import compute_all_or_legal_logits
from poker_rl.nets.legal_output_layer import LegalActions
from poker_rl.nets.replicas import count_replicas, forward_by_replica

DUPLICATE_PROBE_ROWS = 256  # rows examined to estimate whether equal rows are common


class DeduplicatedInputs:
    """Network inputs of N decisions, [N, W], whose equal rows are computed only once.

    In small games many rows are equal. If it saves work, networks run only on the U distinct rows;
    outputs and gradients are equal up to rounding. Only NumPy arrays are searched for equal rows.
    """

    def __init__(self, rows: np.ndarray | Tensor, device: torch.device) -> None:
        self.rows = torch.as_tensor(rows).to(device)  # [N, W]
        self.distinct_index: Tensor | None = None  # index in `distinct_rows` [N]; None: unused
        self.distinct_rows = self.rows[:0].float()  # [U, W]
        if isinstance(rows, Tensor):  # from a GPU, where finding equal rows takes too long
            return
        probe = rows[:DUPLICATE_PROBE_ROWS]
        if len(find_distinct_rows(probe)[0]) < len(probe) / 2:
            first_rows, distinct_index = find_distinct_rows(rows)
            self.distinct_rows = torch.from_numpy(rows[first_rows]).to(device).float()
            self.distinct_index = torch.from_numpy(distinct_index).to(device)

    def forward_all(
        self, module: nn.Module, replica: Tensor | None, legal: LegalActions | None = None
    ) -> Tensor:
        """Return the network's outputs [N, outputs]; with `legal`, only for legal actions, [N, L].

        Replica `replica[i]` computes row i. `replica` [N] may be None if the rows are K blocks of
        equal size, one for each replica.
        """
        replicas, distinct_count = count_replicas(module), len(self.distinct_rows)
        saves_work = replicas * distinct_count < len(self.rows)
        if legal is not None or self.distinct_index is None or not saves_work:
            return forward_by_replica(module, self.rows, replica, legal)
        if replica is None:
            replica = torch.arange(replicas, device=self.rows.device)
            replica = replica.repeat_interleave(len(self.rows) // replicas)
        out: Tensor = module(self.distinct_rows.expand(replicas, -1, -1))  # [K, U, out]
        return out.flatten(0, 1).index_select(0, replica * distinct_count + self.distinct_index)

    def forward_rows(
        self, module: nn.Module, index: Tensor, legal: LegalActions | None = None
    ) -> Any:
        """Return the outputs [K, B, outputs]; replica k computes the B rows `index[k]`.

        With `legal`, return only the outputs of legal actions, [K, B, L]. For a `NetworkPair`,
        return a tuple of both networks' outputs; `legal` then limits only those of the first.
        """
        if legal is None and self.distinct_index is not None:
            if len(index) == 1:
                distinct_row, position = self.distinct_index[index[0]].unique(return_inverse=True)  # type: ignore[no-untyped-call]
                outputs = module(self.distinct_rows[distinct_row][None])
                return _apply_to_outputs(lambda out: out[:, position], outputs)
            if len(self.distinct_rows) < index.shape[1]:
                outputs = module(self.distinct_rows.expand(len(index), -1, -1))  # [K, U, out]
                rows = self.distinct_index[index][..., None]
                return _apply_to_outputs(
                    lambda out: out.gather(1, rows.expand(-1, -1, out.shape[2])), outputs
                )
        inputs = self.rows[index]
        if inputs.device.type != "cpu":
            inputs = inputs.float()  # converted once for both networks of a `NetworkPair`
        return compute_all_or_legal_logits(module, inputs, legal)


def _apply_to_outputs(function: Callable[[Tensor], Tensor], outputs: Any) -> Any:
    """Apply a function to the output of a network, or to both outputs of a `NetworkPair`."""
    return tuple(map(function, outputs)) if isinstance(outputs, tuple) else function(outputs)


def find_distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows; return each group's first row [U] and each row's group [N], as indices."""
    first_rows, groups = _group_equal_rows(np.ascontiguousarray(rows).view(np.uint8))
    return first_rows, groups


@jit
def _group_equal_rows(rows):  # type: ignore[no-untyped-def]
    """Implement `find_distinct_rows` for rows of bytes, with a hash table."""
    first_rows, distinct_index = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    size = 1
    while size < 2 * len(rows):
        size *= 2
    row_of_slot = np.full(size, -1)  # index of the distinct row in each slot of the hash table
    distinct_count = 0
    for i in range(len(rows)):
        hash_bits = hash_bytes(rows[i], np.uint64(0))
        slot = np.int64(hash_bits >> np.uint64(32)) & (size - 1)
        while row_of_slot[slot] >= 0:
            other_row, is_equal = first_rows[row_of_slot[slot]], True
            for j in range(rows.shape[1]):
                is_equal &= rows[i, j] == rows[other_row, j]
            if is_equal:
                break
            slot = (slot + 1) & (size - 1)
        if row_of_slot[slot] < 0:
            row_of_slot[slot] = distinct_count
            first_rows[distinct_count] = i
            distinct_count += 1
        distinct_index[i] = row_of_slot[slot]
    return first_rows[:distinct_count], distinct_index
