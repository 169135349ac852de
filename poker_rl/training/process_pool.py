"""Pool of processes that run numbered tasks, or the ranks of a distributed run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import BaseContext

KILLED_MESSAGE = "a worker process was killed, perhaps for lack of memory"

TaskRunner = Callable[[int], None]  # function that runs the task whose number it gets

_run_task: TaskRunner | None = None  # set only in the processes of the pool


@contextmanager
def open_pool(
    count: int, context: BaseContext, initializer: Callable[..., None], *arguments: object
) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of processes in this context; at its end, kill the processes.

    Raise ChildProcessError if the context fails because one of the processes was killed.
    """
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, context, initializer, arguments)
    try:
        yield pool
    except BrokenProcessPool:
        raise ChildProcessError(KILLED_MESSAGE) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
            process.join()


def run_tasks_as_completed(
    create_task_runner: Callable[[], TaskRunner], tasks: Sequence[int], workers: int
) -> Iterator[int]:
    """Run tasks in a pool of processes, and yield the number of each finished task.

    Each process calls `create_task_runner` once, and ends when this process ends or is killed. An
    error of a task is raised here, and ChildProcessError if a process of the pool was killed.
    """
    context = multiprocessing.get_context("spawn")  # a fork would lack the threads of this process
    count = min(workers, len(tasks))
    with open_pool(count, context, prepare_pool_process, signal.SIG_DFL) as pool:
        task_by_future = {
            pool.submit(_run_task_in_pool_process, create_task_runner, task): task for task in tasks
        }
        for future in as_completed(task_by_future):
            future.result()
            yield task_by_future[future]


def prepare_pool_process(interrupt_handler: signal.Handlers) -> None:
    """Set this process's handler of Ctrl-C, and let the process end when its parent ends."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, interrupt_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _run_task_in_pool_process(create_task_runner: Callable[[], TaskRunner], task: int) -> None:
    global _run_task
    _run_task = _run_task or create_task_runner()
    _run_task(task)


def _exit_with_parent() -> None:
    """Wait until the parent process has ended, and then exit at once."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
