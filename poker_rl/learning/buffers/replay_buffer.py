"""Circular replay buffers and reservoirs, with separate items for each network replica.

The insertion rule decides which items stay: the newest (`CircularInsertion`), a uniform sample of
all items (`UniformReservoir`, Vitter's algorithm R), or one that favors newer items
(`FlooredReservoir`, arXiv:1603.01121; `ExponentialReservoir`, Osborne et al., ACL 2014).

Items are rows of bytes on the networks' device, and batches are sampled there. Boolean columns are
packed eight to a byte: an observation of heads-up limit hold'em takes 36 bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from poker_rl.config.validation import ConfigError, PositiveShare
from poker_rl.learning import collectives
from poker_rl.learning.buffers.item_layout import Column, ItemLayout
from poker_rl.learning.memory_checks import check_memory


class InsertionRule(Protocol):
    """Rule that decides which items a buffer keeps."""

    def assign_slots(
        self, item_number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Return the slot for each new item, [N]; `capacity` or more: the item is not stored.

        `item_number` [N] is the number of items ever added before each item.
        """


@dataclass(kw_only=True, frozen=True)
class CircularInsertion:
    """Rule that keeps the newest items: each new item replaces the oldest one."""

    def assign_slots(
        self, item_number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        return item_number % capacity


class RandomSlotInsertion(ABC):
    """Rule that fills free slots, then stores each item with some probability in a random slot."""

    @abstractmethod
    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        """Return the probability with which each item is stored after the buffer is full, [N]."""

    def assign_slots(
        self, item_number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        # A uniform number u stores the item if u < p; u / p is then uniform and selects the slot.
        insertion_prob = self.compute_insertion_probs(item_number, capacity)
        slot = generator.random(len(item_number)) * (capacity / insertion_prob)
        return np.where(item_number < capacity, item_number, slot.astype(np.int64))


@dataclass(kw_only=True, frozen=True)
class UniformReservoir(RandomSlotInsertion):
    """Rule that keeps a uniform sample: item i is stored with probability capacity / i."""

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return capacity / (item_number + 1)


@dataclass(kw_only=True, frozen=True)
class FlooredReservoir(RandomSlotInsertion):
    """Rule that stores item i with probability max(capacity / i, min_insertion_prob)."""

    min_insertion_prob: PositiveShare

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return np.maximum(capacity / (item_number + 1), self.min_insertion_prob)


@dataclass(kw_only=True, frozen=True)
class ExponentialReservoir(RandomSlotInsertion):
    """Rule that stores each item with probability p after the buffer is full.

    The ages of the stored items have a geometric distribution with mean capacity / p.
    """

    insertion_prob: PositiveShare

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return np.full(len(item_number), self.insertion_prob)


class ReplayBuffer:
    """Buffer of `capacity` items for each of K replicas; adding is O(1) per item.

    Args:
        capacity_key: the setting that holds `capacity`, for error messages.
        device: where the items are stored.
        other_buffers: other buffers on the same device, which the memory check includes.

    Attributes:
        items_added: number of items ever added to each replica, [K] int64.
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
        self.capacity, self.replicas, self.insertion_rule = capacity, replicas, insertion_rule
        self._capacity_key = capacity_key
        self.items_added = np.zeros(replicas, np.int64)
        self._layout, self._device = ItemLayout(columns, device), device
        item_bytes = self._layout.dtype.itemsize
        self.nbytes = replicas * capacity * item_bytes
        setting = f"{capacity_key}: {capacity:,} items of {item_bytes} bytes for each of {replicas}"
        setting += " networks" + (" and all other buffers" if other_buffers else "")
        check_memory(setting, self.nbytes + sum(other.nbytes for other in other_buffers), device)
        streams = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self._insertion_generator = np.random.Generator(np.random.PCG64(int(streams[0])))
        self.sample_generator = torch.Generator(device)
        self.sample_generator.manual_seed(int(streams[1]) >> 1)
        self._storage = _allocate_lazy_zeros((replicas * capacity, item_bytes), device)
        self._words = self._storage.view(self._layout.word)
        self._replica_starts = torch.arange(replicas, device=device)[:, None] * capacity  # [K, 1]
        self._sizes = torch.zeros(replicas, 1, dtype=torch.float64, device=device)
        self._sizes_on_cpu = np.zeros(replicas, np.int64)
        self._min_size: int | None = None
        self._has_items = False

    def check_batch_memory(self, batch_key: str, batch_size: int) -> None:
        """Raise ConfigError about the setting `batch_key` if a batch does not fit into memory."""
        value_bytes = sum(c.dtype.itemsize * (c.width or 1) for c in self._layout.columns.values())
        item_bytes = 16 + value_bytes  # 16 for a random number and an index
        setting = f"{batch_key}: {batch_size:,} items for each of {self.replicas} networks"
        check_memory(setting, self.replicas * batch_size * item_bytes, self._device)

    def check_capacity(self, setting_key: str, needed_items: int) -> None:
        """Raise ConfigError about the setting `setting_key` if it exceeds the capacity."""
        if needed_items > self.capacity:
            raise ConfigError(
                f"{setting_key}: {needed_items:,} items are needed to learn;"
                f" {self._capacity_key} holds {self.capacity:,}"
            )

    @property
    def min_size(self) -> int:
        """Smallest number of items of a replica, over all processes of the run."""
        if self._min_size is None:  # cached, since processes must communicate
            own_min_size = int(min(self.items_added.min(), self.capacity))
            self._min_size = -collectives.max_over_processes(-own_min_size)
        return self._min_size

    @property
    def has_items(self) -> bool:
        """Return whether any replica in any process of the run has an item."""
        if not self._has_items:
            self._has_items = collectives.max_over_processes(int(self.items_added.max())) > 0
        return self._has_items

    @property
    def fill_fraction(self) -> float:
        """Share of slots in use, in [0, 1]."""
        return float(np.minimum(self.items_added, self.capacity).mean() / self.capacity)

    def add(self, replica: np.ndarray, **columns: np.ndarray) -> None:
        """Add item i to `replica[i]`, the oldest item first; columns are [N, width] or [N]."""
        self._min_size = None
        if not len(replica):
            return
        counts = np.bincount(replica, minlength=self.replicas)
        order = np.argsort(replica, kind="stable")
        rank_in_replica = np.empty(len(replica), np.int64)
        starts = np.repeat(counts.cumsum() - counts, counts)
        rank_in_replica[order] = np.arange(len(replica)) - starts
        item_number = self.items_added[replica] + rank_in_replica
        self.items_added += counts
        slot = self.insertion_rule.assign_slots(
            item_number, self.capacity, self._insertion_generator
        )
        # `unique` keeps the first of several items in a slot, which is the newest in reverse order.
        stored_items = np.flatnonzero(slot < self.capacity)[::-1]
        stored_row = (replica * self.capacity + slot)[stored_items]
        stored_rows, item = np.unique(stored_row, return_index=True)
        if len(stored_rows):
            rows = self._layout.pack(columns, stored_items[item])
            words = copy_to_device(rows, self._device).view(self._layout.word)
            self._words.index_copy_(0, copy_to_device(stored_rows, self._device), words)
        self._update_sizes()

    def sample(self, batch_size: int) -> dict[str, Tensor]:
        """Sample B = `batch_size` items of each replica with replacement, [K, B, width] or [K, B].

        The samples of a replica without items are zeros.
        """
        shape, generator = (self.replicas, batch_size), self.sample_generator
        uniform = torch.rand(shape, dtype=torch.float64, generator=generator, device=self._device)
        index = ((uniform * self._sizes).long() + self._replica_starts).view(-1)
        rows = self._words.index_select(0, index).view(torch.uint8)
        return {
            name: part.view(self.replicas, batch_size, *part.shape[1:])
            for name, part in self._layout.unpack(rows).items()
        }

    def sample_batches(self, batch_size: int, count: int) -> Iterator[dict[str, Tensor]]:
        """Yield `count` batches like those of `sample`; a GPU samples all of them at once."""
        if self._device.type == "cpu":
            for _ in range(count):
                yield self.sample(batch_size)
        else:
            columns = self.sample(count * batch_size)
            for start in range(0, count * batch_size, batch_size):
                yield {name: part[:, start : start + batch_size] for name, part in columns.items()}

    def _update_sizes(self) -> None:
        sizes = np.minimum(self.items_added, self.capacity)
        if (sizes != self._sizes_on_cpu).any():
            self._sizes_on_cpu = sizes
            self._sizes.copy_(copy_to_device(sizes.astype(np.float64)[:, None], self._device))

    def state_dict(self) -> dict[str, Any]:
        """Return items, numbers of items added, and the states of both random generators."""
        sizes = np.minimum(self.items_added, self.capacity)
        starts = self._replica_starts[:, 0].tolist()
        parts = [self._storage[a : a + size] for a, size in zip(starts, sizes, strict=True)]
        return {
            "items_added": self.items_added.tolist(),
            "insertion_generator": self._insertion_generator.bit_generator.state,
            "sample_generator": self.sample_generator.get_state(),
            "items": {
                name: [self._layout.view_stored(part, name).cpu().clone() for part in parts]
                for name in self._layout.columns
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`; a generator state of another type of device is ignored."""
        self._load_items(state)
        self._insertion_generator.bit_generator.state = state["insertion_generator"]
        if state["sample_generator"].shape == self.sample_generator.get_state().shape:
            self.sample_generator.set_state(state["sample_generator"])

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy the items of another run's buffer."""
        if state["items"].keys() != self._layout.columns.keys():
            theirs, ours = (", ".join(names) for names in (state["items"], self._layout.columns))
            raise ConfigError(f"{self._capacity_key}: that buffer holds {theirs}, this one {ours}")
        sizes = [len(items) for items in next(iter(state["items"].values()))]
        if sizes != [min(added, self.capacity) for added in state["items_added"]]:
            problem = f"{self.capacity:,} items, the other buffer has {max(sizes):,}"
            raise ConfigError(f"{self._capacity_key}: {problem}")
        self._load_items(state)

    def _load_items(self, state: dict[str, Any]) -> None:
        self.items_added = np.array(state["items_added"], np.int64)
        self._min_size, self._has_items = None, False
        starts = self._replica_starts[:, 0].tolist()
        for name in self._layout.columns:
            for start, items in zip(starts, state["items"][name], strict=True):
                rows = self._storage[start : start + len(items)]
                self._layout.view_stored(rows, name).copy_(items)
        self._update_sizes()


def _allocate_lazy_zeros(shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Return a tensor of bytes that are 0; a page takes main memory only once it is written to."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=torch.uint8, device=device)
    return torch.from_numpy(np.zeros(shape, np.uint8))  # torch.zeros would write all bytes


def copy_to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Return an array as a tensor on a device; the CPU does not wait until a GPU has copied it."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":  # from pinned memory, which torch keeps until the GPU has read it
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
