"""Hash function for compiled code."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit


@jit
def hash_bytes(data, seed):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash of bytes and a seed (FNV-1a, Fowler, Noll and Vo)."""
    digest = np.uint64(0xCBF29CE484222325) ^ seed
    for byte in data:
        digest = (digest ^ np.uint64(byte)) * np.uint64(0x100000001B3)
    return digest
