"""How much of a learner's time goes into its networks' own arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Clock:
    """Time since `start`, and the part of it spent under `networks`."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self._start, self._networks = perf_counter(), 0.0

    @contextmanager
    def networks(self) -> Iterator[None]:
        """Count what happens inside as forward, loss, backward or optimiser."""
        before = perf_counter()
        yield
        self._networks += perf_counter() - before

    def outside_networks(self) -> float:
        """Share of the time since `start` that was not the networks', in [0, 1]."""
        return 1 - self._networks / (perf_counter() - self._start)
