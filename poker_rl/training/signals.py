"""Signals that ask a run to stop: Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2."""

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

# Signals within this time are one: a terminal and a parent process may each send it.
SAME_SIGNAL_S = 1.0
GRACE_S = 0.5  # that a second signal waits for compiled code to return to Python

STOPPING = b"\nstopping once this step of learning or evaluation is done (once more: at once)\n"
ENDED = b"\nended in the middle of a step; what was saved last is kept\n"


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask for a stop: SIGHUP of a closing terminal, unless under nohup.

    Clusters send SIGUSR1 or SIGUSR2 some time before they end a job.
    """
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


class Interrupted(Exception):
    """A signal has stopped the run after a checkpoint; the message says how to resume."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


def forward_signal(number: int) -> None:
    """Raise a signal again that a run has handled, for the handler from before the run.

    That is the handler of the sweep that the run is a job of, or of a launcher that puts the job
    back into its queue.
    """
    handler = signal.getsignal(number)
    if callable(handler) and handler is not signal.default_int_handler:
        signal.raise_signal(number)


@contextmanager
def interrupt_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process at once in this context, with nothing saved.

    Python would raise KeyboardInterrupt only when compiled code returns, which may take minutes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if is_main and before is signal.default_int_handler:  # a job in the background ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


class StopSignals:
    """Handler of stop signals: the first asks for a stop at the next step, a second acts at once.

    Python calls a signal's handler only between two of its own instructions, which compiled code
    may delay for minutes. So a thread listens too: it prints that the first signal has arrived, and
    ends the process as kill -9 would if the second one is not handled soon.
    """

    number = 0  # of the signal that came; 0: none
    time = 0.0

    def stop_requested(self) -> bool:
        """Return whether a signal has come to any process of the run; all have to call this."""
        number = processes.most(self.number)
        if number and not self.number:
            self.number, self.time = number, monotonic()  # the same signal may yet come here
        return number > 0

    def __enter__(self) -> Self:
        self.before: dict[signal.Signals, Any] = {}
        self._closed = threading.Event()
        if threading.current_thread() is threading.main_thread():
            reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._fd_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            self._listener = threading.Thread(target=self._listen, args=[reader], daemon=True)
            self._listener.start()
            for number in stop_signals():
                self.before[number] = signal.signal(number, self.handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self.before and not self._closed.is_set():
            for number, handler in self.before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._fd_before)
            self._closed.set()
            os.close(self._writer)
            self._listener.join()

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            if monotonic() > self.time + SAME_SIGNAL_S:
                self.__exit__()
                signal.raise_signal(number)
            return
        self.number, self.time = number, monotonic()

    def _listen(self, reader: int) -> None:
        """Read the number of each signal, one byte each, until the writer is closed."""
        first = None
        while number := os.read(reader, 1):
            if number[0] not in self.before:
                continue
            if first is None:
                first = perf_counter()
                if processes.first():
                    with suppress(OSError):  # print() may be half way through a line of its own
                        os.write(2, STOPPING)
            elif perf_counter() > first + SAME_SIGNAL_S and not self._closed.wait(GRACE_S):
                with suppress(OSError):
                    os.write(2, ENDED)
                os._exit(128 + number[0])
        os.close(reader)
