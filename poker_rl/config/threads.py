"""Threads of this process that networks and rules compute on."""

from __future__ import annotations

from poker_rl.config.settings import Refused

DEFAULT = 1  # as `threads` in conf/config.yaml; waking a second one costs more than it saves
_chosen = False


def set_threads(threads: int) -> None:
    """Compute on so many threads of the CPU in this process, in torch and in numba.

    Raises:
        Refused: if numba can't have so many.
    """
    import numba  # late, as the command line needs neither to refuse a setting
    import torch

    global _chosen
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if not 1 <= threads <= most:
        raise Refused(f"threads: {threads}; allowed: 1 to {most}, which is NUMBA_NUM_THREADS")
    torch.set_num_threads(threads)
    numba.set_num_threads(threads)
    _chosen = True


def set_default_threads() -> None:
    """Compute on one thread, unless `set_threads` was called before in this process."""
    if not _chosen:
        set_threads(DEFAULT)
