"""Leaving at Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 or SIGUSR2 with everything saved."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, perf_counter
from types import FrameType
from typing import Any, Self

from poker_rl.learning import processes

TOGETHER = 1.0  # seconds in which signals are one: a terminal and a parent process may each send it
PATIENCE = 0.5  # seconds that a second one waits for compiled code to return to Python

STOPPING = b"\nstopping once this step of learning or evaluation is done (once more: at once)\n"
ENDED = b"\nended in the middle of a step; what was saved last is kept\n"


def caught() -> list[signal.Signals]:
    """The signals that ask for an end: SIGHUP, of a terminal that closes, unless under nohup.

    Clusters send SIGUSR1 or SIGUSR2 some time before they end a job.
    """
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


class Interrupted(Exception):
    """Stopped by a signal, after a checkpoint; the message tells how to go on."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


def hand_on(number: int) -> None:
    """Give a signal that a run has answered to whoever listened before the run began.

    That is the sweep that the run is a job of, or a launcher that puts the job back in its queue.
    """
    handler = signal.getsignal(number)
    if callable(handler) and handler is not signal.default_int_handler:
        signal.raise_signal(number)


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

    Python calls a signal's handler only between two of its own instructions, which compiled code
    may keep waiting for minutes. So a thread listens too: it answers the first signal, and ends the
    process as kill -9 would if the second one is not taken up soon.
    """

    number = 0
    noted_at = 0.0

    def asked(self) -> bool:
        """Whether a signal has come to any process of the run, all of which have to ask."""
        first = processes.most(self.number)
        if first and not self.number:
            self.number, self.noted_at = first, monotonic()  # the same signal may yet come here
        return first > 0

    def __enter__(self) -> Self:
        self.before: dict[signal.Signals, Any] = {}
        self._left = threading.Event()
        if threading.current_thread() is threading.main_thread():
            heard, self._tell = os.pipe()
            os.set_blocking(self._tell, False)
            self._told_before = signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
            self._listener = threading.Thread(target=self._listen, args=[heard], daemon=True)
            self._listener.start()
            for number in caught():
                self.before[number] = signal.signal(number, self.note)
        return self

    def __exit__(self, *error: object) -> None:
        if self.before and not self._left.is_set():
            for number, handler in self.before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._told_before)
            self._left.set()
            os.close(self._tell)
            self._listener.join()

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            if monotonic() > self.noted_at + TOGETHER:
                self.__exit__()
                signal.raise_signal(number)
            return
        self.number, self.noted_at = number, monotonic()

    def _listen(self, heard: int) -> None:
        """Read the number of each signal, a byte, as it comes, until the other end is closed."""
        first = None
        while number := os.read(heard, 1):
            if number[0] not in self.before:
                continue
            if first is None:
                first = perf_counter()
                if processes.first():
                    with suppress(OSError):  # print() may be half way through a line of its own
                        os.write(2, STOPPING)
            elif perf_counter() > first + TOGETHER and not self._left.wait(PATIENCE):
                with suppress(OSError):
                    os.write(2, ENDED)
                os._exit(128 + number[0])
        os.close(heard)
