"""The cores that a process may compute on."""

from __future__ import annotations

import os
import sys


def count_cores() -> int:
    """Return how many cores this process may use, which a cluster's job may limit."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
