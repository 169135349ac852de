"""Numbers of several processes on one machine, brought together in memory that they share.

A step of a small network takes a millisecond. To exchange its gradients by gloo takes one to three
more, nearly all of it until sleeping threads have woken up. Here a process that waits for another
stays awake for a while, and an exchange takes a few hundredths of a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Semaphore

import torch
from torch import Tensor

ROOM = 8 << 20  # bytes of each process at a time; what is larger goes in several parts
LOOKS = 100_000  # for another process, a tenth of a millisecond for a thousand, before sleeping


class Nearby:
    """What the processes have in common; made by one of them and given to the others.

    Each has a place to write to and a semaphore for each of the others, by which it says that it
    has written. There are two such places in turn: who writes to one of them for the second time
    has heard from all the others in between, so they have read what was there before.

    Args:
        workers: processes.
        awake: whether there is a core for each of them, so that who waits need not sleep.
    """

    def __init__(self, workers: int, awake: bool, context: BaseContext) -> None:
        self._workers, self._looks = workers, LOOKS if awake else 0
        self._room = context.RawArray("b", 2 * workers * ROOM)
        self._written = [[context.Semaphore(0) for _ in range(workers)] for _ in range(workers)]
        self._turn = 0

    def join(self, rank: int, check: Callable[[], None]) -> None:
        """Be one of the processes.

        Args:
            rank: which one.
            check: called each second of waiting; it raises where another one has ended.
        """
        self._rank, self._check = rank, check

    def gathered(self, values: Tensor, reduce: Callable[[Tensor], Tensor]) -> Tensor:
        """What a function makes of the values of all processes; each gets the same, to the bit.

        Args:
            values: on the CPU, of the same shape in all processes.
            reduce: from [workers, part] to [part], element by element.
        """
        flat = values.contiguous().view(-1)
        longest = ROOM // flat.element_size()
        parts = [reduce(self._together(part)) for part in torch.split(flat, longest)]
        return torch.cat(parts).view_as(values)

    def _together(self, values: Tensor) -> Tensor:
        """All processes' values, [workers, n]; they stay as they are until the next but one."""
        start = (self._turn % 2) * self._workers * ROOM
        self._turn += 1
        numbers = self._workers * ROOM // values.element_size()
        room = torch.frombuffer(self._room, dtype=values.dtype, count=numbers, offset=start)
        places = room.view(self._workers, -1)[:, : len(values)]
        places[self._rank] = values
        others = [rank for rank in range(self._workers) if rank != self._rank]
        for other in others:
            self._written[self._rank][other].release()
        for other in others:
            self._wait(self._written[other][self._rank])
        return places

    def _wait(self, written: Semaphore) -> None:
        for _ in range(self._looks):
            if written.acquire(False):
                return
        while not written.acquire(timeout=1.0):
            self._check()
