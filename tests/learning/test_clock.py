"""The time that a learner spends in its networks and outside them."""

from __future__ import annotations

from time import perf_counter, sleep

import pytest
import torch

from poker_rl.learning.clock import Clock


def wait(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        sleep(1e-4)


def test_the_share_outside_the_networks():
    clock = Clock()
    wait(0.06)
    with clock.networks():
        wait(0.02)
    assert 0.6 < clock.outside_networks() < 0.9  # 0.75, and what a busy machine adds


def test_a_gpu_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    """Its calls return at once; the time they take is told where they were made."""
    given: list[float] = []  # seconds of work that it has not done yet

    def synchronise() -> None:
        wait(sum(given))
        given.clear()

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronise)
    clock = Clock()
    wait(0.01)
    given.append(0.01)  # such as copying a batch
    with clock.networks():
        given.append(0.06)
    assert 0.2 < clock.outside_networks() < 0.6  # 0.25, and what a busy machine adds


def test_no_wait_while_a_graph_is_recorded(monkeypatch: pytest.MonkeyPatch):
    """CUDA refuses it."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: pytest.fail("waited"))
    with Clock().networks():
        pass
