"""Insertion rules of replay buffers, which decide which items stay when a buffer is full.

`CircularInsertion` keeps the newest items, `UniformReservoir` a uniform sample of all items
(Vitter's algorithm R), `FlooredReservoir` (arXiv:1603.01121) and `ExponentialReservoir` (Osborne et
al., ACL 2014) a sample that favors newer items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import PositiveShare


class InsertionRule:
    """Rule that fills the free slots of a buffer, then lets new items replace random old ones."""

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        """Return the probability that each of N items is stored in the full buffer, [N]."""
        raise NotImplementedError

    def assign_slots(
        self, item_number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Return slots of N new items, [N]; an item with a slot >= `capacity` is dropped.

        `item_number` [N]: how many items were added to the same replica before each item.
        """
        # With a uniform number u, an item is stored if u < p; u / p then selects its slot.
        insertion_prob = self.compute_insertion_probs(item_number, capacity)
        slot = generator.random(len(item_number)) * (capacity / insertion_prob)
        return np.where(item_number < capacity, item_number, slot.astype(np.int64))


@dataclass(kw_only=True, frozen=True)
class CircularInsertion(InsertionRule):
    """Rule that keeps the newest items: each new item replaces the oldest one."""

    def assign_slots(
        self, item_number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        return item_number % capacity


@dataclass(kw_only=True, frozen=True)
class UniformReservoir(InsertionRule):
    """Rule that keeps a uniform sample: the i-th item is stored with probability capacity / i."""

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return capacity / (item_number + 1)


@dataclass(kw_only=True, frozen=True)
class FlooredReservoir(InsertionRule):
    """Rule that stores the i-th item with probability max(capacity / i, min_insertion_prob)."""

    min_insertion_prob: PositiveShare

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return np.maximum(capacity / (item_number + 1), self.min_insertion_prob)


@dataclass(kw_only=True, frozen=True)
class ExponentialReservoir(InsertionRule):
    """Rule that stores each item with the same probability p after the buffer is full.

    The age of a stored item, which is the number of items added after it, has a geometric
    distribution with mean capacity / p.
    """

    insertion_prob: PositiveShare

    def compute_insertion_probs(self, item_number: np.ndarray, capacity: int) -> np.ndarray:
        return np.full(len(item_number), self.insertion_prob)
