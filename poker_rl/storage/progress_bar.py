"""Progress bars, and a message when numba begins to compile game rules."""

from __future__ import annotations

import os
import sys
from typing import Any

from numba.core.event import Event, Listener
from tqdm import tqdm  # type: ignore[import-untyped]

from poker_rl.storage.disk import name_path_in_errors

COMPILING_MESSAGE = (
    "compiles code for this game, which may take a minute and is kept for later runs"
)


class CompilationNotice(Listener):
    """Listener that prints a message once, when numba begins to compile.

    In a distributed run only the first process prints it.
    """

    def __init__(self) -> None:
        self._was_printed = os.environ.get("RANK", "0") != "0"

    def on_start(self, event: Event) -> None:
        if not self._was_printed:
            self._was_printed = True
            with name_path_in_errors("standard output"):
                tqdm.write(COMPILING_MESSAGE)  # tqdm.write prints above a progress bar

    def on_end(self, event: Event) -> None:
        pass


def create_progress_bar(total: int, unit: str, **tqdm_options: Any) -> Any:
    """Create a bar that counts units such as "deals"; outside a terminal it is updated rarely."""
    min_interval = 0.1 if sys.stderr.isatty() else 30
    return tqdm(
        total=total,
        unit=f" {unit}",
        dynamic_ncols=True,
        mininterval=min_interval,
        maxinterval=max(min_interval, 10),
        **tqdm_options,
    )
