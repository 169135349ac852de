"""Precision in which networks compute: the setting `precision` in training, float32 in evaluation.

With `precision=medium`, layers between hidden layers multiply in bfloat16 and output bfloat16.
Weights, gradients, optimizer state, observations and network outputs stay float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def is_bfloat16_enabled() -> bool:
    """Return whether hidden layers compute in bfloat16."""
    return torch.get_float32_matmul_precision() == "medium"


@contextmanager
def use_full_precision() -> Iterator[None]:
    """Compute in float32 in this context, as in a process that loads the player later."""
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(previous)
