"""A session in a terminal, by keys without Enter; and by lines of keys where there is no terminal.

It knows no rule: it shows the session's views, and sends back which of their moves was chosen.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from rich.console import Console
from rich.segment import Segments

from poker_rl.config.messages import printable
from poker_rl.config.settings import Refused
from poker_rl.play import screen
from poker_rl.play.keys import Keyboard, keys_of_line
from poker_rl.play.screen import BARS
from poker_rl.play.session import Session
from poker_rl.play.sitting import Sitting
from poker_rl.storage.disk import at, say

WIDEST = 110  # columns that are made use of: longer lines are harder to read
USUAL = (80, 24)  # columns and rows where the terminal does not tell


def sit_down(session: Session, words: str) -> None:
    """Play a session until its person leaves; says in the end how to go on with it.

    Args:
        words: that name it, for a command line.

    Raises:
        Refused: if nothing can be typed.
    """
    if sys.stdin is None:
        raise Refused("ui: a terminal needs standard input, which is closed")
    there = sys.stdin.isatty() and sys.stdout.isatty()
    sitting = Sitting(session)
    try:
        if there and os.environ.get("TERM", "dumb") != "dumb":
            by_keys(sitting)
        else:
            by_lines(sitting)
    finally:
        with suppress(OSError):  # of a terminal that is gone
            say(f"Go on with: poker-rl play ui=terminal {words}")


def by_keys(sitting: Sitting) -> None:
    """Take keys one by one, and draw the screen anew after each."""
    with Keyboard(sys.stdin, sys.stdout) as keyboard:
        while True:
            size = os.get_terminal_size(sys.stdout.fileno())
            columns, rows = size.columns or USUAL[0], size.lines or USUAL[1]
            lines = fitted(sitting, columns, rows)
            with at("standard output"):
                sys.stdout.write("\x1b[H" + "\x1b[K\n".join(lines[-rows:]) + "\x1b[K\x1b[J")
                sys.stdout.flush()
            turn = sitting.turn
            if not sitting.press(keyboard.read()):
                return
            if sitting.turn != turn:
                keyboard.forget()


def by_lines(sitting: Sitting) -> None:
    """Take the keys of a line, and write the screen after each line, until there are no more."""
    columns = Console().width
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="ignore")  # what is no text is no key
    say("\n".join(written(sitting, columns, terminal=False)))
    for line in sys.stdin:
        turn = sitting.turn
        for key in keys_of_line(line):
            if not sitting.press(key):
                return
            if sitting.refused or sitting.turn != turn:  # what follows was meant otherwise
                break
        if not sitting.refused and sitting.wants_enter(key):
            sitting.press("enter")
        if sitting.refused:  # nothing of the line stays for the next one
            sitting.put_away()
        say("\n".join(["", *written(sitting, columns, terminal=False)]))


def fitted(sitting: Sitting, columns: int, rows: int) -> list[str]:
    """The lines of a screen that may have so many rows, if it can do with them.

    Blank lines go first, then the chances of the least likely moves.
    """
    lines = written(sitting, columns, terminal=True)
    for most in range(BARS, 0, -1):
        if len(lines) <= rows:
            break
        lines = [line for line in written(sitting, columns, terminal=True, bars=most) if line]
    return lines


def written(sitting: Sitting, columns: int, terminal: bool, bars: int = BARS) -> list[str]:
    """The lines of the screen, in colours on a terminal that has them (https://no-color.org).

    Args:
        bars: the most chances of moves that are shown at once.
    """
    width = min(columns, WIDEST)
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, highlight=False)
    drawn = console.render(sitting.drawn(width, bars))
    console.print(Segments(one._replace(text=printable(one.text)) for one in drawn), end="")
    text = file.getvalue()
    encoding = sys.stdout.encoding
    if not encoding.lower().startswith("utf"):
        text = text.translate(screen.PLAIN).encode(encoding, "replace").decode(encoding)
    return [line.rstrip() for line in text.splitlines()]
