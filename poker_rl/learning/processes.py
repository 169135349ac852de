"""What the processes of a run do together, by `torch.distributed`; one process does nothing of it.

Each process plays tables of its own and learns from memories of its own. The networks are the same
in all of them: gradients are averaged before each step of an optimiser, as in CleanRL's
`ppo_atari_multigpu.py`, in one flat tensor. Every process has to call these functions equally
often and in the same order. What lies on the CPU of processes that one of them has started goes
through memory that they share (`nearby`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from poker_rl.learning.clock import exchanging
from poker_rl.learning.nearby import Nearby

LOST = "another process of this run has ended"

_nearby: Nearby | None = None


class Lost(ConnectionError):
    """Another process of the run has ended, or can't be reached."""


def count() -> int:
    """Processes of this run."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """The number of this one, from 0 on."""
    return dist.get_rank() if dist.is_initialized() else 0


def first() -> bool:
    """Whether this is the process that measures, writes and speaks."""
    return rank() == 0


@contextmanager
def sharing(nearby: Nearby, rank: int, check: Callable[[], None]) -> Iterator[None]:
    """In this context numbers on the CPU are exchanged through shared memory; see `Nearby.join`."""
    global _nearby
    nearby.join(rank, check)
    _nearby = nearby
    try:
        yield
    finally:
        _nearby = None


@contextmanager
def reaching_others() -> Iterator[None]:
    """In this context what torch raises where another process can't be reached is `Lost`."""
    try:
        yield
    except RuntimeError as error:
        raise Lost(LOST) from error


def average_gradients(optimiser: torch.optim.Optimizer) -> None:
    """Give every process the mean of all processes' gradients."""
    if count() == 1:
        return
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = mean(torch.cat([gradient.flatten() for gradient in gradients]))
    parts = torch.split(flat, [gradient.numel() for gradient in gradients])
    means = [part.view_as(one) for part, one in zip(parts, gradients, strict=True)]
    torch._foreach_copy_(gradients, means)


def mean(values: Tensor) -> Tensor:
    """The mean over the processes, element by element; without a gradient if there are several."""
    return values if count() == 1 else _reduced(values, largest=False) / count()


def largest(values: Tensor) -> Tensor:
    """The largest of the processes, element by element."""
    return values if count() == 1 else _reduced(values, largest=True)


def totals(*numbers: int) -> list[int]:
    """The sum of each number over the processes."""
    if count() == 1:
        return list(numbers)
    sums: list[int] = _reduced(torch.tensor(numbers), largest=False).tolist()
    return sums


def most(number: int) -> int:
    """The largest of the processes' numbers."""
    return number if count() == 1 else int(_reduced(torch.tensor([number]), largest=True))


def least(number: int) -> int:
    """The smallest of the processes' numbers."""
    return -most(-number)


def means(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics, each the mean over the processes, all of which have the same tags."""
    if count() == 1:
        return dict(metrics)
    values = mean(torch.tensor(list(metrics.values()), dtype=torch.float64))
    return dict(zip(metrics, values.tolist(), strict=True))


def from_first(what: Any) -> Any:
    """What the first process says: tensors on the CPU and plain values."""
    if count() == 1:
        return what
    said = [what]
    with reaching_others():
        dist.broadcast_object_list(said, src=0, device=torch.device("cpu"))
    return said[0]


def meet() -> None:
    """Wait until every process is here."""
    most(0)


def _reduced(values: Tensor, largest: bool) -> Tensor:
    with exchanging(), torch.no_grad():
        if _nearby is not None and values.device.type == "cpu":
            return _nearby.gathered(values, _largest if largest else _sum)
        out = values.detach().clone(memory_format=torch.contiguous_format)
        with reaching_others():
            dist.all_reduce(out, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
        return out


def _sum(values: Tensor) -> Tensor:
    return values.sum(0, dtype=values.dtype)


def _largest(values: Tensor) -> Tensor:
    return values.amax(0)
