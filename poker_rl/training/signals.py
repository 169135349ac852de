"""Stop signals of a run: SIGINT (Ctrl-C), SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Self

from poker_rl.learning import collectives
from poker_rl.training.run_outcome import RunInterruptedError

# Signals within this time (in seconds) after the first are ignored, because a process may get one
# Ctrl-C twice: from the terminal and from its parent process.
SAME_SIGNAL_S = 1.0
STOPPING_MESSAGE = (
    "\nstopping after this step of learning or evaluation (a second signal: at once)\n"
)
ENDED_MESSAGE = "\nended in the middle of a step; the last checkpoint is kept\n"


def list_stop_signals() -> list[signal.Signals]:
    """Return the signals that stop a run, without those that this process ignores.

    A process under `nohup` ignores SIGHUP. Clusters send SIGUSR1 or SIGUSR2 before they end a job.
    """
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def let_ctrl_c_kill_process() -> Iterator[None]:
    """Let Ctrl-C end the process at once in this context, without saving anything.

    Python's own handler waits until compiled code returns, which may take minutes.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class StopSignals:
    """Handler of stop signals: the first stops the run after the current step, the second at once.

    Python calls no signal handler while compiled code runs, which may take minutes. So a thread
    reads the signals too: at the first one it prints a message, and at the second one it ends the
    process without any cleanup.
    """

    number = 0  # number of the first signal; 0 before any signal

    def exchange_stop_request(self) -> bool:
        """Return whether any process of the run got a signal; every process has to call this."""
        number = collectives.max_over_processes(self.number)
        self.number = self.number or number
        return number > 0

    def __enter__(self) -> Self:
        self._stack, self._signals = ExitStack(), list_stop_signals()
        if threading.current_thread() is threading.main_thread():
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            listener = threading.Thread(target=self._listen, args=[reader], daemon=True)
            listener.start()
            self._stack.callback(listener.join)
            self._stack.callback(os.close, writer)
            old_wakeup_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            self._stack.callback(signal.set_wakeup_fd, old_wakeup_fd)
            for number in self._signals:
                self._stack.callback(signal.signal, number, signal.signal(number, self.handle))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # If a logger ended the run, the exit code is 128; if a signal came too, it is the signal's.
        if isinstance(error, RunInterruptedError) and self.number:
            error.exit_code = 128 + self.number
        self._stack.close()

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number

    def _listen(self, reader: int) -> None:
        """Read the numbers of signals, one byte each, until `__exit__` closes the pipe."""
        first = None
        while number := os.read(reader, 1):
            if number[0] not in self._signals:
                continue
            if first is None:
                first = monotonic()
                if collectives.is_main_process():
                    write_to_stderr(STOPPING_MESSAGE)
            elif monotonic() > first + SAME_SIGNAL_S:
                write_to_stderr(ENDED_MESSAGE)
                os._exit(128 + number[0])
        os.close(reader)


def write_to_stderr(message: str) -> None:
    """Write to standard error without Python's buffer, which another thread may be using."""
    with suppress(OSError):
        os.write(2, message.encode())
