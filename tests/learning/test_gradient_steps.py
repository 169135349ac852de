"""Gradient steps on batches of a replay buffer, and GPU work on two streams."""

import math
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn

from poker_rl.config.schedules import Constant, Linear
from poker_rl.learning import Column
from poker_rl.learning.buffers.insertion_rules import CircularInsertion
from poker_rl.learning.buffers.replay_buffer import ReplayBuffer
from poker_rl.learning.cuda_graphs import ParallelBranch
from poker_rl.learning.gradient_steps import (
    MIN_CHUNK,
    CapturedUpdates,
    ChunkedAdam,
    ReplayOptimizer,
    take_gradient_step,
)
from poker_rl.learning.learner_timer import LearnerTimer
from poker_rl.nets.dense import build_mlp

CPU = torch.device("cpu")


def make_stepper(module, compute_loss, optimizer="adam", lr=None, seed=0):
    columns, lr = {"x": Column(torch.float32)}, lr or Constant(start=0.1)
    buffer = ReplayBuffer("capacity", 100, CircularInsertion(), columns, CPU, seed)
    buffer.add(np.zeros(3, np.int64), x=np.arange(3, dtype=np.float32))
    return ReplayOptimizer(module, optimizer, lr, None, buffer, 4, compute_loss)


def make_updates(*optimizers):
    return CapturedUpdates(optimizers, CPU, LearnerTimer(CPU))


def test_mean_loss_is_per_replica_and_step():
    module, losses = nn.Linear(1, 2), iter([2.0, 6.0, 10.0, 4.0])  # sums over two replicas
    stepper = make_stepper(
        module, lambda batch: module(torch.zeros(1, 1)).sum() * 0 + next(losses), "sgd"
    )
    updates = make_updates(stepper)
    updates.take_steps(3)
    assert stepper.pop_metrics("loss", "norm")["loss"] == 3.0  # 18 / (3 steps x 2 replicas)
    updates.take_steps(1)
    assert stepper.pop_metrics("loss", "norm")["loss"] == 2.0


def test_gradient_norm_is_measured_before_clipping():
    weight = nn.Parameter(torch.tensor([[[3.0]], [[4.0]]]))  # two replicas
    module, optimizer = nn.ParameterList([weight]), torch.optim.SGD([weight], lr=1.0)
    norms = []
    for limit in (1.0, None):
        norms.append(float(take_gradient_step((weight**2 / 2).sum(), optimizer, module, limit)))
    assert norms == pytest.approx([3.5, math.hypot(2, 3)], rel=1e-5)  # 3.5 is the mean of 3 and 4


def test_each_step_uses_its_own_learning_rate_of_the_schedule():
    """SGD on w, whose gradient is 1: the weight falls by the sum of the learning rates."""
    lr = Linear(start=1.0, end=0.0, horizon=8)
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    stepper = make_stepper(module, lambda batch: module.weight.sum(), "sgd", lr)
    updates = make_updates(stepper)
    for steps in (3, 1, 5):
        updates.take_steps(steps)
    assert module.weight.detach().item() == pytest.approx(-sum(lr.value(step) for step in range(9)))


def test_optimizers_captured_together_step_as_if_alone():
    def build(seed):
        module = build_mlp([1, 4, 1], 1, "relu", "torch", torch.Generator().manual_seed(seed))
        return module, make_stepper(
            module, lambda batch: (module(batch["x"][..., None]) - 1).square().sum(), seed=seed
        )

    together, alone = [build(seed) for seed in (1, 2)], [build(seed) for seed in (1, 2)]
    make_updates(*(optimizer for _, optimizer in together)).take_steps(20)
    for _, optimizer in alone:
        make_updates(optimizer).take_steps(20)
    for (network, _), (other, _) in zip(together, alone, strict=True):
        for weight, expected in zip(network.parameters(), other.parameters(), strict=True):
            assert torch.equal(weight, expected)
    for (_, stepper), (_, other) in zip(together, alone, strict=True):
        assert stepper.pop_metrics("loss", "norm") == other.pop_metrics("loss", "norm")


@pytest.mark.parametrize("widths", [[1, 5, 3], [70, 90, 40], [300, 2000, 10]])
def test_chunked_adam_equals_adam(widths):
    """Both optimizers stay equal, even after each has loaded the state of the other."""
    modules = [
        build_mlp(widths, 2, "tanh", "torch", torch.Generator().manual_seed(0)) for _ in range(2)
    ]
    lr = torch.tensor(0.01)
    adam = torch.optim.Adam(modules[0].parameters(), lr=lr, fused=True)
    chunked = ChunkedAdam(modules[1].parameters(), lr=lr, fused=True)
    assert any(weight.numel() > MIN_CHUNK for weight in modules[0].parameters()) == (widths[0] > 1)
    x = torch.randn(2, 6, widths[0], generator=torch.Generator().manual_seed(1))
    for step in range(6):
        if step == 3:
            states = adam.state_dict(), chunked.state_dict()
            adam.load_state_dict(states[1])
            chunked.load_state_dict(states[0])
        for module, optimizer in zip(modules, (adam, chunked), strict=True):
            optimizer.zero_grad()
            module(x).square().sum().backward()
            optimizer.step()
    for weight, expected in zip(modules[1].parameters(), modules[0].parameters(), strict=True):
        torch.testing.assert_close(weight, expected, rtol=1e-6, atol=1e-7)


class Streams:
    """Fake GPU streams, which record the order of calls."""

    def __init__(self):
        self.calls = []
        self.current = Stream(self, "outer")

    def set_current(self, stream):
        self.current = stream


class Stream:
    def __init__(self, streams, name):
        self.streams, self.name = streams, name

    def wait_stream(self, other):
        self.streams.calls.append(f"{self.name} waits for {other.name}")


def test_parallel_branch_starts_after_earlier_work_and_join_waits():
    streams = Streams()
    with (
        patch.object(torch.cuda, "Stream", lambda device: Stream(streams, "branch")),
        patch.object(torch.cuda, "current_stream", lambda: streams.current),
        patch.object(torch.cuda, "set_stream", streams.set_current),
    ):
        branch = ParallelBranch(torch.device("cuda"))
        for _ in range(2):
            with branch:
                streams.calls.append(f"work on {streams.current.name}")
            streams.calls.append(f"work on {streams.current.name}")
            branch.join()
    once = ["branch waits for outer", "work on branch", "work on outer", "outer waits for branch"]
    assert streams.calls == 2 * once
