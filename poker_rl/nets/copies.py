"""The copies of a network: how many it has, some of them alone, and rows sent through their own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from poker_rl.nets.dense import logits
from poker_rl.nets.legal import Legal


def copies_of(module: nn.Module) -> int:
    """Number of copies K of a network."""
    return next(module.parameters()).shape[0]


def part(module: nn.Module, copies: slice) -> nn.Module:
    """Some copies of a network as a network of its own, with the same memory."""
    # deepcopy takes what its memo holds, so no weight is copied
    memo: dict[int, Any] = {
        id(whole): nn.Parameter(whole.detach()[copies], requires_grad=whole.requires_grad)
        for whole in module.parameters()
    }
    return deepcopy(module, memo)


def take(module: nn.Module, copies: slice) -> nn.Module:
    """Some copies of a network as a network of its own, with memory of its own."""
    return deepcopy(part(module, copies))


def repeated(weights: Mapping[str, Tensor], copies: int) -> dict[str, Tensor]:
    """The weights of one network as those of K copies that are alike; of K copies as they are."""
    return {
        name: weight.expand(copies, *weight.shape[1:]) if len(weight) == 1 else weight
        for name, weight in weights.items()
    }


def routed(module: nn.Module, x: Tensor, copy: Tensor | None, legal: Legal | None = None) -> Tensor:
    """Each row through the copy it belongs to, differentiable in the weights and in x.

    Args:
        module: K networks.
        x: [N, in].
        copy: copy of each row, [N] int64; None if the rows are K equal blocks, one a copy.
        legal: the legal actions of each row, for the outputs of these alone.

    Returns:
        [N, out] or [N, L], in the order of x.
    """
    copies = copies_of(module)
    if copies == 1:
        if legal is not None:
            legal = Legal(legal.action[None], legal.count[None])
        return logits(module, x[None], legal)[0]
    if legal is not None:
        return legal.pick(routed(module, x, copy))
    if copy is None:
        even: Tensor = module(x.reshape(copies, len(x) // copies, x.shape[1]))  # [K, N/K, out]
        return even.flatten(0, 1)
    slot, most = _slots(copy, copies)
    blocks = x.new_zeros(copies * most, x.shape[1]).index_copy(0, slot, x)
    out: Tensor = module(blocks.view(copies, most, x.shape[1]))  # [K, most, out]
    return out.flatten(0, 1).index_select(0, slot)


def _slots(copy: Tensor, copies: int) -> tuple[Tensor, int]:
    """A place of its own for each row in K equal blocks, [N], and how many rows a block needs."""
    counts = torch.bincount(copy, minlength=copies)  # [K]
    most = int(counts.max())
    order = copy.to(torch.int32).argsort(stable=True)  # twice as fast as of int64
    before = counts.cumsum(0) - counts
    blocks = torch.arange(copies, device=copy.device) * most - before
    places = torch.arange(len(copy), device=copy.device) + blocks.repeat_interleave(counts)
    return torch.empty_like(copy).index_copy_(0, order, places), most
