"""Pool of processes that run numbered tasks, such as the tables of a tournament."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

CreateRunTask = Callable[[], Callable[[int], None]]
"""Function that a worker process calls once; it returns the function that runs a task."""

_run_task: Callable[[int], None] | None = None  # in a worker process: the function that runs a task


def run_tasks(create_run_task: CreateRunTask, tasks: Sequence[int], workers: int) -> Iterator[int]:
    """Run tasks in worker processes and yield the number of each finished task.

    Worker processes are spawned, not forked, because this process has threads. They end when this
    process ends, even if it is killed. An error of a task is raised here.

    Raises:
        ChildProcessError: if a worker was killed.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, _prepare_worker)
    try:
        task_by_future = {pool.submit(_run, create_run_task, task): task for task in tasks}
        for future in as_completed(task_by_future):
            future.result()
            yield task_by_future[future]
    except BrokenProcessPool:
        raise ChildProcessError("a worker process was ended, as by lack of memory") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()


def _prepare_worker() -> None:
    """Let this worker process end at Ctrl-C, and when its parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=wait_for_parent_and_exit, daemon=True).start()


def _run(create_run_task: CreateRunTask, task: int) -> None:
    global _run_task
    _run_task = _run_task or create_run_task()
    _run_task(task)


def wait_for_parent_and_exit() -> None:
    """Wait until the parent process has ended, and then exit at once."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
