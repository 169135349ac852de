"""Terminals of a given size, with somebody at the other end who reads and types."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ESCAPES = re.compile(r"\x1b\[[0-?]*[@-~]")
END = "\0"  # what no program writes


class Person:
    """Sits at a terminal: sees its last whole screen, and types."""

    def __init__(self, master: int) -> None:
        self._master, self._decoder = master, getincrementaldecoder("utf-8")()
        self.written = ""

    def see(self, screens: int = 1) -> str:
        """The screen, once so many have been drawn."""
        while self.written.count("\x1b[J") < screens:
            self._read()
        return ESCAPES.sub("", self.written.rpartition("\x1b[H")[2]).replace("\r", "")

    def press(self, key: str) -> str:
        """Press a key; the screen after it."""
        self.type(key)
        return self.see(self.written.count("\x1b[J") + 1)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def read_to_end(self, slave: int) -> str:
        """All that was written to the program's end of the terminal, once the program has ended."""
        os.write(slave, END.encode())
        while not self.written.endswith(END):
            self._read()
        return self.written.removesuffix(END)

    def _read(self) -> None:
        self.written += self._decoder.decode(os.read(self._master, 65536))


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
