"""Advantage estimates along the decisions of each agent.

Generalized advantage estimation (GAE, arXiv:1506.02438) uses state values; the doubly robust
estimate (a control variate, as in arXiv:2008.12234 and arXiv:1809.03057) uses action values.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from poker_rl.games.game import jit
from poker_rl.learning.collectives import all_reduce_mean
from poker_rl.learning.fixed_length_rollout import FixedLengthBatch
from poker_rl.learning.rollout import NEXT_PENDING, RolloutBatch


def compute_gae_and_completeness(
    batch: FixedLengthBatch, value: Tensor, gamma: float, gae_lambda: float, reward_scale: float
) -> tuple[Tensor, Tensor]:
    """Return the advantage estimates (GAE) of a batch and whether each is complete, both [R, T].

    R and T count the rows and tables of the batch. The estimate of a decision is complete if the
    batch also contains the seat's next decision in the hand, or the end of the hand. All other
    cells get the estimate 0. The value of an incomplete decision still bootstraps the estimate of
    the seat's previous decision. `value` [R, T] has the critic's values. Values and estimates are
    in units of `reward_scale` chips.
    """
    (rows, table_count), seats = value.shape, batch.payoffs.shape[2]
    advantage, is_complete = torch.zeros_like(value), torch.zeros_like(batch.is_decision)
    outcomes = batch.payoffs.to(value.dtype) / reward_scale
    is_actor = batch.seat[..., None] == torch.arange(seats, device=value.device)
    is_actor = is_actor & batch.is_decision[..., None]  # [R, T, seats]
    # For each seat: its payoff, or gamma (V + gae_lambda A) of its next decision in the hand.
    later_value = value.new_zeros(table_count, seats)
    is_known = torch.zeros_like(is_actor[0])
    for row in range(rows - 1, -1, -1):
        if row >= seats:
            is_over = batch.is_over[row - seats, :, None]
            later_value = torch.where(is_over, outcomes[row - seats], later_value)
            is_known = is_known | is_over
        acts = is_actor[row]
        is_complete[row] = (acts & is_known).any(1)
        expected = (later_value * acts).sum(1)
        advantage[row] = torch.where(is_complete[row], expected - value[row], 0.0)
        own_value = gamma * (value[row] + gae_lambda * advantage[row])
        later_value = torch.where(acts, own_value[:, None], later_value)
        is_known = is_known | acts
    return advantage, is_complete


def normalize_advantages(advantage: Tensor, weight: Tensor) -> Tensor:
    """Return advantages [K, B], standardized for each of K replicas to mean 0 and deviation 1.

    Mean and standard deviation of a replica are over all processes, weighted by `weight` [K, B],
    the weights that `iterate_minibatch_indices` yields.
    """
    centered = advantage - all_reduce_mean((weight * advantage).sum(1, keepdim=True))
    std = all_reduce_mean((weight * centered.square()).sum(1, keepdim=True)).sqrt()
    return centered / (std + 1e-8)


def compute_gae(
    reward: np.ndarray, value: np.ndarray, next_rows: np.ndarray, gamma: float, gae_lambda: float
) -> np.ndarray:
    """Return generalized advantage estimates A of N decisions in the order of play, [N] float32.

    All arrays are [N]; V is `value`. If `next_rows` has the row of the agent's next decision in the
    hand, A is reward - V + gamma (V(next) + gae_lambda A(next)). If it has HAND_ENDED, A is
    reward - V. If it has NEXT_PENDING, A is 0, and V only bootstraps the agent's decision before.
    """
    advantage = np.zeros(len(reward), np.float32)
    _fill_gae(reward, value, next_rows, np.float32(gamma), np.float32(gae_lambda), advantage)
    return advantage


@jit
def _fill_gae(reward, value, next_rows, gamma, gae_lambda, advantage):  # type: ignore[no-untyped-def]
    for i in range(len(reward) - 1, -1, -1):
        next_row = next_rows[i]
        if next_row != NEXT_PENDING:
            advantage[i] = reward[i] - value[i]
            if next_row >= 0:
                advantage[i] += gamma * (value[next_row] + gae_lambda * advantage[next_row])


def compute_retrace_targets_and_advantages(
    batch: RolloutBatch,
    policy: np.ndarray,
    action_values: np.ndarray,
    retrace_lambda: float,
    min_behavior_prob: float,
    reward_scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return Retrace targets of the actions taken [N], and advantages of all A actions [N, A].

    The advantages are doubly robust (formulas: `poker_rl.algos.all_action_actor_critic`). The batch
    has N decisions of finished hands; `policy` [N, A] is the policy to evaluate, and
    `action_values` [N, A] are the critic's. The advantages' correction for the action taken is
    divided by its probability in the policy that chose it but, to limit the variance, by at least
    `min_behavior_prob`. Targets, advantages and action values are in units of `reward_scale` chips.
    """
    behavior_prob, reward = np.exp(batch.log_prob), batch.reward / np.float32(reward_scale)
    columns = batch.next_row, batch.action, behavior_prob, reward, batch.mask, policy, action_values
    target, advantage = _compute_doubly_robust(*columns, retrace_lambda, min_behavior_prob)
    return target, advantage


@jit
def _compute_doubly_robust(  # type: ignore[no-untyped-def]
    next_rows, action, old_prob, reward, mask, policy, action_values, retrace_lambda, min_old_prob
):
    target, expected_value = np.empty_like(reward), np.empty_like(reward)  # the latter is E_pi Q
    advantage = np.zeros_like(action_values)
    for i in range(len(action) - 1, -1, -1):
        expected_value[i] = 0
        for a in range(mask.shape[1]):
            expected_value[i] += policy[i, a] * action_values[i, a]
        taken_action, next_row = action[i], next_rows[i]
        target[i] = reward[i]
        if next_row >= 0:
            ratio = min(np.float32(1), policy[next_row, action[next_row]] / old_prob[next_row])
            td_error = target[next_row] - action_values[next_row, action[next_row]]
            target[i] += expected_value[next_row] + retrace_lambda * ratio * td_error
        divisor = max(old_prob[i], min_old_prob)
        correction = (target[i] - action_values[i, taken_action]) / divisor
        for a in range(mask.shape[1]):
            if mask[i, a]:
                advantage[i, a] = (
                    action_values[i, a] - expected_value[i] - policy[i, taken_action] * correction
                )
        advantage[i, taken_action] += correction
    return target, advantage
