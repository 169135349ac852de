"""Sampling of actions from probabilities, or from a softmax over the logits of legal actions."""

from __future__ import annotations

import numpy as np
import torch

from poker_rl.games.game import jit
from poker_rl.players.player import NonFiniteProbsError


def sample_from_probs(probs: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Sample one action for each row of probabilities [B, A], by random numbers in [0, 1) [B].

    Raises:
        NonFiniteProbsError: if a row has no positive probability, for example after divergence.
    """
    actions = np.full(len(probs), -1)
    _fill_actions_from_probs(np.ascontiguousarray(probs, np.float64), uniform, actions)
    if (actions < 0).any():
        raise NonFiniteProbsError
    return actions


def sample_from_logits(
    logits: torch.Tensor, legal_mask: np.ndarray, uniform: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sample actions from a softmax over the logits [B, A] of legal actions.

    `uniform` holds a random number in [0, 1) for each row, [B] float32. Returns the actions [B] and
    their log-probabilities [B] float32.
    """
    actions = np.empty(len(legal_mask), np.int64)
    log_probs = np.empty(len(legal_mask), np.float32)
    _fill_actions_from_logits(
        logits.detach().cpu().numpy(), legal_mask, uniform, actions, log_probs
    )
    return actions, log_probs


def mix_with_uniform(
    probs: np.ndarray, legal_mask: np.ndarray, uniform_weight: float | np.ndarray
) -> np.ndarray:
    """Return a mixture of probabilities [B, A] with the uniform policy over the legal actions.

    `uniform_weight`, the weight of the uniform policy, is one number or one for each row, [B, 1].
    """
    uniform_part = uniform_weight * legal_mask / legal_mask.sum(1, keepdims=True)
    return np.asarray((1 - uniform_weight) * probs + uniform_part)


@jit
def _fill_actions_from_probs(probs, uniform, actions):  # type: ignore[no-untyped-def]
    for i in range(len(actions)):
        remaining = uniform[i]
        for a in range(probs.shape[1]):
            if probs[i, a] > 0:
                actions[i] = a
                remaining -= probs[i, a]
                if remaining < 0:
                    break


@jit
def _fill_actions_from_logits(logits, legal_mask, uniform, sampled_actions, log_probs):  # type: ignore[no-untyped-def]
    action_count = legal_mask.shape[1]
    weight = np.empty(action_count, np.float32)
    for i in range(len(sampled_actions)):
        max_logit = np.float32(-np.inf)
        for a in range(action_count):
            if legal_mask[i, a] and logits[i, a] > max_logit:
                max_logit = logits[i, a]
        total = np.float32(0)
        for a in range(action_count):
            weight[a] = np.exp(logits[i, a] - max_logit) if legal_mask[i, a] else np.float32(0)
            total += weight[a]
        remaining = uniform[i] * total
        for a in range(action_count):
            if legal_mask[i, a]:
                sampled_actions[i] = a
                remaining -= weight[a]
                if remaining < 0:
                    break
        log_probs[i] = logits[i, sampled_actions[i]] - max_logit - np.log(total)
