"""Estimates of advantages over each agent's own decisions.

Generalised advantage estimation (arXiv:1506.02438) needs the value of a state; the doubly robust
estimate (a control variate, as in arXiv:2008.12234 and arXiv:1809.03057) the value of every action.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from poker_rl.games.game import rule as compiled
from poker_rl.learning.processes import mean
from poker_rl.learning.rollout import OPEN, Batch


def estimated(
    batch: Batch, value: Tensor, gamma: float, gae_lambda: float, reward_scale: float
) -> Tensor:
    """The generalised advantages of a batch's decisions, where its values are.

    Args:
        value: the critic's V, [N], in units of `reward_scale` chips.

    Returns:
        [N] float32 in the same units; 0 at OPEN rows.
    """
    reward = batch.reward / np.float32(reward_scale)
    advantage = gae(reward, value.cpu().numpy(), batch.next, gamma, gae_lambda)
    return torch.from_numpy(advantage).to(value.device)


def normalised(advantage: Tensor, weight: Tensor) -> Tensor:
    """Advantages with mean 0 and standard deviation 1 in each copy, [K, B].

    Args:
        weight: of each row in its copy's mean, [K, B]; the means are those of all processes.
    """
    centred = advantage - mean((weight * advantage).sum(1, keepdim=True))
    spread = mean((weight * centred.square()).sum(1, keepdim=True)).sqrt()
    return centred / (spread + 1e-8)


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


def doubly_robust(
    batch: Batch,
    policy: np.ndarray,
    values: np.ndarray,
    trace: float,
    least_probability: float,
    reward_scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Retrace targets of the actions taken and doubly robust advantages of all of them.

    Args:
        batch: finished hands.
        policy: pi, [N, A].
        values: the critic's Q, [N, A], in units of `reward_scale` chips.
        trace: lambda of Retrace.
        least_probability: floor of b(x) in the correction, against its variance.
        reward_scale: chips to one unit of value.

    Returns:
        targets [N] float32 and advantages [N, A] float32, 0 at illegal actions, in the same units.
    """
    target = np.empty(len(batch), np.float32)
    advantage = np.zeros_like(values)
    _doubly_robust(
        batch.next,
        batch.action,
        np.exp(batch.log_prob),
        batch.reward / np.float32(reward_scale),
        batch.mask,
        policy,
        values,
        trace,
        least_probability,
        target,
        advantage,
    )
    return target, advantage


@compiled
def _doubly_robust(  # type: ignore[no-untyped-def]
    next_, action, behaviour, reward, mask, policy, values, trace, least, target, advantage
):
    mean = np.empty_like(target)  # E_pi Q
    for i in range(len(action) - 1, -1, -1):
        mean[i] = 0
        for a in range(mask.shape[1]):
            mean[i] += policy[i, a] * values[i, a]
        x, after = action[i], next_[i]
        target[i] = reward[i]
        if after >= 0:
            ratio = min(np.float32(1), policy[after, action[after]] / behaviour[after])
            surprise = target[after] - values[after, action[after]]
            target[i] += mean[after] + trace * ratio * surprise
        correction = (target[i] - values[i, x]) / max(behaviour[i], least)
        for a in range(mask.shape[1]):
            if mask[i, a]:
                advantage[i, a] = values[i, a] - mean[i] - policy[i, x] * correction
        advantage[i, x] += correction
