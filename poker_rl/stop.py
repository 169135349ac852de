"""Leaving at Ctrl-C or SIGTERM with everything saved."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupted(Exception):
    """Stopped by a signal, after a checkpoint; the message tells how to go on."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


class Stop:
    """SIGINT or SIGTERM, noted to stop at the next whole step; a second one acts at once."""

    number = 0

    def __enter__(self) -> Self:
        self.before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self.note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self.__exit__()
        # print() may be half way through a line of its own
        os.write(2, b"\nstopping after this step (once more: at once)\n")
