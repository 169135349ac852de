"""Output to the terminal: escaped text, errors in one line, and progress bars."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, suppress
from typing import Any

from poker_rl.storage.disk import name_path_in_errors

COMPILING_MESSAGE = (
    "compiles code for this game, which may take a minute and is kept for later runs"
)


def format_os_error(error: OSError) -> str:
    """Return the reason of an error in one line, after the error's path if it has one."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def escape_control_characters(text: str) -> str:
    """Return text with escapes such as `\\x1b` for unprintable characters except line breaks.

    Control characters in an untrusted file could move the cursor, rename the window or hide text,
    and marks of writing direction could change the order of the text.
    """
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def print_line(text: str, is_escaped: bool = False) -> None:
    """Print a line and flush it; a failure of standard output raises an OSError.

    Escape control characters, unless `is_escaped`: then the caller has escaped all untrusted text.
    """
    with name_path_in_errors("standard output"):
        print(text if is_escaped else escape_control_characters(text), flush=True)


def print_error(message: str) -> None:
    """Print "poker-rl: " and a message on standard error; ignore failures of standard error."""
    with suppress(OSError):
        print(f"poker-rl: {escape_control_characters(message)}", file=sys.stderr, flush=True)


def print_notice_if_compiling() -> AbstractContextManager[object]:
    """Return a context that prints one notice, in rank 0 only, if numba compiles a function."""
    from numba.core.event import Event, Listener, install_listener
    from tqdm import tqdm  # type: ignore[import-untyped]

    class CompilationNotice(Listener):
        was_printed = os.environ.get("RANK", "0") != "0"

        def on_start(self, event: Event) -> None:
            if not self.was_printed:
                self.was_printed = True
                with name_path_in_errors("standard output"):
                    tqdm.write(COMPILING_MESSAGE)  # tqdm.write prints above a progress bar

        def on_end(self, event: Event) -> None:
            pass

    return install_listener("numba:compile", CompilationNotice())


def create_progress_bar(total: int, unit: str, **tqdm_options: Any) -> Any:
    """Create a progress bar with a unit such as "deals"; outside a terminal, update it rarely."""
    from tqdm import tqdm

    min_interval = 0.1 if sys.stderr.isatty() else 30
    return tqdm(
        total=total,
        unit=f" {unit}",
        dynamic_ncols=True,
        mininterval=min_interval,
        maxinterval=max(min_interval, 10),
        **tqdm_options,
    )
