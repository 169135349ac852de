"""Precision in which networks compute: the setting `precision` in training, float32 in evaluation.

With `precision=medium`, the products from one hidden layer to the next are computed in bfloat16.
The first layer, LSTMs and the output layer multiply float32 tensors; within these products torch
may use TF32 on a GPU and bfloat16 on a CPU. Weights, gradients, optimizer state and network outputs
stay float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def set_matmul_precision(precision: str, device: torch.device) -> None:
    """Set the precision of matrix products; without native bfloat16, `medium` becomes `highest`."""
    if precision == "medium" and not has_bfloat16(device.type):
        precision = "highest"
    torch.set_float32_matmul_precision(precision)


def has_bfloat16(device_type: str) -> bool:
    """Return whether devices of a type, such as "cpu", have native bfloat16 on this machine."""
    if device_type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device_type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


@contextmanager
def use_full_precision() -> Iterator[None]:
    """Context in which networks compute in float32, as in the evaluation of a saved player."""
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(previous)
