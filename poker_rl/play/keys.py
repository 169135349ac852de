"""The keys of a terminal, one by one and without Enter, and the same keys in lines of text.

A key is its character in lower case, or one of the names `space`, `enter`, `escape`, `backspace`,
`up`, `down`, `left` and `right`, the last four also as `shift up` and so on. Two more are no keys:
`resize` says that the screen has to be drawn anew, `leave` that nobody is there any more.
"""

from __future__ import annotations

import os
import re
import select
import signal
import termios
import tty
from contextlib import suppress
from types import FrameType
from typing import Self, TextIO

from poker_rl.training.signals import stop_signals

NAMES = {
    **{" ": "space", "\r": "enter", "\n": "enter", "\x1b": "escape"},
    **{"\x7f": "backspace", "\b": "backspace", "\x04": "leave"},
}
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
SHIFT = ";2"  # what the parameters of an arrow end with under Shift
TOKEN = re.compile(r"\x1b(?:\[([0-?]*)([@-~])|O([A-Z]))|(.)", re.DOTALL)
TORN = re.compile(r"\x1b(?:\[[0-?]*|O)?$")  # the beginning of an arrow, or Escape alone
PATIENCE = 0.05  # seconds for the rest of an arrow, which a network may have torn apart

OPEN = "\x1b[?1049h\x1b[?25l"  # a screen of its own, and no cursor
CLOSED = "\x1b[?25h\x1b[?1049l"


def keys_of(text: str) -> list[str]:
    """The keys that a terminal has sent; those that have no name here are left out."""
    keys = []
    for parameters, final, application, character in TOKEN.findall(text):
        arrow = ARROWS.get(final or application)
        if character:
            keys.append(NAMES.get(character, character.lower()))
        elif arrow is not None:
            keys.append(f"shift {arrow}" if parameters.endswith(SHIFT) else arrow)
    return keys


def keys_of_line(line: str) -> list[str]:
    """The keys that a line stands for: a key by its name, or each of its characters; Enter if none.

    `space`, `r 120` and `1 2 enter` are such lines.
    """
    named = {*NAMES.values(), *ARROWS.values()}
    keys: list[str] = []
    for word in line.lower().split():
        keys += [word] if word in named else list(word)
    return keys or ["enter"]


class Keyboard:
    """A terminal that sends each key at once; in the end it is as it was before.

    Ctrl-C raises KeyboardInterrupt; SIGTERM, and SIGHUP of a connection that is gone, SystemExit.
    Ctrl-Z lets the shell have the terminal for a while.

    Args:
        keys, screen: the terminal, to be read from and to be drawn on.
    """

    def __init__(self, keys: TextIO, screen: TextIO) -> None:
        self._keys, self._screen = keys.fileno(), screen
        self._waiting: list[str] = []

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._keys)
        self._signals, told = os.pipe()
        os.set_blocking(told, False)
        self._told = told
        self._told_before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, _leave) for number in stop_signals()}
        for number in (signal.SIGWINCH, signal.SIGTSTP):  # `read` hears of them by the pipe
            self._handlers[number] = signal.signal(number, lambda *_: None)
        try:
            self._take()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        _ignore()
        with suppress(OSError, termios.error):  # the connection is gone
            self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._told_before)
        os.close(self._told)
        os.close(self._signals)

    def _take(self) -> None:
        tty.setcbreak(self._keys)
        self._screen.write(OPEN)
        self._screen.flush()

    def _give_back(self) -> None:
        try:
            self._screen.write(CLOSED)
            self._screen.flush()
        finally:
            termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    def read(self) -> str:
        """The next key, as soon as there is one."""
        while not self._waiting:
            ready, _, _ = select.select([self._keys, self._signals], [], [])
            if self._signals in ready:
                if signal.SIGTSTP in os.read(self._signals, 64):
                    self._stop()
                return "resize"
            self._waiting = self._typed()
        return self._waiting.pop(0)

    def _stop(self) -> None:
        """Let the shell go on until `fg`; where there is none the system does not stop anybody."""
        self._give_back()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self._take()

    def forget(self) -> None:
        """Drop what was typed before the present screen could be seen."""
        self._waiting = []
        with suppress(termios.error):  # `read` finds out that the connection is gone
            termios.tcflush(self._keys, termios.TCIFLUSH)

    def _typed(self) -> list[str]:
        text = ""
        while not text or (TORN.search(text) and select.select([self._keys], [], [], PATIENCE)[0]):
            try:
                read = os.read(self._keys, 1024)
            except OSError:  # of a terminal that was closed
                read = b""
            if not read:
                return ["leave"]
            text += read.decode(errors="ignore")
        return keys_of(text)


def _leave(number: int, frame: FrameType | None) -> None:
    _ignore()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _ignore() -> None:
    """Let no second signal stop the first one's way out, on which the terminal is given back."""
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)
