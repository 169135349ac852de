"""Worker processes that run numbered tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from poker_rl.config.validation import ConfigError
from poker_rl.training.signals import interrupt_at_once

CreateRunTask = Callable[[], Callable[[int], None]]
"""Called once in each worker process; returns the function that runs a task by its number."""


def run_tasks(create_run_task: CreateRunTask, tasks: Sequence[int], workers: int) -> Iterator[int]:
    """Run tasks in worker processes and yield the number of each when it is done.

    The workers are spawned, not forked, because this process has threads. They end when it ends,
    even if it is killed.

    Raises:
        ConfigError, OSError: the error that a task raised.
        ChildProcessError: if a worker ended in another way.
    """
    waiting = iter(tasks)
    context = multiprocessing.get_context("spawn")
    busy = {}
    for _ in range(min(workers, len(tasks))):
        connection, worker_connection = context.Pipe()
        arguments = [worker_connection, create_run_task]
        process = context.Process(target=_run_worker, args=arguments, daemon=True)
        process.start()
        worker_connection.close()  # only the worker may hold it open, so that its end is noticed
        busy[connection] = process
        connection.send(next(waiting))
    while busy:
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            process = busy[ready]
            try:
                answer, task = ready.recv(), None
                if not isinstance(answer, Exception):
                    task = next(waiting, None)
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
    """Return the message about a worker process that ended with this exit code."""
    how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
    cause = ", as by lack of memory" if code == -signal.SIGKILL else ""
    return f"a worker process was ended {how}{cause}"


def _run_worker(connection: Connection, create_run_task: CreateRunTask) -> None:
    """Receive and run task numbers until None arrives; send back each number when it is done."""
    threading.Thread(target=exit_with_parent, daemon=True).start()
    with interrupt_at_once():
        try:
            run_task = create_run_task()
            while (task := connection.recv()) is not None:
                run_task(task)
                connection.send(task)
        except (ConfigError, OSError) as error:
            with suppress(OSError):  # the parent process may have ended
                connection.send(error)


def exit_with_parent() -> None:
    """Exit at once when the parent process has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
