"""How much of a learner's time goes into its networks' own arithmetic, and into exchange."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import torch

_exchanged = 0.0  # seconds in which this process waited for the others of its run, since it began


class Clock:
    """Time since `start`, and the part of it spent under `networks`."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self._start, self._networks, self._before = _now(), 0.0, _exchanged

    @contextmanager
    def networks(self) -> Iterator[None]:
        """Count what happens inside as forward, loss, backward or optimiser."""
        before, exchanged = _now(), _exchanged
        yield
        self._networks += _now() - before - (_exchanged - exchanged)

    def outside_networks(self) -> float:
        """Share of the time since `start` that was not the networks', in [0, 1]."""
        return 1 - self._networks / (_now() - self._start)

    def communication(self) -> float:
        """Share of the time since `start` that exchanging with other processes took, in [0, 1]."""
        return (_exchanged - self._before) / (_now() - self._start)


@contextmanager
def exchanging() -> Iterator[None]:
    """Count what happens inside as exchanging with the other processes of the run."""
    global _exchanged
    before = _now()
    yield
    _exchanged += _now() - before


def _now() -> float:
    """Seconds, once a GPU in use has done what it was given: calls to it return before that.

    While a CUDA graph is recorded nothing is done, and there is nothing to wait for.
    """
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if used and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()
    return perf_counter()
