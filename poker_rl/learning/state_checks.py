"""Checks of values from saved states.

A checkpoint file may be corrupt, and compiled loops and optimizer kernels do not check bounds.
"""

from __future__ import annotations

from typing import Any

import torch

MAX_COUNT = 2**62  # upper bound of counters, far from overflow of 64 bits


def check_range(name: str, values: Any, low: int, high: int) -> None:
    """Raise ValueError unless all integers of an array or tensor are in [low, high)."""
    wrong = values[(values < low) | (values >= high)]
    if len(wrong):
        raise ValueError(f"{name}: {wrong[0]} is not in [{low}, {high})")


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load the moments of a saved optimizer, but keep settings such as the learning rate.

    Moments that differ in shape from the weights raise ValueError; fused kernels do not check it.
    """
    own = [dict(group) for group in optimizer.param_groups]
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state["state"]})
    for group, settings in zip(optimizer.param_groups, own, strict=True):
        group.update(settings)  # CUDA graphs need a learning rate tensor to stay the same object
    adam = isinstance(optimizer, torch.optim.Adam)
    for weight, slots in optimizer.state.items():
        shapes = {name: torch.as_tensor(slot).shape for name, slot in slots.items()}
        moments = {"step": torch.Size(), "exp_avg": weight.shape, "exp_avg_sq": weight.shape}
        if slots and shapes != (moments if adam else {}):
            raise ValueError("optimizer: its moments have other shapes than the weights")
