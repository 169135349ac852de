"""The last layer at the legal actions alone, beside the product with all actions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from poker_rl.nets.dense import NetworkPair, ReplicatedMLP, build_mlp
from poker_rl.nets.legal_output_layer import (
    MIN_ACTIONS,
    LegalActions,
    list_legal_actions_if_few,
)

ACTIONS = 3 * MIN_ACTIONS
CPU = torch.device("cpu")


def some_mask(rows: int, seed: int = 0) -> np.ndarray:
    """From one to a dozen legal actions a row."""
    generator = np.random.default_rng(seed)
    mask = generator.random((rows, ACTIONS)) < 0.03
    mask[np.arange(rows), generator.integers(ACTIONS, size=rows)] = True
    return mask


def layers(outputs: int, copies: int, seed: int) -> ReplicatedMLP:
    generator = torch.Generator().manual_seed(seed)
    return build_mlp([20, 16, 8, outputs], copies, "relu", "torch", generator)


def legal_of(mask: np.ndarray) -> LegalActions:
    found = list_legal_actions_if_few(mask, CPU)
    assert found is not None
    return found


@pytest.mark.parametrize("shared", [0, 1])
def test_logits_and_gradients_are_those_of_the_whole_layer(shared: int) -> None:
    mask = some_mask(2 * 30)
    found = legal_of(mask)
    legal = LegalActions(found.actions.view(2, 30, -1), found.counts.view(2, 30))
    both = NetworkPair(layers(ACTIONS, 2, 0), layers(1, 2, 1), shared)
    x = torch.randn(2, 30, 20, requires_grad=True)
    slope = torch.randn(2, 30, found.actions.shape[1]) * legal.mask

    short, long = both(x, legal), both(x)
    results = []
    for logits, value in (short, (legal.gather(long[0]), long[1])):
        loss = (slope * logits).sum() + value.square().sum()
        results.append([logits * legal.mask, *torch.autograd.grad(loss, [x, *both.parameters()])])
    assert short[0].shape == (2, 30, found.actions.shape[1])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)
