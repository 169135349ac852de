"""Collective operations over the processes of one run; with a single process they do nothing.

Each process has its own tables and replay buffers. The networks start equal in all processes. They
stay equal, because gradients are averaged over the processes before each optimizer step, in one
flat tensor as in CleanRL's `ppo_atari_multigpu.py`. Every process must call these functions in the
same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from poker_rl.learning.learner_timer import time_communication

PROCESS_LOST_MESSAGE = "another process of this run has ended"
CHUNK_BYTES = 8 << 20  # size of a shared memory block; larger tensors are split into chunks
SPIN_TRIES = 100_000  # polls of a semaphore before a process sleeps; 1,000 polls take 0.1 ms

_shm_all_reduce: ShmAllReduce | None = None
local_world_size = 1  # number of this run's processes on this machine, which share its memory


class ProcessLostError(ConnectionError):
    """Error raised if another process of the run has ended or cannot be reached."""


class ShmAllReduce:
    """All-reduce of CPU tensors by shared memory and semaphores, for processes on one machine.

    With `spin`, which needs a core for each process, a waiting process polls for about 10 ms before
    it sleeps. An all-reduce then takes some hundredths of a millisecond; torch's gloo backend takes
    1 to 3 ms, because it wakes up sleeping threads. Each process writes into a memory block of its
    own, then releases one semaphore for each other process. Calls use two sets of blocks in turn,
    so call n + 2 reuses the blocks of call n. This is safe: a process begins call n + 2 only after
    all others have begun call n + 1, and by then they have read the values of call n.
    """

    def __init__(self, workers: int, spin: bool, context: BaseContext) -> None:
        self._workers, self._spin_tries = workers, SPIN_TRIES if spin else 0
        self._shared_bytes = context.RawArray("b", 2 * workers * CHUNK_BYTES)
        self._written_semaphores = [
            [context.Semaphore(0) for _ in range(workers)] for _ in range(workers)
        ]
        self._exchanges = 0

    def set_rank_and_liveness_check(self, rank: int, check_alive: Callable[[], None]) -> None:
        """Set the rank, and a function to call in waits, which raises if a process has failed."""
        self._rank, self._check_alive = rank, check_alive

    def all_reduce(self, values: Tensor, take_max: bool) -> Tensor:
        """Return the elementwise sum or maximum over processes, bitwise equal in every process."""
        flat = values.contiguous().view(-1)
        reduced = []
        for chunk in torch.split(flat, CHUNK_BYTES // flat.element_size()):
            gathered = self._all_gather(chunk)  # [workers, n]
            reduced.append(gathered.amax(0) if take_max else gathered.sum(0, dtype=values.dtype))
        return torch.cat(reduced).view_as(values)

    def _all_gather(self, values: Tensor) -> Tensor:
        """Return all processes' values [n] as [workers, n]; the next call may overwrite them."""
        start = (self._exchanges % 2) * self._workers * CHUNK_BYTES
        self._exchanges += 1
        element_count = self._workers * CHUNK_BYTES // values.element_size()
        shared_values = torch.frombuffer(
            self._shared_bytes, dtype=values.dtype, count=element_count, offset=start
        )
        values_by_rank = shared_values.view(self._workers, -1)[:, : len(values)]
        values_by_rank[self._rank] = values
        other_ranks = [rank for rank in range(self._workers) if rank != self._rank]
        for rank in other_ranks:
            self._written_semaphores[self._rank][rank].release()
        for rank in other_ranks:
            semaphore = self._written_semaphores[rank][self._rank]
            if not any(semaphore.acquire(False) for _ in range(self._spin_tries)):
                while not semaphore.acquire(timeout=1.0):
                    self._check_alive()
        return values_by_rank


@contextmanager
def use_shm_all_reduce(
    shm_all_reduce: ShmAllReduce, rank: int, check_alive: Callable[[], None]
) -> Iterator[None]:
    """Reduce CPU tensors by `shm_all_reduce` instead of torch's backend while in this context."""
    global _shm_all_reduce
    shm_all_reduce.set_rank_and_liveness_check(rank, check_alive)
    _shm_all_reduce = shm_all_reduce
    try:
        yield
    finally:
        _shm_all_reduce = None


@contextmanager
def convert_connection_errors() -> Iterator[None]:
    """Convert RuntimeErrors, which torch raises for lost connections, into ProcessLostError."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessLostError(PROCESS_LOST_MESSAGE) from error


def get_world_size() -> int:
    """Return the number of processes of this run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def get_rank() -> int:
    """Return the rank of this process, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def is_main_process() -> bool:
    """Return whether this process has rank 0: it alone evaluates, writes files and prints."""
    return get_rank() == 0


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
    """Return the elementwise mean over processes; if there are several, it has no gradient."""
    count = get_world_size()
    return values if count == 1 else _all_reduce(values, take_max=False) / count


def all_reduce_max(values: Tensor) -> Tensor:
    """Return the elementwise maximum over processes."""
    return _all_reduce(values, take_max=True)


def sum_over_processes(*counts: int) -> list[int]:
    """Return the sum of each count over processes, in the order of the arguments."""
    sums: list[int] = _all_reduce(torch.tensor(counts), take_max=False).tolist()
    return sums


def max_over_processes(number: int) -> int:
    """Return the maximum of a number over processes."""
    return int(all_reduce_max(torch.tensor(number)))


def wait_for_all_processes() -> None:
    """Wait until every process has called this function (a barrier)."""
    max_over_processes(0)


def average_metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the mean of each metric over processes; every process must pass the same keys."""
    if get_world_size() == 1:
        return dict(metrics)
    values = all_reduce_mean(torch.tensor(list(metrics.values()), dtype=torch.float64))
    return dict(zip(metrics, values.tolist(), strict=True))


def broadcast_from_main(value: Any) -> Any:
    """Return the main process's `value` in every process; its tensors must be on the CPU."""
    if get_world_size() == 1:
        return value
    holder = [value]
    with convert_connection_errors():
        dist.broadcast_object_list(holder, src=0, device=torch.device("cpu"))
    return holder[0]


def _all_reduce(values: Tensor, take_max: bool) -> Tensor:
    if get_world_size() == 1:
        return values
    with time_communication(), torch.no_grad():
        if _shm_all_reduce is not None and values.device.type == "cpu":
            return _shm_all_reduce.all_reduce(values, take_max)
        out = values.detach().clone(memory_format=torch.contiguous_format)
        with convert_connection_errors():
            dist.all_reduce(out, dist.ReduceOp.MAX if take_max else dist.ReduceOp.SUM)
        return out
