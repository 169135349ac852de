"""Minibatches of rows for networks with a replica axis, in random order."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import torch
from torch import Tensor

from poker_rl.learning import collectives


def sample_uniform_numbers(seed: Tensor, count: int) -> Tensor:
    """Return pseudorandom numbers in [0, 1), equal on every type of device, [count] float64.

    They are computed from a seed, [] int64, by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    bits = torch.arange(count, device=seed.device) * -0x61C8864680B583EB + seed
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15)):
        bits = (bits ^ (bits >> shift & (1 << 64 - shift) - 1)) * factor
    bits = bits ^ (bits >> 31 & (1 << 33) - 1)
    return (bits >> 11 & (1 << 53) - 1).double() * 2.0**-53


def iterate_minibatch_indices(
    replica: Tensor, is_used: Tensor, uniform: Tensor, replicas: int, count: int, max_rows: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Iterate in random order over the used rows among N rows, in minibatches [K, B].

    All processes of the run must iterate together. The CPU does not wait for a GPU.

    Args:
        replica, is_used: replica of each row, and whether the row is used, [N].
        uniform: a random number in [0, 1) for each row, [N] float64, which decides the order.
        count: number of minibatches; reduced to `max_rows` if that is less, but at least one.
        max_rows: upper bound of the number of used rows of a replica in any process.

    Yields:
        indices [K, B] of B rows for each of K replicas, and their weights [K, B]. A replica's sum
        of weight x loss, averaged over the processes, is the mean loss of its rows in the
        minibatches of all processes. A replica with fewer than `max_rows` used rows is padded with
        rows of weight 0, spread evenly over the minibatches. B is 0 if N is 0.
    """
    minibatch_count = max(1, min(count, max_rows))
    order = torch.where(is_used, replica + uniform, replicas).argsort()
    replica_or_none = torch.where(is_used, replica, replicas)
    counts = torch.zeros(replicas + 1, dtype=torch.int64, device=replica.device)
    counts = counts.index_add_(0, replica_or_none, torch.ones_like(replica))[:replicas, None]
    rows_per_minibatch = ceil(max_rows / minibatch_count)
    position = torch.arange(rows_per_minibatch * minibatch_count, device=replica.device)
    index = counts.cumsum(0) - counts + position % counts.clamp(min=1)  # [K, positions]
    is_real_row = (position < counts).float()
    parts = [is_real_row[:, start::minibatch_count] for start in range(minibatch_count)]
    mean_row_counts = collectives.all_reduce_mean(
        torch.stack([part.sum(1, keepdim=True) for part in parts])
    )
    row_table = order[index.clamp(max=len(order) - 1)] if len(order) else index[:, :0]
    for start, (part, row_count) in enumerate(zip(parts, mean_row_counts, strict=True)):
        rows = row_table[:, start::minibatch_count]
        weight = part[:, : rows.shape[1]]
        yield rows, weight / row_count.clamp(min=1 / collectives.get_world_size())
