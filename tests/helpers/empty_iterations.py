"""Hands in which a learner decides nothing, since a fixed opponent folds first."""

from __future__ import annotations

import numpy as np

from poker_rl.algos.algorithm import Algorithm


def check_iterations_without_decisions(algorithm: Algorithm, hands: int) -> None:
    """Twenty iterations, some of them without a decision: numbers stay numbers, all hands count."""
    decided = []
    for _ in range(20):
        before = algorithm.progress.decisions
        assert all(np.isfinite(value) for value in algorithm.learn().values())
        decided.append(algorithm.progress.decisions - before)
    assert 0 in decided
    assert max(decided) > 0
    assert algorithm.progress.hands == hands
