"""Terminals of a given size, with somebody at the other end who reads and types."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ESCAPES = re.compile(r"\x1b\[[0-?]*[@-~]")
PATIENCE = 120  # seconds, on a busy machine on which rules are compiled the first time


class Person:
    """Sits at a terminal: sees its last whole screen, and types."""

    def __init__(self, master: int) -> None:
        self._master, self._decoder = master, getincrementaldecoder("utf-8")()
        self.written = ""

    def see(self, screens: int = 1) -> str:
        """The screen, once so many have been drawn."""
        until = time.monotonic() + PATIENCE
        while self.written.count("\x1b[J") < screens:
            if not select.select([self._master], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError(f"nothing came after {self.written[-2000:]!r}")
            self.written += self._decoder.decode(os.read(self._master, 65536))
        return ESCAPES.sub("", self.written.rpartition("\x1b[H")[2]).replace("\r", "")

    def press(self, key: str) -> str:
        """Press a key; the screen after it."""
        self.type(key)
        return self.see(self.written.count("\x1b[J") + 1)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read_to_end(self) -> str:
        """All that was written until now and is still to come, once the program has ended."""
        while select.select([self._master], [], [], 0.5)[0]:
            try:
                self.written += self._decoder.decode(os.read(self._master, 65536))
            except OSError:
                break
        return self.written


@contextmanager
def terminal(columns: int, rows: int = 24) -> Iterator[tuple[int, int]]:
    """A terminal of this size: the end of the person at it, and that of a program."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        yield master, slave
    finally:
        for end in (master, slave):
            with suppress(OSError):
                os.close(end)
