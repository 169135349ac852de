"""The last layer at the legal actions alone, beside the product with all actions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from poker_rl.nets.dense import NetworkPair, ReplicatedMLP, build_mlp
from poker_rl.nets.legal_logits import (
    MIN_ACTIONS,
    MIN_ACTIONS_PER_LEGAL,
    LegalActions,
    list_legal_actions_if_few,
)
from poker_rl.nets.replicas import forward_by_replica

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


def test_the_actions_listed_are_those_of_the_mask() -> None:
    mask = some_mask(50)
    legal = legal_of(mask)
    assert legal.actions.shape == (50, mask.sum(1).max())
    again = np.zeros_like(mask)
    for row, columns in enumerate(legal.mask.numpy()):
        actions = legal.actions[row].numpy()[columns]
        assert (np.diff(actions) > 0).all()
        again[row, actions] = True
    assert (again == mask).all()


def test_columns_and_actions_are_translated_both_ways() -> None:
    mask = some_mask(50)
    legal = legal_of(mask)
    values = torch.randn(mask.shape) * torch.from_numpy(mask)
    assert torch.equal(legal.scatter(legal.gather(values), ACTIONS), values)
    taken = torch.from_numpy(mask.cumsum(1).argmax(1))  # the last legal action
    column = legal.to_column(taken)
    assert torch.equal(column, legal.counts - 1)
    assert torch.equal(legal.actions.gather(1, column[:, None])[:, 0], taken)


@pytest.mark.parametrize("shared", [0, 1])
def test_logits_and_gradients_are_those_of_the_whole_layer(shared: int) -> None:
    mask = some_mask(2 * 30)
    found = legal_of(mask)
    legal = LegalActions(found.actions.view(2, 30, -1), found.counts.view(2, 30))
    both = NetworkPair(layers(ACTIONS, 2, 0), layers(1, 2, 1), shared)
    x = torch.randn(2, 30, 20, requires_grad=True)
    slope = torch.randn(2, 30, found.actions.shape[1]) * legal.mask

    short, long = both(x, legal), both(x)
    told = []
    for logits, value in (
        short,
        (legal.gather(long[0]), long[1]),
    ):
        loss = (slope * logits).sum() + value.square().sum()
        told.append([logits * legal.mask, *torch.autograd.grad(loss, [x, *both.parameters()])])
    assert short[0].shape == (2, 30, found.actions.shape[1])
    for one, other in zip(*told, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("copies", [1, 2])
def test_rows_through_their_own_copy(copies: int) -> None:
    mask = some_mask(40)
    legal, module = legal_of(mask), layers(ACTIONS, copies, 0)
    x, copy = torch.randn(40, 20), torch.arange(40) % copies
    with torch.no_grad():
        told = forward_by_replica(module, x, copy, legal) * legal.mask
        torch.testing.assert_close(
            told, legal.gather(forward_by_replica(module, x, copy)) * legal.mask
        )


def test_where_actions_are_few_or_many_are_legal_all_stay() -> None:
    assert list_legal_actions_if_few(np.eye(MIN_ACTIONS - 1, dtype=bool), CPU) is None
    assert list_legal_actions_if_few(np.eye(MIN_ACTIONS, dtype=bool), CPU) is not None
    mask = np.zeros((10, ACTIONS), bool)
    mask[:, : ACTIONS // MIN_ACTIONS_PER_LEGAL] = True
    assert list_legal_actions_if_few(mask, CPU) is not None
    mask[0, ACTIONS // MIN_ACTIONS_PER_LEGAL] = True
    assert list_legal_actions_if_few(mask, CPU) is None


def test_no_decisions_have_no_legal_actions() -> None:
    legal = legal_of(np.zeros((0, ACTIONS), bool))
    assert legal.to_column(torch.zeros(0, dtype=torch.int64)).shape == (0,)
