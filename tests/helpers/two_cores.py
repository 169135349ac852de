"""Marker for tests that need more than one core."""

from __future__ import annotations

import numba
import pytest

from poker_rl.config.threads import count_cores

few = min(count_cores(), numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
two_cores = pytest.mark.skipif(few < 2, reason="there is one core")
