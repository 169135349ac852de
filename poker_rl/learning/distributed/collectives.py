"""Collective operations by `torch.distributed`; with a single process they return their input.

Each process has its own tables and replay buffers, and all have the same networks: gradients are
averaged before each optimizer step in one flat tensor, as in CleanRL's `ppo_atari_multigpu.py`.
Every process must call these functions in the same order. CPU tensors of processes on one machine
are exchanged through shared memory (`shm_allreduce`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from poker_rl.learning.distributed.shm_allreduce import ShmAllReduce
from poker_rl.learning.learner_timer import time_communication

PROCESS_LOST_MESSAGE = "another process of this run has ended"

_shm_all_reduce: ShmAllReduce | None = None


class ProcessLostError(ConnectionError):
    """Another process of the run has ended or cannot be reached."""


def get_world_size() -> int:
    """Return the number of processes of this run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def get_rank() -> int:
    """Return the rank of this process, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_main_process() -> bool:
    """Return whether this process has rank 0: the one that evaluates, writes files and prints."""
    return get_rank() == 0


@contextmanager
def use_shm_all_reduce(
    shm_all_reduce: ShmAllReduce, rank: int, check_alive: Callable[[], None]
) -> Iterator[None]:
    """Exchange CPU tensors through shared memory in this context; see `ShmAllReduce`."""
    global _shm_all_reduce
    shm_all_reduce.set_up_process(rank, check_alive)
    _shm_all_reduce = shm_all_reduce
    try:
        yield
    finally:
        _shm_all_reduce = None


@contextmanager
def convert_connection_errors() -> Iterator[None]:
    """Convert torch's errors about unreachable processes into ProcessLostError in this context."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessLostError(PROCESS_LOST_MESSAGE) from error


def average_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Replace the gradients of an optimizer's weights by their means over the processes."""
    if get_world_size() == 1:
        return
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = all_reduce_mean(torch.cat([gradient.flatten() for gradient in gradients]))
    parts = torch.split(flat, [gradient.numel() for gradient in gradients])
    means = [part.view_as(gradient) for part, gradient in zip(parts, gradients, strict=True)]
    torch._foreach_copy_(gradients, means)


def all_reduce_mean(values: Tensor) -> Tensor:
    """Return the elementwise mean over processes; with several processes it has no gradient."""
    count = get_world_size()
    return values if count == 1 else _all_reduce(values, take_max=False) / count


def all_reduce_max(values: Tensor) -> Tensor:
    """Return the elementwise maximum over processes."""
    return values if get_world_size() == 1 else _all_reduce(values, take_max=True)


def sum_over_processes(*counts: int) -> list[int]:
    """Return the sum of each count over processes."""
    if get_world_size() == 1:
        return list(counts)
    sums: list[int] = _all_reduce(torch.tensor(counts), take_max=False).tolist()
    return sums


def max_over_processes(number: int) -> int:
    """Return the maximum of a number over processes."""
    if get_world_size() == 1:
        return number
    return int(_all_reduce(torch.tensor([number]), take_max=True))


def average_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the mean of each metric over processes; every process must have the same tags."""
    if get_world_size() == 1:
        return dict(metrics)
    values = all_reduce_mean(torch.tensor(list(metrics.values()), dtype=torch.float64))
    return dict(zip(metrics, values.tolist(), strict=True))


def broadcast_from_main(value: Any) -> Any:
    """Return the main process's `value`, which may hold CPU tensors and plain values."""
    if get_world_size() == 1:
        return value
    holder = [value]
    with convert_connection_errors():
        dist.broadcast_object_list(holder, src=0, device=torch.device("cpu"))
    return holder[0]


def wait_for_all_processes() -> None:
    """Wait until every process has called this function (a barrier)."""
    max_over_processes(0)


def _all_reduce(values: Tensor, take_max: bool) -> Tensor:
    with time_communication(), torch.no_grad():
        if _shm_all_reduce is not None and values.device.type == "cpu":
            return _shm_all_reduce.all_reduce(values, take_max)
        out = values.detach().clone(memory_format=torch.contiguous_format)
        with convert_connection_errors():
            dist.all_reduce(out, dist.ReduceOp.MAX if take_max else dist.ReduceOp.SUM)
        return out
