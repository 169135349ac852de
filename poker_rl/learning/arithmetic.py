"""In which precision a run's networks learn."""

from __future__ import annotations

import torch


def compute_in(precision: str, device: torch.device) -> None:
    """Set the precision, of this process, in which networks on a device learn.

    Args:
        precision: as torch has it, `highest`, `high` or `medium`; `medium` is `highest` on a device
            that has no bfloat16 and would only imitate it, slowly.
    """
    if precision == "medium" and not has_bfloat16(device.type):
        precision = "highest"
    torch.set_float32_matmul_precision(precision)


def has_bfloat16(kind: str) -> bool:
    """Whether devices of a kind, such as `cpu`, compute in bfloat16 themselves."""
    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return kind == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
