"""Networks with a density over raise amounts: probabilities, gradients, learning, errors."""

import numpy as np
import pytest
import torch
from learner_contexts import cpu_context, mlp
from scipy.stats import logistic

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.learning import LearnerServices, SharingAndSeatingSettings
from poker_rl.nets import NetDimensions, masked_softmax
from poker_rl.nets.amount_net import AmountHeads, AmountNetConfig

ACTIONS, INPUTS = 41, 5


def amounts(components=2, hidden=(8,)):
    return AmountNetConfig(mixture_components=components, body=mlp(*hidden, activation="tanh"))


def network(replicas=1, **settings):
    dimensions = NetDimensions(inputs=INPUTS, outputs=ACTIONS, replicas=replicas)
    return amounts(**settings).build_module(dimensions, torch.Generator().manual_seed(0))


def test_raise_probability_is_the_density_over_its_log_interval():
    module = network().double()
    module.body.dtype = torch.float64
    x = torch.randn(1, 6, INPUTS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    logits = module(x)[0].detach().numpy()
    raw = module.body(x)[0].detach().numpy()
    head, share, offset, width = np.split(raw, [3, 5, 7], axis=1)
    weight = np.exp(share) / np.exp(share).sum(1, keepdims=True)
    edges = np.log(np.arange(2, ACTIONS + 1) - 0.5)
    edges = (edges - edges[0]) / (edges[-1] - edges[0])
    for row in range(6):
        means, widths = [0.25, 0.75] + offset[row], np.exp(width[row] - 2) + 1e-3
        cdf = logistic.cdf((edges[:, None] - means) / widths) @ weight[row]
        np.testing.assert_allclose(logits[row, :2], head[row, :2])
        np.testing.assert_allclose(np.exp(logits[row, 2:] - head[row, 2]), np.diff(cdf), rtol=1e-4)


def test_learns_an_amount_and_gives_illegal_actions_no_probability():
    module = network()
    x, legal = torch.ones(1, 1, INPUTS), torch.ones(1, 1, ACTIONS, dtype=torch.bool)
    legal[..., 2:12] = False
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(300):
        prob = masked_softmax(module(x), legal)[0, 0]
        optimiser.zero_grad()
        (-prob[17].log()).backward()
        optimiser.step()
    assert prob[17] > 0.9
    assert not prob[2:12].any()


def test_amount_heads_are_for_policies_not_for_values():
    leduc = build(load_option("game", "nolimit_leduc"), "game")
    seats = SharingAndSeatingSettings(network_sharing="shared", instances=1, seating="fixed")
    services = LearnerServices(cpu_context(leduc, amounts()), seats, tables_per_instance=1)
    assert isinstance(services.build_network(leduc.action_count), AmountHeads)
    assert not isinstance(services.build_critic(leduc.action_count), AmountHeads)
    with pytest.raises(ConfigError, match="net: has no values of actions"):
        build(load_option("algo", "dqn"), "algo", context=cpu_context(leduc, amounts()), net=None)


def test_amount_net_refuses_a_game_without_raises():
    with pytest.raises(ConfigError, match="raises, not a game of 2 actions"):
        amounts().build_module(NetDimensions(inputs=INPUTS, outputs=2), torch.Generator())


def test_logits_and_gradients_far_from_the_density_are_finite():
    module = network(replicas=3)
    with torch.no_grad():
        last = module.body.layers[-1].bias
        last[..., 5:7] = torch.tensor([40.0, -40.0])  # offsets of the means
        last[..., 7:9] = -20.0  # logarithms of the widths
    out = module(torch.randn(3, 7, INPUTS))
    assert out.shape == (3, 7, ACTIONS)
    assert out.isfinite().all()
    out.log_softmax(-1).sum().backward()
    assert all(weight.grad.isfinite().all() for weight in module.parameters())
