"""Probabilities of the legal actions from a network's outputs, which are logits or regrets."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_log_softmax(logits: Tensor, legal_mask: Tensor) -> Tensor:
    """Return log-probabilities of A actions, [..., A], by a softmax over the legal ones.

    Illegal actions get a large negative number, since with -inf an entropy would be 0 * -inf = NaN.
    """
    return torch.where(legal_mask, logits, torch.finfo(logits.dtype).min).log_softmax(-1)


def masked_softmax(logits: Tensor, legal_mask: Tensor) -> Tensor:
    """Return probabilities of A actions, [..., A]: a softmax over the legal ones, 0 for others."""
    return torch.where(legal_mask, logits, -torch.inf).softmax(-1)


def masked_expectation(policy: Tensor, value: Tensor, legal_mask: Tensor) -> Tensor:
    """Return the expectation [...] of the legal actions' values [..., A] under a policy [..., A].

    Illegal actions count as 0: a log-probability of -3e38 could make gradients overflow.
    """
    return (policy * torch.where(legal_mask, value, 0.0)).sum(-1)


def sample_actions_without_waiting(
    logits: Tensor, legal_mask: Tensor, uniform: Tensor
) -> tuple[Tensor, Tensor]:
    """Sample an action for each of B rows by a softmax over the logits [B, A] of legal actions.

    `uniform` has a random number in [0, 1) for each row, [B]. Return actions [B] int64 and their
    log-probabilities [B]. The CPU never waits for a GPU, because no value is copied back.
    """
    log_probs = masked_log_softmax(logits, legal_mask)
    probs = log_probs.exp()
    # A GPU computes cumulative sums of short rows faster in the transposed matrix.
    is_short = probs.shape[1] <= 32
    cumulative = probs.t().contiguous().cumsum(0).t() if is_short else probs.cumsum(1)
    # The sum in `argmax` is 2 at legal actions whose cumulative probability exceeds the random
    # number, and 1 at other legal actions, in case there is no 2 because of rounding or NaN.
    is_beyond = (cumulative > uniform[:, None] * cumulative[:, -1:]) & legal_mask
    action = (is_beyond.byte() + legal_mask.byte()).argmax(1, keepdim=True)
    return action[:, 0], log_probs.gather(1, action)[:, 0]


def regret_matching(regrets: Tensor, legal_mask: Tensor) -> Tensor:
    """Return probabilities in proportion to the positive regrets of legal actions, [..., A].

    Where no regret is positive, the legal action with the largest regret has probability 1.
    """
    positive = regrets.clamp(min=0).masked_fill(~legal_mask, 0)
    total = positive.sum(-1, keepdim=True)
    best = regrets.masked_fill(~legal_mask, -torch.inf).argmax(-1, keepdim=True)
    greedy = torch.zeros_like(regrets).scatter_(-1, best, 1.0)
    return torch.where(total > 0, positive / total, greedy)
