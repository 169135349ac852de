"""The time that a learner spends in its networks and outside them."""

from __future__ import annotations

import pytest
import torch

from poker_rl.learning import timing as clock_module
from poker_rl.learning.timing import LearnerTimer


class Watch:
    """The time of day, which passes only where a test says so."""

    now = 0.0

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(clock_module, "perf_counter", lambda: watch.now)
    return watch


def test_the_share_outside_the_networks(watch: Watch) -> None:
    clock = LearnerTimer(torch.device("cpu"))
    watch.wait(6)
    with clock.time_networks():
        watch.wait(2)
    assert clock.fraction_outside_networks() == 0.75


class RecordedEvent:
    """CUDA event of a GPU whose queue takes a second for each event in it."""

    count = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self, stream: str | None) -> None:
        self.stream = stream
        RecordedEvent.count += 1
        self.second = RecordedEvent.count

    def elapsed_time(self, later: RecordedEvent) -> float:
        assert self.stream == later.stream
        return 1000.0 * (later.second - self.second)


def test_a_gpu_is_measured_by_events_in_its_queue(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "Event", RecordedEvent)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: watch.wait(2))
    clock = LearnerTimer(torch.device("cuda"))
    watch.wait(2)
    for stream in (None, "of a group of tables"):
        with clock.time_networks(stream):  # type: ignore[arg-type]
            pass  # nothing waits here
    assert [begin.stream for begin, _ in clock._events] == [None, "of a group of tables"]  # type: ignore[attr-defined]
    assert watch.now == 2
    assert clock.fraction_outside_networks() == 0.5
