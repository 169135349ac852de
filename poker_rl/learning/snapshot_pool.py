"""Pool of snapshots that is a uniform sample of all snapshots of a run so far."""

from __future__ import annotations

from typing import Any

import numpy as np


class SnapshotPool:
    """Reservoir sample of the snapshots offered to it.

    Args:
        capacity: largest number of snapshots in the pool.
        generator: random generator of the sample.
    """

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        self._capacity, self._generator = capacity, generator
        self._snapshots: list[dict[str, Any]] = []
        self._snapshots_offered = 0

    def add_and_sample(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        """Add a snapshot if the reservoir sample selects it; return a random one of the pool."""
        self._snapshots_offered += 1
        if len(self._snapshots) < self._capacity:
            self._snapshots.append(snapshot)
        elif (index := self._generator.integers(self._snapshots_offered)) < self._capacity:
            self._snapshots[index] = snapshot
        return self._snapshots[self._generator.integers(len(self._snapshots))]

    def state_dict(self) -> dict[str, Any]:
        """Return the snapshots and the number of snapshots offered."""
        return {"snapshots": self._snapshots, "snapshots_offered": self._snapshots_offered}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self._snapshots = list(state["snapshots"])
        self._snapshots_offered = state["snapshots_offered"]
