"""Timer of a learner: its time in networks, and in communication between processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import torch

_communication_seconds = 0.0  # spent in collective operations since this process began


class LearnerTimer:
    """Stopwatch of the time since `start`, and of the part inside `time_networks` contexts."""

    def __init__(self, device: torch.device) -> None:
        self._uses_events = device.type == "cuda"  # with GPU events, the CPU need not wait
        self.start()

    def start(self) -> None:
        self._start, self._network_seconds = perf_counter(), 0.0
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self._communication_at_start = _communication_seconds

    @contextmanager
    def time_networks(self, stream: torch.cuda.Stream | None = None) -> Iterator[None]:
        """Count the time in this context as network time.

        On a GPU, only the time of `stream` counts (None: the current stream); on a CPU, the time
        without communication between processes.
        """
        if self._uses_events:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record(stream)
            yield
            end.record(stream)
            self._events.append((begin, end))
            return
        before, communication_before = perf_counter(), _communication_seconds
        yield
        communication = _communication_seconds - communication_before
        self._network_seconds += perf_counter() - before - communication

    def compute_fraction_outside_networks(self) -> float:
        """Return the share of the time since `start` spent outside `time_networks`, in [0, 1]."""
        if self._uses_events:
            torch.cuda.synchronize()
            milliseconds = sum(begin.elapsed_time(end) for begin, end in self._events)
            self._network_seconds = milliseconds / 1000
        return max(0.0, 1 - self._network_seconds / (perf_counter() - self._start))

    def compute_communication_fraction(self) -> float:
        """Return the share of the time since `start` spent in collective operations, in [0, 1]."""
        seconds = _communication_seconds - self._communication_at_start
        return seconds / (perf_counter() - self._start)


@contextmanager
def time_communication() -> Iterator[None]:
    """Count the time in this context as communication with other processes of the run."""
    global _communication_seconds
    before = _synchronized_seconds()
    yield
    _communication_seconds += _synchronized_seconds() - before


def _synchronized_seconds() -> float:
    """Return the time in seconds, after waiting for the GPU to finish its queue."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
    return perf_counter()
