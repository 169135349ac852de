"""Copies of arrays between CPU and GPU, during which the CPU can do other work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor


def copy_to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Return an array as a tensor on a device; the CPU does not wait for a copy to a GPU."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # torch keeps pinned memory until the GPU has read it
    return tensor.to(device, non_blocking=True)


def start_copy_to_host(tensor: Tensor) -> Callable[[], np.ndarray]:
    """Start to copy a tensor to the CPU; return a function that waits and returns the array."""
    if tensor.device.type != "cuda":
        return lambda: tensor.cpu().numpy()
    host_copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host_copy.copy_(tensor, non_blocking=True)
    is_copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    is_copied.record()

    def wait_for_copy() -> np.ndarray:
        is_copied.synchronize()
        return host_copy.numpy()

    return wait_for_copy
