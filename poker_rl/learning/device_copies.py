"""Copies of arrays to the networks' device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def copy_to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Return an array as a tensor on a device; a GPU copies later, without the CPU waiting."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":  # from pinned memory, which torch keeps until the GPU has read it
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
