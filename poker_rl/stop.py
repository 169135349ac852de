"""Leaving at Ctrl-C, SIGTERM or SIGHUP with everything saved."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any, Self


def caught() -> list[signal.Signals]:
    """The signals that ask for an end: SIGHUP, of a terminal that closes, unless under nohup."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


class Interrupted(Exception):
    """Stopped by a signal, after a checkpoint; the message tells how to go on."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


@contextmanager
def at_once() -> Iterator[None]:
    """Ctrl-C ends the process in this context at once, with nothing saved.

    Python would raise KeyboardInterrupt only when compiled code returns, which may take minutes.
    """
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if ours and before is signal.default_int_handler:  # a job in the background ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


class Stop:
    """A signal of those `caught`, noted to stop at the next whole step; a second one acts at once.

    A terminal and a parent process may each send one, and they come together: what comes within a
    second of the first is not a second one.
    """

    number = 0
    noted_at = 0.0

    def __enter__(self) -> Self:
        self.before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in caught():
                self.before[number] = signal.signal(number, self.note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            if monotonic() > self.noted_at + 1:
                self.__exit__()
                signal.raise_signal(number)
            return
        self.number, self.noted_at = number, monotonic()
        with suppress(OSError):  # print() may be half way through a line of its own
            os.write(2, b"\nstopping after this step (once more: at once)\n")
