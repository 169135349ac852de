"""Memories of decisions: a reservoir, a uniform sample of everything ever added."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class Reservoir:
    """`capacity` items, each of all those added so far equally likely to be among them.

    Vitter's algorithm R: item n replaces a uniform slot with probability capacity / n. An item is
    a row of several named arrays, whose widths and dtypes are those of the first ones added.
    """

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        self.capacity, self.generator = capacity, generator
        self.added = 0
        self.items: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, **arrays: np.ndarray) -> None:
        """Offer some items, each array [B, ...]."""
        count = len(next(iter(arrays.values())))
        number = self.added + np.arange(count)
        slot = (self.generator.random(count) * (number + 1)).astype(np.int64)
        slot = np.where(number < self.capacity, number, slot)
        kept = np.flatnonzero(slot < self.capacity)
        if not self.items:
            self.items = {
                name: np.zeros((self.capacity, *array.shape[1:]), array.dtype)
                for name, array in arrays.items()
            }
        for name, array in arrays.items():
            self.items[name][slot[kept]] = array[kept]
        self.added += count

    def sample(self, count: int) -> dict[str, np.ndarray]:
        """Some items drawn with replacement, each array [count, ...]."""
        rows = self.generator.integers(len(self), size=count)
        return {name: array[rows] for name, array in self.items.items()}

    def state_dict(self) -> dict[str, Any]:
        """The items and their number; the generator is its owner's to save."""
        size = len(self)
        items = {name: torch.from_numpy(part[:size].copy()) for name, part in self.items.items()}
        return {"added": self.added, "items": items}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.added = state["added"]
        self.items = {}
        for name, part in state["items"].items():
            self.items[name] = np.zeros((self.capacity, *part.shape[1:]), part.numpy().dtype)
            self.items[name][: len(part)] = part.numpy()
