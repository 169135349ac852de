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
    clock = LearnerTimer()
    watch.wait(6)
    with clock.time_networks():
        watch.wait(2)
    assert clock.fraction_outside_networks() == 0.75


def test_a_gpu_is_waited_for(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls return at once; the time they take is told where they were made."""
    given: list[float] = []  # seconds of work that it has not done yet

    def synchronise() -> None:
        watch.wait(sum(given))
        given.clear()

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronise)
    clock = LearnerTimer()
    watch.wait(1)
    given.append(1)  # such as copying a batch
    with clock.time_networks():
        given.append(6)
    assert clock.fraction_outside_networks() == 0.25


def test_no_wait_while_a_graph_is_recorded(monkeypatch: pytest.MonkeyPatch):
    """CUDA refuses it."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: pytest.fail("waited"))
    with LearnerTimer().time_networks():
        pass
