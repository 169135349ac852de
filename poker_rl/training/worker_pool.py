"""Tasks shared out over processes of their own, which end together with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from poker_rl.config.settings import Refused
from poker_rl.training.signals import interrupt_at_once

Begin = Callable[[], Callable[[int], None]]
"""Called once in each process: what does a task there, given its number."""


def share_out(begin: Begin, tasks: Sequence[int], workers: int) -> Iterator[int]:
    """Do tasks in so many processes at once; the number of each as it is done.

    The processes are fresh interpreters (spawn), so threads of this one do them no harm. They end
    when this one does, whatever ends it.

    Raises:
        Refused, OSError: what a task raised.
        ChildProcessError: if a process ended otherwise.
    """
    left = iter(tasks)
    context = multiprocessing.get_context("spawn")
    busy = {}
    for _ in range(min(workers, len(tasks))):
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=[theirs, begin], daemon=True)
        process.start()
        theirs.close()  # so that only the process itself holds it open
        busy[ours] = process
        ours.send(next(left))
    while busy:
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            process = busy[ready]
            try:
                answer, task = ready.recv(), None
                if not isinstance(answer, Exception):
                    task = next(left, None)
                    ready.send(task)
            except (EOFError, ConnectionError):
                process.join()
                raise ChildProcessError(describe_exit(process.exitcode or 0)) from None
            if isinstance(answer, Exception):
                raise answer
            if task is None:
                busy.pop(ready).join()
            yield answer


def describe_exit(code: int) -> str:
    """How a process ended, by its exit code."""
    how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
    why = ", as by lack of memory" if code == -signal.SIGKILL else ""
    return f"a worker process was ended {how}{why}"


def _serve(connection: Connection, begin: Begin) -> None:
    """Do one task after another in a process of its own."""
    threading.Thread(target=exit_with_parent, daemon=True).start()
    with interrupt_at_once():
        try:
            work = begin()
            while (task := connection.recv()) is not None:
                work(task)
                connection.send(task)
        except (Refused, OSError) as error:
            with suppress(OSError):  # nobody is left to be told
                connection.send(error)


def exit_with_parent() -> None:
    """End this process at once when the one that started it has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
