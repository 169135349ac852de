"""Share of a learner's time spent in networks and in communication between processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import torch

_communication_seconds = 0.0  # spent in collectives since this process began


class LearnerTimer:
    """Stopwatch of the time since `start` and of the part of it spent in `time_networks`."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start measuring from zero."""
        self._start, self._network_seconds = _synchronized_seconds(), 0.0
        self._communication_at_start = _communication_seconds

    @contextmanager
    def time_networks(self) -> Iterator[None]:
        """Count the time in this context as network time: forward, loss, backward or optimizer."""
        before, communication_before = _synchronized_seconds(), _communication_seconds
        yield
        self._network_seconds += (
            _synchronized_seconds() - before - (_communication_seconds - communication_before)
        )

    def fraction_outside_networks(self) -> float:
        """Return the share of the time since `start` outside networks, in [0, 1]."""
        return 1 - self._network_seconds / (_synchronized_seconds() - self._start)

    def fraction_communicating(self) -> float:
        """Return the share of the time since `start` in communication, in [0, 1]."""
        return (_communication_seconds - self._communication_at_start) / (
            _synchronized_seconds() - self._start
        )


@contextmanager
def time_communication() -> Iterator[None]:
    """Count the time in this context as communication with other processes of the run."""
    global _communication_seconds
    before = _synchronized_seconds()
    yield
    _communication_seconds += _synchronized_seconds() - before


def _synchronized_seconds() -> float:
    """Return the time in seconds, after waiting for the GPU to finish its queue.

    There is no wait while a CUDA graph is recorded, since CUDA forbids it.
    """
    is_cuda_used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if is_cuda_used and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()
    return perf_counter()
