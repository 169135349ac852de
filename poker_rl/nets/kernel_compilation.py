"""Decorator of the numba kernels of networks; unlike game rules they use vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(*, reorder_sums: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a function of arrays at its first call.

    The compiled code is cached on disk. With `reorder_sums`, vector instructions may change the
    order of the terms of sums; the new order is the same in every call.
    """
    config: Any = numba.config
    fastmath = {"reassoc", "contract"} if reorder_sums else False

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        njit: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)
        compiled = njit(function)

        def run(*arrays: Any) -> Any:
            previous, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 1  # read when compiling
            try:
                return compiled(*arrays)
            finally:
                config.LOOP_VECTORIZE = previous

        return run

    return decorate
