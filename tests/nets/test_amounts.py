"""Densities over amounts: the mass of every interval, finite far from it, learnt to a point."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from givens import given
from scipy.stats import logistic

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.config.settings import Refused
from poker_rl.learning.agents import Agents, Seats
from poker_rl.nets.amounts import AmountNet, Amounts
from poker_rl.nets.chances import masked_softmax
from poker_rl.nets.copies import take
from poker_rl.nets.dense import MLP, Size, net_of, net_state

ACTIONS, INPUTS = 41, 5


def amounts(components=2, hidden=(8,)):
    body = MLP(hidden=list(hidden), activation="tanh", init="torch", features="observation")
    return AmountNet(components=components, body=body)


def network(copies=1, **settings):
    return amounts(**settings).module(
        Size(inputs=INPUTS, outputs=ACTIONS, copies=copies), torch.Generator().manual_seed(0)
    )


def test_a_raise_gets_the_mass_of_its_interval_on_the_scale_of_the_logarithm():
    module = network().double()
    module.body.dtype = torch.float64
    x = torch.randn(1, 6, INPUTS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    logits = module(x)[0].detach().numpy()
    raw = module.body(x)[0].detach().numpy()
    head, share, place, width = np.split(raw, [3, 5, 7], axis=1)
    weight = np.exp(share) / np.exp(share).sum(1, keepdims=True)
    edges = np.log(np.arange(2, ACTIONS + 1) - 0.5)
    edges = (edges - edges[0]) / (edges[-1] - edges[0])
    for row in range(6):
        means, widths = [0.25, 0.75] + place[row], np.exp(width[row] - 2) + 1e-3
        cdf = logistic.cdf((edges[:, None] - means) / widths) @ weight[row]
        np.testing.assert_allclose(logits[row, :2], head[row, :2])
        np.testing.assert_allclose(np.exp(logits[row, 2:] - head[row, 2]), np.diff(cdf), rtol=1e-4)


def test_far_from_every_density_logits_and_gradients_are_finite():
    module = network(copies=3)
    with torch.no_grad():
        last = module.body.layers[-1].bias
        last[..., 5:7] = torch.tensor([40.0, -40.0])  # the means
        last[..., 7:9] = -20.0  # the widths
    out = module(torch.randn(3, 7, INPUTS))
    assert out.shape == (3, 7, ACTIONS)
    assert out.isfinite().all()
    out.log_softmax(-1).sum().backward()
    assert all(weight.grad.isfinite().all() for weight in module.parameters())


def test_learns_an_amount_and_keeps_to_what_is_legal():
    module = network()
    x, legal = torch.ones(1, 1, INPUTS), torch.ones(1, 1, ACTIONS, dtype=torch.bool)
    legal[..., 2:12] = False
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(300):
        chance = masked_softmax(module(x), legal)[0, 0]
        optimiser.zero_grad()
        (-chance[17].log()).backward()
        optimiser.step()
    assert chance[17] > 0.9
    assert not chance[2:12].any()


def test_copies_are_apart():
    module = network(copies=2)
    x = torch.randn(2, 4, INPUTS)
    torch.testing.assert_close(take(module, slice(1, 2))(x[1:]), module(x)[1:])


def test_values_have_no_density():
    leduc = build(option("game", "nolimit_leduc"), "game")
    seats = Seats(members="shared", instances=1, seating="fixed")
    agents = Agents(given(leduc, amounts()), seats, tables=1)
    assert isinstance(agents.network(leduc.actions), Amounts)
    assert not isinstance(agents.critic(leduc.actions), Amounts)
    with pytest.raises(Refused, match="net: a shape for policies"):
        build(option("algo", "dqn"), "algo", given=given(leduc, amounts()), net=None)


def test_a_snapshot_names_the_body_too():
    net = amounts()
    assert net_of(net_state(net)) == net


def test_a_game_without_raises_is_refused():
    with pytest.raises(Refused, match="raises, not a game of 2 actions"):
        amounts().module(Size(inputs=INPUTS, outputs=2), torch.Generator())
