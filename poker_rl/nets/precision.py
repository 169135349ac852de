"""In which precision networks compute: as `precision` says while they learn, in full when measured.

With `precision=medium` products of matrices are of bfloat16, numbers of eight significant bits that
reach as far as float32, and so is what hidden layers hand on, which saves most of the time that
converting takes. Weights, their gradients and what the optimiser keeps stay float32, and so do the
observations and the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def halves() -> bool:
    """Whether hidden layers compute in bfloat16."""
    return torch.get_float32_matmul_precision() == "medium"


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute in float32 inside: what is measured is what others will load."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
