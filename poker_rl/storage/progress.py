"""How far something is that takes a while, on stderr."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]


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
