"""Loops over tensors' memory, compiled with vector instructions, which rules do without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba

from poker_rl.config.compile_cache import use_cache


def compiled_loops(
    loops: Mapping[Callable[..., Any], str | list[str]], *, any_order: bool = False
) -> tuple[Any, ...]:
    """Functions compiled for the types of their signatures, and kept on the disk.

    Args:
        loops: functions and numba's signature of each, or several of one.
        any_order: whether numbers may be added up in another order than is written, so that sums
            can take vector instructions too; the order is the same each time.
    """
    use_cache()
    config: Any = numba.config
    njit: Any = numba.njit
    fastmath = {"reassoc", "contract"} if any_order else False
    before, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 1
    try:
        return tuple(
            njit(signature, cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(loop)
            for loop, signature in loops.items()
        )
    finally:
        config.LOOP_VECTORIZE = before
