"""In which precision networks compute: as `precision` says while they learn, in full when measured.

With `precision=medium` products of matrices are of bfloat16, numbers of eight bits that reach as
far as float32. Where the processor or the GPU has such products itself, what hidden layers hand on
is bfloat16 too, which saves most of the time that converting takes. Weights, their gradients and
what the optimiser keeps stay float32, and so do the observations and the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch


def halves(device: torch.device) -> bool:
    """Whether hidden layers there compute in bfloat16."""
    return torch.get_float32_matmul_precision() == "medium" and _computes_halves(device.type)


@cache
def _computes_halves(kind: str) -> bool:
    """Whether devices of a kind have bfloat16 themselves; others would only imitate it, slowly."""
    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return kind == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute in float32 inside: what is measured is what others will load."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
