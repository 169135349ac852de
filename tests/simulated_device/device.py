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
