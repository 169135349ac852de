"""Words that messages to the user have in common."""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from poker_rl.config.settings import Refused


def allowed(word: str, options: Iterable[str], meant: Sequence[str] = ()) -> str:
    """Return what a message says after a wrong word: the right one, if it can be guessed, and all.

    Args:
        meant: what the word may stand for, if it is known better than by its letters.
    """
    options = sorted(options)
    near = meant or get_close_matches(word, options, n=1)
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{guess}allowed: {', '.join(options) or 'none'}"


def unreadable(override: str) -> Refused:
    """What is said of an override that is none."""
    what = f"{shortened(override)}: can't be read; write key=value or 'key=\"any text\"'"
    if os.path.isdir(override):
        what += f"; a run folder is given as run={override}, or resume={override} to train on"
    return Refused(what)


def elsewhere(group: str) -> str:
    """What a message says after the options that there are: where others are looked for."""
    return f"--config-dir FOLDER adds those in FOLDER/{group}"


def printable(text: str) -> str:
    """Return a stranger's text so that a terminal shows it and does nothing else.

    Control characters could move the cursor, rename the window or hide what stands there, and marks
    of writing direction swap it: each becomes an escape such as `\\x1b`. Line breaks stay.
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def shown(value: object) -> str:
    """A value as one would write it in YAML, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str) -> str:
    """What the user gave, as a message repeats it: cut at 60 characters."""
    return text if len(text) <= 60 else f"{text[:60]}…"
