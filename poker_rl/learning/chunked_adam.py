"""Adam for GPUs, in chunks that keep all multiprocessors busy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

MIN_CHUNK = 2048  # numbers that the 512 threads of a block handle at once
MAX_CHUNKS = 128  # about the number of multiprocessors


class ChunkedAdam(torch.optim.Adam):
    """Fused Adam with one parameter group, whose kernel handles small parts of the weights.

    A block of torch's fused kernel handles 65,536 numbers of a tensor one after the other. So a
    small network keeps a few multiprocessors busy, for 50 microseconds on an H200. Here the kernel
    gets each tensor as several short ones, which share its memory.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; the first one allocates the moments, as torch does it."""
        if not self.state:
            super().step(closure)
            return
        (group,) = self.param_groups
        weights = [weight for weight in group["params"] if weight.grad is not None]
        states = [self.state[weight] for weight in weights]
        chunk = MIN_CHUNK * -(-sum(map(torch.numel, weights)) // (MAX_CHUNKS * MIN_CHUNK))

        def split(tensors: list[Tensor]) -> list[Tensor]:
            return [part for tensor in tensors for part in torch.split(tensor.view(-1), chunk)]

        torch._foreach_add_([state["step"] for state in states], 1)
        beta1, beta2 = group["betas"]
        torch._fused_adam_(
            split(weights),
            split([weight.grad for weight in weights]),
            split([state["exp_avg"] for state in states]),
            split([state["exp_avg_sq"] for state in states]),
            [],
            [
                state["step"]
                for weight, state in zip(weights, states, strict=True)
                for _ in range(-(-weight.numel() // chunk))
            ],
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )
