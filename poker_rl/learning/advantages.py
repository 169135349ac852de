"""Generalised advantage estimation (arXiv:1506.02438) over each agent's own decisions."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import rule as compiled
from poker_rl.learning.rollout import OPEN


def gae(
    reward: np.ndarray, value: np.ndarray, next_: np.ndarray, gamma: float, gae_lambda: float
) -> np.ndarray:
    """A = d + gamma lambda A(next) with d = r + gamma V(next) - V, for decisions in order of time.

    Args:
        reward: won until the agent's next decision, [N] float32.
        value: V, [N] float32.
        next_: row of the agent's next decision, ENDED or OPEN, as in `Batch`.

    Returns:
        [N] float32; 0 at OPEN rows, so that the row before one bootstraps from its value alone.
    """
    advantage = np.zeros(len(reward), np.float32)
    _gae(reward, value, next_, np.float32(gamma), np.float32(gae_lambda), advantage)
    return advantage


@compiled
def _gae(reward, value, next_, gamma, gae_lambda, advantage):  # type: ignore[no-untyped-def]
    for i in range(len(reward) - 1, -1, -1):
        after = next_[i]
        if after != OPEN:
            advantage[i] = reward[i] - value[i]
            if after >= 0:
                advantage[i] += gamma * (value[after] + gae_lambda * advantage[after])
