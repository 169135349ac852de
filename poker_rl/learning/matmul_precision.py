"""Precision of matrix products in training, from the setting `precision`."""

from __future__ import annotations

import torch


def set_matmul_precision(precision: str, device: torch.device) -> None:
    """Set torch's precision of float32 matrix products for this process.

    Args:
        precision: `highest`, `high` or `medium`; `medium` becomes `highest` on a device without
            native bfloat16, where it would be slow.
    """
    if precision == "medium" and not has_bfloat16(device.type):
        precision = "highest"
    torch.set_float32_matmul_precision(precision)


def has_bfloat16(device_type: str) -> bool:
    """Return whether devices of a type, such as "cpu", have native bfloat16 on this machine."""
    if device_type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device_type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
