"""Drawing actions: from probabilities, or from the softmax of logits over the legal ones."""

from __future__ import annotations

import numpy as np
import torch

from poker_rl.games.game import rule as compiled
from poker_rl.players.player import NotNumbers


def draw(probabilities: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw one action in each row.

    Args:
        probabilities: of each action, [B, A]; a row sums to 1.
        uniform: a number in [0, 1) for each row, [B] float64.

    Returns:
        actions, [B] int64.

    Raises:
        NotNumbers: if a row has no action with a chance, as where a network has diverged.
    """
    action = np.full(len(probabilities), -1)
    _draw(np.ascontiguousarray(probabilities, np.float64), uniform, action)
    if (action < 0).any():
        raise NotNumbers
    return action


def sample(
    logits: torch.Tensor, mask: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw legal actions from a softmax.

    Args:
        logits: [B, A].
        mask: legal actions [B, A] bool.
        generator: a number is drawn from it for each row.

    Returns:
        actions [B] int64 and their log-probabilities [B] float32.
    """
    action = np.empty(len(mask), np.int64)
    log_prob = np.empty(len(mask), np.float32)
    uniform = generator.random(len(mask), np.float32)
    _sample(logits.detach().cpu().numpy(), mask, uniform, action, log_prob)
    return action, log_prob


def mixed(policy: np.ndarray, mask: np.ndarray, share: float | np.ndarray) -> np.ndarray:
    """A policy [B, A] into which uniform play over the legal actions is mixed.

    Args:
        policy: chances of the actions, [B, A].
        mask: legal actions, [B, A] bool.
        share: of uniform play, one number or [B, 1].
    """
    chances: np.ndarray = (1 - share) * policy + share * mask / mask.sum(1, keepdims=True)
    return chances


@compiled
def _draw(probabilities, uniform, action):  # type: ignore[no-untyped-def]
    for i in range(len(action)):
        left = uniform[i]
        for a in range(probabilities.shape[1]):
            if probabilities[i, a] > 0:
                action[i] = a
                left -= probabilities[i, a]
                if left < 0:
                    break


@compiled
def _sample(logits, mask, uniform, action, log_prob):  # type: ignore[no-untyped-def]
    actions = mask.shape[1]
    weight = np.empty(actions, np.float32)
    for i in range(len(action)):
        most = np.float32(-np.inf)
        for a in range(actions):
            if mask[i, a] and logits[i, a] > most:
                most = logits[i, a]
        total = np.float32(0)
        for a in range(actions):
            weight[a] = np.exp(logits[i, a] - most) if mask[i, a] else np.float32(0)
            total += weight[a]
        left = uniform[i] * total
        for a in range(actions):
            if mask[i, a]:
                action[i] = a
                left -= weight[a]
                if left < 0:
                    break
        log_prob[i] = logits[i, action[i]] - most - np.log(total)
