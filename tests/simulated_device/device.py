"""The device refuses what a GPU refuses, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from io import BytesIO

import numpy as np
import pytest
import torch
from device_simulator import (
    NAME,
    DeviceSimulator,
    MixedDevicesError,
    SimulatedGraph,
    SimulatedTensor,
    SynchronizationError,
    simulate_device,
)
from torch import Tensor, nn


@pytest.fixture
def device() -> Iterator[DeviceSimulator]:
    with simulate_device() as simulator:
        yield simulator


MIXES: dict[str, Callable[[Tensor, Tensor], object]] = {
    "a sum": lambda here, cpu: here + cpu,
    "a product": lambda here, cpu: cpu @ here,
    "in place": lambda here, cpu: cpu.add_(here),
    "a list": lambda here, cpu: torch.cat([here, cpu]),
    "several at once": lambda here, cpu: torch._foreach_add_([here], [cpu]),
    "a gradient": lambda here, cpu: (here.requires_grad_() * cpu).sum().backward(),
    "a network": lambda here, cpu: nn.Linear(3, 2).to(NAME)(cpu),
    "rows": lambda here, cpu: here.index_select(0, cpu[0].long()),
    "indices of the device": lambda here, cpu: cpu[here[0].long()],
    "a generator of the cpu": lambda here, cpu: here.uniform_(generator=torch.Generator()),
    "a generator of the device": lambda here, cpu: cpu.uniform_(generator=torch.Generator(NAME)),
}


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
@pytest.mark.usefixtures("device")
def test_a_mixed_device_is_refused(mix: Callable[[Tensor, Tensor], object]) -> None:
    with pytest.raises(MixedDevicesError):
        mix(torch.ones(3, 3, device=NAME), torch.ones(3, 3))


FORGOTTEN: dict[str, Callable[[Tensor], object]] = {
    "numpy()": lambda here: here.numpy(),
    "asarray": np.asarray,
    "assigned": lambda here: np.zeros((3, 3)).__setitem__(slice(None), here),
}


@pytest.mark.parametrize("show", FORGOTTEN.values(), ids=FORGOTTEN)
@pytest.mark.usefixtures("device")
def test_a_forgotten_cpu_is_refused(show: Callable[[Tensor], object]) -> None:
    here = torch.ones(3, 3, device=NAME)
    with pytest.raises(TypeError, match=r"Use Tensor\.cpu\(\)"):
        show(here)
    show(here.cpu())


@pytest.mark.usefixtures("device")
def test_what_a_gpu_takes_is_taken() -> None:
    here, cpu = torch.arange(6.0, device=NAME), torch.arange(6.0)
    assert (here * torch.tensor(2.0))[cpu.long()].tolist() == [0, 2, 4, 6, 8, 10]
    here[:2] = cpu[4:]
    cpu.copy_(here)
    assert cpu.tolist() == [4, 5, 2, 3, 4, 5]
    drawn = torch.rand(2, generator=torch.Generator(NAME).manual_seed(1), device=NAME)
    assert torch.equal(drawn.cpu(), torch.rand(2, generator=torch.Generator().manual_seed(1)))


@pytest.mark.usefixtures("device")
def test_a_network_learns_is_copied_and_saved_as_on_the_cpu() -> None:
    cpu = nn.Linear(3, 2)
    here = deepcopy(cpu).to(NAME)
    assert all(
        isinstance(x, SimulatedTensor) and isinstance(x, nn.Parameter) for x in here.parameters()
    )
    for module in (cpu, here):
        optimiser = torch.optim.Adam(module.parameters(), fused=True)
        for _ in range(3):
            optimiser.zero_grad()
            module(torch.ones(4, 3, device=module.weight.device)).square().sum().backward()
            optimiser.step()
    file = BytesIO()
    torch.save(deepcopy(here).state_dict(), file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    assert all(torch.equal(saved[name], weight) for name, weight in cpu.state_dict().items())


def test_copies_of_pinned_memory_do_not_wait(device: DeviceSimulator) -> None:
    here, cpu = torch.ones(3, device=NAME), torch.arange(3.0)
    with device.recording():
        here.copy_(cpu, non_blocking=True)
        assert cpu.to(NAME, non_blocking=True).device.type == NAME
        cpu.copy_(here.mul_(2), non_blocking=True)
        for wait in (
            lambda: here.copy_(cpu),
            lambda: cpu.to(NAME),
            lambda: here[cpu.clamp(max=2).long()],
        ):
            with pytest.raises(SynchronizationError):
                wait()
    assert cpu.tolist() == [0, 2, 4]


def test_a_graph_replays_the_work_on_the_memory_of_the_recording(device: DeviceSimulator) -> None:
    weight = nn.Parameter(torch.ones(2, 3, device=NAME))
    pinned, shown, step = torch.ones(3), torch.zeros(2, 2), torch.zeros(1).long().to(NAME)
    rows, sums = torch.zeros(4, 3, device=NAME), torch.zeros(3, device=NAME)
    generator = torch.Generator(NAME).manual_seed(0)
    optimiser = torch.optim.Adam([weight], lr=torch.ones((), device=NAME), fused=True)
    number = 1.0

    def work() -> None:
        x = pinned.to(NAME, non_blocking=True) * number
        x = x + torch.rand(3, generator=generator, device=NAME)
        rows.index_copy_(0, step, x[None])
        step.add_(1)
        optimiser.zero_grad()
        (weight[:, :2] @ rows[:2, :2].T).square().sum().backward()
        optimiser.step()
        sums[1:] += x[1:]
        shown.copy_(weight[:, :2].detach(), non_blocking=True)

    def state() -> list[Tensor]:
        return [x.detach().cpu().clone() for x in (weight, step, rows, sums, shown)]

    work()  # moments of the optimiser come into being
    start = deepcopy([*state(), optimiser.state_dict(), generator.get_state()])
    graph = SimulatedGraph()
    with device.recording(graph):
        work()
    graph.replay()
    pinned.copy_(torch.tensor([1.0, 2.0, 3.0]))
    graph.replay()
    found = state()
    assert step.item() == 3

    generator.set_state(start.pop())
    optimiser.load_state_dict(start.pop())
    with torch.no_grad():
        for x, before in zip((weight, step, rows, sums, shown), start, strict=True):
            x.copy_(before)
    pinned.fill_(1)
    work()
    pinned.copy_(torch.tensor([1.0, 2.0, 3.0]))
    work()
    for one, other in zip(found, state(), strict=True):
        assert torch.equal(one, other)

    # what is no longer the memory of the recording is not seen, nor are numbers of Python
    number, sums = 100.0, torch.zeros(3, device=NAME)
    step.zero_()
    graph.replay()
    assert rows[0].max().item() < 5
    assert not sums.any().item()


def test_it_is_told_what_the_cpu_waits_for(device: DeviceSimulator) -> None:
    here = torch.ones(3, device=NAME)
    assert device.busy
    assert float(here.sum()) == 3
    assert not device.busy
    with device.recording():
        here.mul_(2)
        here.copy_(torch.ones(3), non_blocking=True)
        torch.ones(3).to(NAME, non_blocking=True)
        for wait in (here.sum().item, here.cpu, here.nonzero, lambda: here[here > 0]):
            with pytest.raises(SynchronizationError):
                wait()
