"""A hash of bytes for compiled code."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import rule


@rule
def hashed(known, seed):  # type: ignore[no-untyped-def]
    """64 bits from some bytes and a seed (FNV-1a, Fowler, Noll and Vo)."""
    key = np.uint64(0xCBF29CE484222325) ^ seed
    for byte in known:
        key = (key ^ np.uint64(byte)) * np.uint64(0x100000001B3)
    return key
