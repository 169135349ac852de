"""Stop signals of a sweep: running jobs save their work, and no further job starts.

The process of the sweep writes the signal's number into a file of a temporary folder, which jobs in
other processes on the same machine watch. Jobs that wait in the queue of a cluster stay there.
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

STOP_FILE = "stopped_by"  # contains the number of the first stop signal
WATCH_INTERVAL_S = 0.5


def record_stop_signal(folder: Path, number: int) -> None:
    """Record a signal, after which no further job starts in any process; later ones are ignored."""
    with suppress(FileExistsError), (folder / STOP_FILE).open("x") as file:
        file.write(str(number))


def read_stop_signal(folder: Path) -> int | None:
    """Return the number of the signal that stopped the sweep; None if it was not stopped."""
    try:
        return int((folder / STOP_FILE).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


@contextmanager
def handle_sweep_signals(folder: Path, is_parallel: bool) -> Iterator[None]:
    """Stop the sweep at a signal in this context; a second signal acts at once.

    A job in this process has its own handlers while it trains, and raises the signal again after
    its work is saved. If `is_parallel`, jobs run in other processes, for which this one waits.
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
def stop_with_sweep(folder: Path) -> Iterator[None]:
    """Stop the parallel job in this context when the sweep is stopped or its process has ended.

    The process of the job stays alive, because a launcher that loses a process kills all others.
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # the process of the sweep, or of a cluster, which has its own handlers
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

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the sweep as well
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
            os._exit(128 + signal.SIGTERM)  # queued jobs have no sweep left to report to
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
