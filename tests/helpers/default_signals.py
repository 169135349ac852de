"""Signals as a program gets them at a terminal, wherever the tests run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def default_signals() -> Iterator[None]:
    """Let SIGHUP and SIGINT act here and in processes started here: under nohup both are ignored.

    Only in this context, so that tests in the background survive the terminal all the same.
    """
    handlers = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
