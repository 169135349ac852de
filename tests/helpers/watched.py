"""Batches of a PPO learner, recorded while it trains."""

from __future__ import annotations

import numpy as np

from poker_rl.algos.ppo import PPO
from poker_rl.learning.rollout import RolloutBatch


def watched(learner: PPO) -> list[tuple[RolloutBatch, np.ndarray]]:
    """Return a list that gets each batch of the learner and the rows that it learns from."""
    batches: list[tuple[RolloutBatch, np.ndarray]] = []
    decided = learner._select_learning_rows

    def watching(batch: RolloutBatch) -> np.ndarray:
        batches.append((batch, decided(batch)))
        return batches[-1][1]

    learner._select_learning_rows = watching  # type: ignore[method-assign]
    return batches
