"""Number of CPU cores that this process may use, and number of threads of torch and numba."""

from __future__ import annotations

import os
import sys

from poker_rl.config.validation import ConfigError

# The same default as in conf/config.yaml. For small networks, a second thread is slower than one.
DEFAULT_THREADS = 1
MAX_AUTO_THREADS = 12  # `threads: auto` uses all cores, but at most 12
_threads_were_set = False


def count_cores() -> int:
    """Return the number of CPU cores that this process may use, which a cluster may limit."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(threads: int) -> None:
    """Set the number of CPU threads of torch and numba in this process."""
    import numba
    import torch

    global _threads_were_set
    max_threads = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if not 1 <= threads <= max_threads:
        raise ConfigError(
            f"threads: {threads}; allowed: 1 to {max_threads}, which is NUMBA_NUM_THREADS"
        )
    numba.set_num_threads(threads)
    # torch comes last: numba changes the number of OpenMP threads, which torch uses too.
    torch.set_num_threads(threads)
    _threads_were_set = True


def set_one_thread_by_default() -> None:
    """Use one thread, unless `set_threads` was called before in this process."""
    if not _threads_were_set:
        set_threads(DEFAULT_THREADS)
