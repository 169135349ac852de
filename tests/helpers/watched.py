"""What a PPO learner plays and learns from, as it does so."""

from __future__ import annotations

import numpy as np

from poker_rl.algos.ppo import PPO
from poker_rl.learning.rollout import Batch


def watched(learner: PPO) -> list[tuple[Batch, np.ndarray]]:
    """Fills with each batch of the learner's and which of its rows it learns from."""
    batches: list[tuple[Batch, np.ndarray]] = []
    decided = learner._learns

    def watching(batch: Batch) -> np.ndarray:
        batches.append((batch, decided(batch)))
        return batches[-1][1]

    learner._learns = watching  # type: ignore[method-assign]
    return batches
