"""What the outputs of a network say: chances of the legal actions, from logits or from regrets."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_log_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Log probabilities over legal actions [..., A]; illegal ones are finite, with probability 0.

    Finite, because 0 * -inf would make every entropy NaN.
    """
    return logits.masked_fill(~legal, torch.finfo(logits.dtype).min).log_softmax(-1)


def masked_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Probabilities over legal actions [..., A], exactly 0 for illegal ones."""
    return logits.masked_fill(~legal, -torch.inf).softmax(-1)


def mean_over(policy: Tensor, value: Tensor, legal: Tensor) -> Tensor:
    """The mean of values [..., A] over the legal actions by their probabilities -> [...].

    What illegal actions have, log probabilities of -3e38 for one, gets no gradient: with a weight
    above 1 it would be infinite.
    """
    return (policy * value.masked_fill(~legal, 0.0)).sum(-1)


def regret_matching(regrets: Tensor, legal: Tensor) -> Tensor:
    """Probabilities in proportion to the positive regrets of legal actions [..., A].

    Where no regret is positive, the action with the largest regret alone is played.
    """
    positive = regrets.clamp(min=0).masked_fill(~legal, 0)
    total = positive.sum(-1, keepdim=True)
    best = regrets.masked_fill(~legal, -torch.inf).argmax(-1, keepdim=True)
    alone = torch.zeros_like(regrets).scatter_(-1, best, 1.0)
    return torch.where(total > 0, positive / total, alone)
