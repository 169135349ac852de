"""Stop signals of a sweep: running jobs save their work, and no further job starts.

The process of the sweep writes the signal's number into a file of a temporary folder, which jobs
on the same machine see. Jobs that wait in the queue of a cluster stay there.
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


def stop_sweep(folder: Path, number: int) -> None:
    """Record a signal, after which no further job starts in any process; later ones are ignored."""
    with suppress(FileExistsError), (folder / STOP_FILE).open("x") as file:
        file.write(str(number))


def read_stop_signal(folder: Path) -> int | None:
    """Return the number of the signal that stopped the sweep; None if it was not stopped."""
    try:
        return int((folder / STOP_FILE).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


def get_job_mark(folder: Path, process_id: int) -> Path:
    """Return the path of a file that exists while the process with this id runs a job."""
    return folder / f"{process_id}.job"


@contextmanager
def handle_job_signals(folder: Path) -> Iterator[None]:
    """Run a job in this context, so that a signal to the sweep also stops this job.

    A stop signal outside of the job's training ends only the job, and later signals are ignored
    while the sweep stops. The process itself stays alive, because a launcher that loses a process
    kills all others. If the parent process was killed, this job saves its work and exits.
    """
    is_main_thread = threading.current_thread() is threading.main_thread()
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    numbers = list_stop_signals() if is_main_thread else []
    handlers = {number: signal.getsignal(number) for number in numbers}
    unhandled = {number: handler for number, handler in handlers.items() if handler in defaults}

    def interrupt_once(number: int, frame: FrameType | None) -> None:
        for other in unhandled:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in unhandled:
        signal.signal(number, interrupt_once)
    mark = get_job_mark(folder, os.getpid())
    parent, has_ended = multiprocessing.parent_process(), threading.Event()
    if parent is not None:
        arguments = [parent.pid, has_ended]
        threading.Thread(target=_terminate_with_parent, args=arguments, daemon=True).start()
    try:
        with suppress(FileNotFoundError):  # another machine, where the sweep sends no signals
            mark.touch()
        yield
    except KeyboardInterrupt:
        if not unhandled:  # the job runs in the process of the sweep, whose handlers raised it
            raise
    finally:
        has_ended.set()
        mark.unlink(missing_ok=True)
        if parent is not None and os.getppid() != parent.pid:
            os._exit(128 + signal.SIGTERM)  # queued jobs have no sweep left to report to
        for number, handler in unhandled.items():
            if signal.getsignal(number) == interrupt_once or read_stop_signal(folder) is None:
                signal.signal(number, handler)


def _terminate_with_parent(parent_id: int | None, has_ended: threading.Event) -> None:
    """Send SIGTERM to this process once its parent has ended."""
    while not has_ended.wait(1.0):
        if os.getppid() != parent_id:
            os.kill(os.getpid(), signal.SIGTERM)
            return


@contextmanager
def handle_sweep_signals(folder: Path) -> Iterator[None]:
    """Stop the sweep at a signal in this context; a second signal acts at once.

    A job in the process of the sweep has its own handlers while it trains, and raises the signal
    again after its work is saved. This handler forwards the signal to jobs in other processes. A
    terminal sends SIGINT to them as well, and they treat both signals as one.
    """
    old_handlers: dict[signal.Signals, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        stop_sweep(folder, number)
        for other, handler in old_handlers.items():
            signal.signal(other, handler)
        children = multiprocessing.active_children()
        if not children or get_job_mark(folder, os.getpid()).exists():  # no parallel jobs
            raise KeyboardInterrupt
        for process in children:
            if process.pid is not None and get_job_mark(folder, process.pid).exists():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    if threading.current_thread() is threading.main_thread():
        old_handlers |= {number: signal.signal(number, stop) for number in list_stop_signals()}
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
