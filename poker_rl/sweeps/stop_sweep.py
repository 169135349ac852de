"""Ending a sweep by a signal: no further job begins, and those that run save their work.

A launcher whose jobs wait in the queue of a cluster leaves them there.
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

from poker_rl.training.signals import stop_signals

HALT = "halted"  # the file that tells of it


def halt(folder: Path, number: int) -> None:
    """Have no further job begin, in whatever process, because of a signal: the first one counts."""
    with suppress(FileExistsError), (folder / HALT).open("x") as file:
        file.write(str(number))


def halted_by(folder: Path) -> int | None:
    """The number of the signal, None if none came."""
    try:
        return int((folder / HALT).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


@contextmanager
def stoppable(folder: Path) -> Iterator[None]:
    """A job is in this context; a process of its own is told of the sweep's signals.

    One that comes while the job's run does not listen ends the job alone, and no further one is
    heard while the sweep ends. Its process stays: a launcher that loses one ends all others with
    it. If the process that began this one is killed, the job saves its work and this process ends.
    """
    ours = threading.current_thread() is threading.main_thread()
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    numbers = stop_signals() if ours else []
    before = {number: signal.getsignal(number) for number in numbers}
    unheard = {number: handler for number, handler in before.items() if handler in defaults}

    def once(number: int, frame: FrameType | None) -> None:
        for other in unheard:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in unheard:
        signal.signal(number, once)
    mark = mark_of(folder, os.getpid())
    parent, left = multiprocessing.parent_process(), threading.Event()
    if parent is not None:
        threading.Thread(target=_stop_alone, args=[parent.pid, left], daemon=True).start()
    try:
        with suppress(FileNotFoundError):  # on another machine, which no signal is sent to
            mark.touch()
        yield
    except KeyboardInterrupt:
        if not unheard:  # the sweep's own process
            raise
    finally:
        left.set()
        mark.unlink(missing_ok=True)
        if parent is not None and os.getppid() != parent.pid:
            os._exit(128 + signal.SIGTERM)  # what waits in line for it is for nobody
        for number, handler in unheard.items():
            if signal.getsignal(number) == once or halted_by(folder) is None:
                signal.signal(number, handler)


def _stop_alone(parent: int | None, left: threading.Event) -> None:
    """Send this process SIGTERM, once, when the process that began it is no more."""
    while not left.wait(1.0):
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
            return


def mark_of(folder: Path, process: int) -> Path:
    """The file that is there while a process is at a job, by the process's number."""
    return folder / f"{process}.job"


@contextmanager
def halting(folder: Path) -> Iterator[None]:
    """In this context a signal to stop ends the sweep: jobs save their work, no other begins.

    A job in this process has handlers of its own while it trains, and hands the signal on when its
    work is saved. Processes of jobs side by side are told here; from a terminal SIGINT comes to
    them as well, and both together count as one. A second signal acts at once.
    """
    before: dict[signal.Signals, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        halt(folder, number)
        for other, handler in before.items():
            signal.signal(other, handler)
        children = multiprocessing.active_children()
        if not children or mark_of(folder, os.getpid()).exists():  # nobody else to wait for
            raise KeyboardInterrupt
        for process in children:
            if process.pid is not None and mark_of(folder, process.pid).exists():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    if threading.current_thread() is threading.main_thread():
        before |= {number: signal.signal(number, note) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
