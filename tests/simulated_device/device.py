"""The device refuses what a GPU refuses, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from device_simulator import (
    NAME,
    DeviceSimulator,
    MixedDevicesError,
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
    "in place": lambda here, cpu: cpu.add_(here),
    "a list": lambda here, cpu: torch.cat([here, cpu]),
    "a gradient": lambda here, cpu: (here.requires_grad_() * cpu).sum().backward(),
    "a network": lambda here, cpu: nn.Linear(3, 2).to(NAME)(cpu),
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
