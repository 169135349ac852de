"""Checks of what a saved state holds before it indexes anything.

Compiled loops and the kernels of optimisers check no bounds, and a file may hold anything.
"""

from __future__ import annotations

from typing import Any

import torch

MOST_ITEMS = 2**62  # that a run can count, with room to count on in 64 bits


def check_range(name: str, values: Any, low: int, high: int) -> None:
    """Check that integers are in [low, high).

    Args:
        values: an array or a tensor.

    Raises:
        ValueError: naming the first that is not.
    """
    wrong = values[(values < low) | (values >= high)]
    if len(wrong):
        raise ValueError(f"{name}: {wrong[0]} is not in [{low}, {high})")


def load_optimiser(optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Give an optimiser the moments of a saved one; its settings stay its own.

    Raises:
        ValueError: if moments do not fit the weights, which fused kernels do not notice.
    """
    own = [dict(group) for group in optimiser.param_groups]
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state["state"]})
    for group, settings in zip(optimiser.param_groups, own, strict=True):
        group.update(settings)  # the same tensors, where a step size is one
    adam = isinstance(optimiser, torch.optim.Adam)
    for weight, slots in optimiser.state.items():
        shapes = {name: torch.as_tensor(slot).shape for name, slot in slots.items()}
        moments = {"step": torch.Size(), "exp_avg": weight.shape, "exp_avg_sq": weight.shape}
        if slots and shapes != (moments if adam else {}):
            raise ValueError("optimiser: its moments have other shapes than the weights")
