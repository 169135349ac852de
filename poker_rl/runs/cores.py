"""The cores that there are to compute on."""

from __future__ import annotations

import os
import sys


def cores() -> int:
    """How many this process may use: in a job of a cluster, maybe fewer than the machine has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
