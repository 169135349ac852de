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

from poker_rl.runs.stop import caught

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

    One that comes while the job's run does not listen ends the job alone. Its process stays: a
    launcher that loses one ends all others with it.
    """
    ours = threading.current_thread() is threading.main_thread()
    numbers = caught() if ours else []
    unheard = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in unheard:
        signal.signal(number, signal.default_int_handler)
    mark = mark_of(folder, os.getpid())
    try:
        with suppress(FileNotFoundError):  # on another machine, which no signal is sent to
            mark.touch()
        yield
    except KeyboardInterrupt:
        if not unheard:  # the sweep's own process
            raise
    finally:
        mark.unlink(missing_ok=True)
        for number in unheard:
            signal.signal(number, signal.SIG_DFL)


def mark_of(folder: Path, process: int) -> Path:
    """The file that is there while a process is at a job, by the process's number."""
    return folder / f"{process}.job"


@contextmanager
def halting(folder: Path) -> Iterator[None]:
    """In this context a signal to stop ends the sweep: jobs save their work, no other begins.

    A job in this process has handlers of its own while it trains, and hands the signal on when its
    work is saved. A terminal sends SIGINT to the processes of jobs side by side as well; of all
    else they are told here. A second signal acts at once.
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
            if number != signal.SIGINT and mark_of(folder, process.pid or 0).exists():
                process.terminate()

    if threading.current_thread() is threading.main_thread():
        before |= {number: signal.signal(number, note) for number in caught()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
