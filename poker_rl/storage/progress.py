"""How far something is that takes a while, on stderr, and why nothing moves."""

from __future__ import annotations

import os
import sys
from typing import Any

from numba.core.event import Event, Listener
from tqdm import tqdm  # type: ignore[import-untyped]

from poker_rl.storage.disk import at

COMPILES = "compiles code for this game, which may take a minute and is kept for later runs"


class CompilationNotice(Listener):
    """Listener that prints COMPILES once, when numba begins to compile what its cache lacks.

    Of several processes that train together only the first one prints.
    """

    def __init__(self) -> None:
        self._printed = os.environ.get("RANK", "0") != "0"

    def on_start(self, event: Event) -> None:
        if not self._printed:
            self._printed = True
            with at("standard output"):
                tqdm.write(COMPILES)  # above a bar that is shown

    def on_end(self, event: Event) -> None:
        pass


def progress_bar(total: int, unit: str, **settings: Any) -> Any:
    """A bar that lives in a terminal, and in a log file writes a line now and then.

    Args:
        unit: what is counted: "deals".
        settings: others of tqdm.
    """
    seconds = 0.1 if sys.stderr.isatty() else 30
    return tqdm(
        total=total,
        unit=f" {unit}",
        dynamic_ncols=True,
        mininterval=seconds,
        maxinterval=max(seconds, 10),
        **settings,
    )
