"""Circular replay buffers and reservoirs, with separate items for each network replica.

Items are rows of bytes on the networks' device, and batches are sampled there. Boolean columns are
packed, eight values to a byte: an observation of heads-up limit hold'em takes 36 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from poker_rl.config.input_checks import ConfigError
from poker_rl.learning import collectives
from poker_rl.learning.buffers.insertion_rules import InsertionRule
from poker_rl.learning.memory_checks import check_memory
from poker_rl.nets.cpu_gpu_transfers import copy_to_device

WORD_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by size in bytes
BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # [256, 8]


class Column(NamedTuple):
    """Column of a replay buffer: `width` values per item, or a single one if `width` is None."""

    dtype: torch.dtype
    width: int | None = None

    @property
    def stored_type(self) -> np.dtype:
        """NumPy type of an item's values as stored: numbers, or eight booleans to a byte."""
        if self.dtype == torch.bool:
            return np.dtype((np.uint8, (-(-(self.width or 1) // 8),)))
        shape = () if self.width is None else (self.width,)
        return np.dtype((torch.empty(0, dtype=self.dtype).numpy().dtype, shape))


class ReplayBuffer:
    """Buffer of `capacity` items for each of K replicas.

    An item is a row of bytes with the values of all `columns`. Error messages name the setting
    `capacity_key`. The constructor raises ConfigError if this buffer and `other_buffers`, which are
    on the same device, exceed the memory that `check_memory` finds there.
    """

    def __init__(
        self,
        capacity_key: str,
        capacity: int,
        insertion_rule: InsertionRule,
        columns: Mapping[str, Column],
        device: torch.device,
        seed: int,
        *,
        replicas: int = 1,
        other_buffers: Sequence[ReplayBuffer] = (),
    ) -> None:
        self.capacity, self.replicas, self._insertion_rule = capacity, replicas, insertion_rule
        self._capacity_key, self._columns, self._device = capacity_key, dict(columns), device
        self.items_added = np.zeros(replicas, np.int64)  # items ever added to each replica
        # Columns in descending order of the size of one value are aligned without gaps.
        by_size = sorted(columns.items(), key=lambda item: -item[1].dtype.itemsize)
        stored_types = [(name, column.stored_type) for name, column in by_size]
        self._item_dtype = np.dtype(stored_types, align=True)  # pads rows to whole words
        self._fields: Any = self._item_dtype.fields  # type and offset of each column
        self._bits_of_byte = torch.from_numpy(BITS_OF_BYTE).to(device, torch.bool)
        item_bytes = self._item_dtype.itemsize
        self.nbytes = replicas * capacity * item_bytes
        setting = f"{capacity_key}: {capacity:,} items of {item_bytes} bytes for each of {replicas}"
        setting += " networks" + (" and all other buffers" if other_buffers else "")
        check_memory(setting, self.nbytes + sum(other.nbytes for other in other_buffers), device)
        streams = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self._insertion_generator = np.random.Generator(np.random.PCG64(int(streams[0])))
        self.sample_generator = torch.Generator(device)
        self.sample_generator.manual_seed(int(streams[1]) >> 1)
        size = replicas * capacity, item_bytes
        if device.type == "cpu":  # zeros of NumPy take memory only once they are written to
            self._storage = torch.from_numpy(np.zeros(size, np.uint8))
        else:
            self._storage = torch.zeros(size, dtype=torch.uint8, device=device)
        # Rows of words are copied faster than rows of bytes.
        self._words = self._storage.view(WORD_TYPES[by_size[0][1].dtype.itemsize])
        self._replica_starts = torch.arange(replicas, device=device)[:, None] * capacity  # [K, 1]
        self._sizes = torch.zeros(replicas, 1, dtype=torch.float64, device=device)

    def check_min_capacity(self, setting_key: str, needed_items: int) -> None:
        """Raise ConfigError about the setting `setting_key` if `needed_items` exceed `capacity`."""
        if needed_items > self.capacity:
            raise ConfigError(
                f"{setting_key}: {needed_items:,} items are needed to learn;"
                f" {self._capacity_key} holds {self.capacity:,}"
            )

    @property
    def min_items_per_replica(self) -> int:
        """Smallest number of items that a replica in any process of the run has."""
        own_min_size = int(min(self.items_added.min(), self.capacity))
        return -collectives.max_over_processes(-own_min_size)

    @property
    def fill_fraction(self) -> float:
        """Share of slots in use, in [0, 1]."""
        return float(np.minimum(self.items_added, self.capacity).mean() / self.capacity)

    def add(self, replica: np.ndarray, **columns: np.ndarray) -> None:
        """Add N items, the oldest first; the insertion rule may drop some of them.

        `replica` [N] has the replica of each item, and each column its values, [N, width] or [N].
        """
        if not len(replica):
            return
        counts = np.bincount(replica, minlength=self.replicas)
        rank_in_replica = np.empty(len(replica), np.int64)
        starts = np.repeat(counts.cumsum() - counts, counts)
        rank_in_replica[np.argsort(replica, kind="stable")] = np.arange(len(replica)) - starts
        item_number = self.items_added[replica] + rank_in_replica
        self.items_added += counts
        generator = self._insertion_generator
        slot = self._insertion_rule.assign_slots(item_number, self.capacity, generator)
        # In reverse order, `unique` keeps the newest of several items for the same slot.
        stored_items = np.flatnonzero(slot < self.capacity)[::-1]
        stored_rows, item = np.unique(
            (replica * self.capacity + slot)[stored_items], return_index=True
        )
        if len(stored_rows):
            rows = copy_to_device(self._pack_items(columns, stored_items[item]), self._device)
            index = copy_to_device(stored_rows, self._device)
            self._words.index_copy_(0, index, rows.view(self._words.dtype))
        self._update_sizes()

    def _pack_items(self, columns: Mapping[str, np.ndarray], index: np.ndarray) -> np.ndarray:
        """Pack items `index` [N] of columns [M, width] or [M] into rows of bytes, [N, bytes]."""
        items = np.empty(len(index), self._item_dtype)
        for name, column in self._columns.items():
            part = columns[name][index]
            if column.dtype == torch.bool:
                part = np.packbits(part, axis=-1)
            elif column.dtype == torch.float16:
                part = torch.from_numpy(part).half().numpy()  # 20 times as fast as NumPy's astype
            items[name] = part
        return items.view(np.uint8).reshape(len(index), -1)

    def sample(self, batch_size: int) -> dict[str, Tensor]:
        """Sample B = `batch_size` items of each replica with replacement, [K, B, width] or [K, B].

        Return them as a dict of columns. The samples of a replica without items are zeros.
        """
        shape, generator = (self.replicas, batch_size), self.sample_generator
        uniform = torch.rand(shape, dtype=torch.float64, generator=generator, device=self._device)
        index = ((uniform * self._sizes).long() + self._replica_starts).view(-1)
        rows = self._words.index_select(0, index).view(torch.uint8)
        batch = {}
        for name, column in self._columns.items():
            part = self._view_column(rows, name)
            if column.dtype == torch.bool:
                part = embedding(part.int(), self._bits_of_byte).flatten(1)[:, : column.width]
            batch[name] = part.view(*shape, *part.shape[1:])
        return batch

    def _view_column(self, rows: Tensor, name: str) -> Tensor:
        """Return a view of the column `name` of rows [N, bytes]; booleans stay packed."""
        column, (stored_type, start) = self._columns[name], self._fields[name]
        part = rows[:, start : start + stored_type.itemsize]
        if column.dtype != torch.bool:
            part = part.view(column.dtype)
        return part[:, 0] if column.width is None else part

    def _update_sizes(self) -> None:
        sizes = np.minimum(self.items_added, self.capacity).astype(np.float64)
        self._sizes.copy_(copy_to_device(sizes[:, None], self._device))

    def state_dict(self) -> dict[str, Any]:
        """Return the items on the CPU, how many were ever added, and the generators' states."""
        parts = self._view_used_rows()
        return {
            "items_added": self.items_added.tolist(),
            "insertion_generator": self._insertion_generator.bit_generator.state,
            "sample_generator": self.sample_generator.get_state(),
            "items": {
                name: [self._view_column(part, name).cpu().clone() for part in parts]
                for name in self._columns
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`; the sampling generator only if it is from this type of device."""
        self._load_items(state)
        self._insertion_generator.bit_generator.state = state["insertion_generator"]
        if state["sample_generator"].shape == self.sample_generator.get_state().shape:
            self.sample_generator.set_state(state["sample_generator"])

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy another buffer's items; raise ConfigError if its columns or its size do not fit."""
        if state["items"].keys() != self._columns.keys():
            theirs, ours = (", ".join(names) for names in (state["items"], self._columns))
            raise ConfigError(f"{self._capacity_key}: that buffer holds {theirs}, this one {ours}")
        sizes = [len(items) for items in next(iter(state["items"].values()))]
        if sizes != [min(added, self.capacity) for added in state["items_added"]]:
            problem = f"{self.capacity:,} items, the other buffer has {max(sizes):,}"
            raise ConfigError(f"{self._capacity_key}: {problem}")
        self._load_items(state)

    def _load_items(self, state: dict[str, Any]) -> None:
        self.items_added = np.array(state["items_added"], np.int64)
        for name in self._columns:
            for part, items in zip(self._view_used_rows(), state["items"][name], strict=True):
                self._view_column(part, name).copy_(items)
        self._update_sizes()

    def _view_used_rows(self) -> list[Tensor]:
        """Return a view of each replica's rows in use, [N, bytes] each."""
        sizes = np.minimum(self.items_added, self.capacity)
        replicas = self._storage.view(self.replicas, self.capacity, -1)
        return [part[:size] for part, size in zip(replicas, sizes, strict=True)]
