"""Operations on replicas: view, copy and run them, and clip their gradients.

A replica is one of K networks of equal shape, each with its own weights, that run in one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm

from poker_rl.nets.dense import compute_all_or_legal_logits
from poker_rl.nets.legal_output_layer import LegalActions


def count_replicas(module: nn.Module) -> int:
    """Return the number of replicas K of a network."""
    return next(module.parameters()).shape[0]


def slice_replicas(module: nn.Module, replicas: slice) -> nn.Module:
    """Return a network that has only these replicas; its weights are views of those of `module`."""
    # `deepcopy` takes the views in `memo` instead of copying the weights.
    memo: dict[int, Any] = {
        id(weight): nn.Parameter(weight.detach()[replicas], requires_grad=weight.requires_grad)
        for weight in module.parameters()
    }
    return deepcopy(module, memo)


def clone_replica_slice(module: nn.Module, replicas: slice) -> nn.Module:
    """Return a network that has copies of these replicas."""
    return deepcopy(slice_replicas(module, replicas))


def expand_replicas(weights: Mapping[str, Tensor], replicas: int) -> dict[str, Tensor]:
    """Return weights for K replicas: those of a single replica are repeated, others unchanged."""
    return {
        name: weight.expand(replicas, *weight.shape[1:]) if len(weight) == 1 else weight
        for name, weight in weights.items()
    }


def forward_by_replica(
    module: nn.Module, x: Tensor, replica: Tensor | None, legal: LegalActions | None = None
) -> Tensor:
    """Run each of N rows through its own replica, [N, in] -> [N, out].

    With `legal`, return only the outputs for legal actions, [N, L]. `replica` [N] may be None if
    the rows are K blocks of equal size, one for each replica.
    """
    replicas = count_replicas(module)
    if replicas == 1:
        if legal is not None:
            legal = LegalActions(legal.actions[None], legal.counts[None])
        return compute_all_or_legal_logits(module, x[None], legal)[0]  # type: ignore[no-any-return]
    if legal is not None:
        return legal.gather(forward_by_replica(module, x, replica))
    if replica is None:
        block_outputs: Tensor = module(x.reshape(replicas, len(x) // replicas, x.shape[1]))
        return block_outputs.flatten(0, 1)
    slot, block_size = _assign_slots_and_block_size(replica, replicas)
    blocks = x.new_zeros(replicas * block_size, x.shape[1]).index_copy(0, slot, x)
    out: Tensor = module(blocks.view(replicas, block_size, x.shape[1]))  # [K, block_size, out]
    return out.flatten(0, 1).index_select(0, slot)


def _assign_slots_and_block_size(replica: Tensor, replicas: int) -> tuple[Tensor, int]:
    """Group rows by replica in blocks of equal size; return each row's slot, [N], and the size."""
    counts = torch.bincount(replica, minlength=replicas)  # [K]
    block_size = int(counts.max())
    order = replica.to(torch.int32).argsort(stable=True)  # sorts twice as fast as int64
    starts = counts.cumsum(0) - counts
    shifts = torch.arange(replicas, device=replica.device) * block_size - starts
    slots = torch.arange(len(replica), device=replica.device) + shifts.repeat_interleave(counts)
    return torch.empty_like(replica).index_copy_(0, order, slots), block_size


@torch.no_grad()
def clip_gradients(module: nn.Module, max_norm: float) -> Tensor:
    """Limit the norm of each replica's gradient to `max_norm`; return the unclipped norms, [K]."""
    grads = [weight.grad for weight in module.parameters() if weight.grad is not None]
    if len(grads[0]) == 1:
        parts = [*torch._foreach_norm(grads)]  # a tenth faster than one call for each weight
    else:
        parts = [vector_norm(grad, dim=tuple(range(1, grad.dim()))) for grad in grads]
    norms: Tensor = torch.stack(parts).norm(dim=0).view(-1)  # [K]
    scale = (max_norm / (norms + 1e-6)).clamp(max=1)  # 1e-6 as in torch.nn.utils.clip_grad_norm_
    if len(scale) == 1:
        torch._foreach_mul_(grads, scale[0])
    else:
        for grad in grads:  # on a CPU faster than `_foreach_mul_`, which needs equal shapes
            grad.mul_(scale.view(-1, *[1] * (grad.dim() - 1)))
    return norms
