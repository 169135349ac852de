"""Compilation of the numba kernels of networks; unlike game rules they use vector instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba

from poker_rl.config.process_setup import enable_compile_cache


def compile_kernels(
    kernels: Mapping[Callable[..., Any], str | list[str]], *, allow_reordered_sums: bool = False
) -> tuple[Any, ...]:
    """Compile each function for the argument types in its numba signature; cache them on disk.

    With `allow_reordered_sums`, vector instructions may change the order of the terms of sums; the
    new order is the same in every call.
    """
    enable_compile_cache()
    config: Any = numba.config
    njit: Any = numba.njit
    fastmath = {"reassoc", "contract"} if allow_reordered_sums else False
    previous, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 1
    try:
        return tuple(
            njit(signature, cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(kernel)
            for kernel, signature in kernels.items()
        )
    finally:
        config.LOOP_VECTORIZE = previous
