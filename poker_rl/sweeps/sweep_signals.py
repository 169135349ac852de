"""Stop signals of a sweep: running jobs save their work, and no further job starts.

The sweep's process writes the number of the signal into a file in a temporary folder. Jobs in other
processes on the same machine look for this file. Jobs on a cluster are not stopped.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from poker_rl.training.signals import list_stop_signals

STOP_FILE = "stopped_by"  # file that contains the number of the first stop signal
WATCH_INTERVAL_S = 0.5


def record_stop_signal(folder: Path, number: int) -> None:
    """Record the first stop signal, so that no further job starts; ignore later signals."""
    with suppress(FileExistsError), (folder / STOP_FILE).open("x") as file:
        file.write(str(number))


def read_stop_signal(folder: Path) -> int | None:
    """Return the number of the signal that stopped the sweep; None if no signal has stopped it."""
    try:
        return int((folder / STOP_FILE).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


@contextmanager
def handle_sweep_signals(folder: Path, is_parallel: bool) -> Iterator[None]:
    """Stop the sweep in this context at a stop signal; at a second signal, end at once.

    A job in this process handles a signal first: it saves its work and raises the signal again. If
    `is_parallel`, jobs run in other processes, and this process waits until they have ended.
    """
    old_handlers: dict[signal.Signals, Any] = {}

    def restore_handlers() -> None:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:
        record_stop_signal(folder, number)
        restore_handlers()
        if not (is_parallel and multiprocessing.active_children()):
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        old_handlers |= {number: signal.signal(number, stop) for number in list_stop_signals()}
    try:
        yield
    finally:
        restore_handlers()


@contextmanager
def stop_job_with_sweep(folder: Path) -> Iterator[None]:
    """Stop the job in this context when its sweep is stopped or the sweep's process has ended.

    This applies to jobs in child processes of the sweep. The child process itself does not end,
    because a launcher that loses one process kills all others.
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # the sweep's own process and clusters have other signal handlers
        yield
        return
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.wait(WATCH_INTERVAL_S):
            if read_stop_signal(folder) is not None or os.getppid() != parent.pid:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    # Ctrl-C reaches all processes; jobs ignore it, because the sweep's process stops them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, interrupt)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        has_ended.set()
        watcher.join()
        if os.getppid() != parent.pid:
            # The sweep's process has ended, so this process gets no more jobs.
            os._exit(128 + signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
