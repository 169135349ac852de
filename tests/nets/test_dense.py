"""Dense networks: independent replicas, legal actions, clipping, EMA, sparse inputs."""

import numpy as np
import pytest
import torch
from learner_contexts import mlp

from poker_rl.nets import NetDimensions, WeightEMA
from poker_rl.nets.action_probs import (
    masked_expectation,
    masked_log_softmax,
    masked_softmax,
    regret_matching,
)
from poker_rl.nets.dense import NetworkPair, ReplicatedLinear, build_mlp
from poker_rl.nets.legal_output_layer import MIN_ACTIONS, LegalActions, list_legal_actions_if_few
from poker_rl.nets.replicas import clip_gradients, clone_replica_slice, forward_by_replica
from poker_rl.nets.sparse_inputs import MIN_INPUTS
from poker_rl.nets.tabular_sigmoid import SigmoidPolicyConfig

INPUTS, OUTPUTS = 11, 3


def make_generator(seed=0):
    return torch.Generator().manual_seed(seed)


def network(replicas, hidden=(16, 8), activation="relu", **dimensions):
    net = mlp(*hidden, activation=activation, init="orthogonal")
    size = NetDimensions(inputs=INPUTS, outputs=OUTPUTS, replicas=replicas, **dimensions)
    return net.build_module(size, make_generator())


@pytest.mark.parametrize(
    ("hidden", "activation"), [((), "relu"), ((16, 8), "relu"), ((8,), "tanh")]
)
def test_each_replica_equals_an_ordinary_torch_network(hidden, activation):
    module = network(3, hidden=hidden, activation=activation)
    x = torch.randn(3, 5, INPUTS, generator=make_generator(1))
    out = module(x)
    assert out.shape == (3, 5, OUTPUTS)
    act = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[activation]
    for k in range(3):
        parts = []
        for layer in module.layers:
            plain = torch.nn.Linear(*layer.weight.shape[1:])
            plain.weight.data, plain.bias.data = layer.weight[k].T, layer.bias[k, 0]
            parts += [plain, act()]
        torch.testing.assert_close(out[k], torch.nn.Sequential(*parts[:-1])(x[k]))


def test_orthogonal_init_has_gains_of_hidden_and_output_layers():
    hidden, last = network(2, hidden=(8,), output_init_scale=0.01).layers
    for k in range(2):  # gains: sqrt(2) in hidden layers, 0.01 in the output layer
        torch.testing.assert_close(hidden.weight[k].T @ hidden.weight[k], 2 * torch.eye(8))
        torch.testing.assert_close(last.weight[k].T @ last.weight[k], 1e-4 * torch.eye(OUTPUTS))
    assert not hidden.bias.any()


def test_bet_weight_is_the_log_odds_of_the_aggressive_action():
    module = SigmoidPolicyConfig(init_range=0.5).build_module(
        NetDimensions(inputs=12, outputs=3, replicas=2), make_generator()
    )
    weight = module.weight[..., 0]  # [replicas, inputs]
    assert weight.abs().max() <= 0.5
    assert weight.unique().numel() == 24
    logits = module(torch.eye(12).expand(2, 12, 12))
    check_or_bet = masked_softmax(logits, torch.tensor([False, True, True]))
    fold_or_call = masked_softmax(logits, torch.tensor([True, True, False]))
    torch.testing.assert_close(check_or_bet[..., 2], weight.sigmoid())
    torch.testing.assert_close(fold_or_call[..., 1], weight.sigmoid())


# The replica of each row. "uneven" has no row of replica 1; None means blocks of equal size.
ROUTES = {"uneven": [2, 0, 0, 3, 2, 0, 3], "even": [3, 2, 1, 0, 0, 1, 2, 3], "single": [1, 1, 1]}
ROUTES["blocks"] = None


@pytest.mark.parametrize("name", ROUTES)
def test_each_row_goes_through_its_own_replica(name):
    route = ROUTES[name]
    module = network(4)
    replica = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3] if route is None else route)
    x = torch.randn(len(replica), INPUTS, generator=make_generator(1), requires_grad=True)
    modules = [clone_replica_slice(module, slice(k, k + 1)) for k in replica]
    alone = torch.stack([net(x[i : i + 1][None])[0, 0] for i, net in enumerate(modules)])
    out = forward_by_replica(module, x, None if route is None else replica)
    torch.testing.assert_close(out, alone)

    goal = torch.randn(len(replica), OUTPUTS, generator=make_generator(2))
    gradient = torch.autograd.grad((out * goal).sum(), [x, *module.parameters()])
    torch.testing.assert_close(gradient[0], torch.autograd.grad((alone * goal).sum(), x)[0])
    unused = [k for k in range(4) if k not in replica]
    for part in gradient[1:]:
        assert not part[unused].any()
        assert part[replica.unique()].flatten(1).any(1).all()


def test_gradients_are_clipped_per_replica():
    module = network(3)
    scale = torch.tensor([0.0, 1e-3, 1e3])
    (forward_by_replica(module, torch.ones(3, INPUTS), None).sum(1) * scale).sum().backward()
    before = [weight.grad.clone() for weight in module.parameters()]
    norms = clip_gradients(module, 1.0)
    after = [weight.grad for weight in module.parameters()]
    for k in range(3):
        flat = torch.cat([grad[k].flatten() for grad in before])
        torch.testing.assert_close(norms[k], flat.norm())
        clipped = torch.cat([grad[k].flatten() for grad in after])
        torch.testing.assert_close(clipped, flat / max(1.0, flat.norm().item()))


def test_illegal_actions_have_no_probability_and_no_gradient():
    logits = torch.tensor([[5.0, -2.0, 900.0], [-1e4, 0.5, 0.5]], requires_grad=True)
    legal = torch.tensor([[True, True, False], [False, True, True]])
    probs = masked_softmax(logits, legal)
    assert torch.equal(probs == 0, ~legal)
    torch.testing.assert_close(probs.sum(1), torch.ones(2))
    torch.testing.assert_close(probs[1], torch.tensor([0, 0.5, 0.5]))

    logs = masked_log_softmax(logits, legal)
    torch.testing.assert_close(logs.exp(), probs)
    entropy = -masked_expectation(logs.exp(), logs, legal)
    torch.testing.assert_close(entropy[1], torch.tensor(2.0).log())
    (gradient,) = torch.autograd.grad(1000 * entropy.sum(), logits)
    assert gradient.isfinite().all()
    assert not gradient[~legal].any()


def test_weight_ema_follows_its_formula_and_is_restored():
    module = network(2)
    first = [weight.detach().clone() for weight in module.parameters()]
    average = WeightEMA(module, 0.9)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(1)
    for _ in range(5):
        average.update(module)
    for start, weight in zip(first, average.module.parameters(), strict=True):
        torch.testing.assert_close(weight, start + 1 - 0.9**5)
        assert not weight.requires_grad
    restored = WeightEMA(module, 0.9)
    restored.load_state_dict(average.state_dict())
    assert torch.equal(restored.module.layers[0].weight, average.module.layers[0].weight)


@pytest.mark.parametrize("replicas", [1, 3])
def test_network_pair_equals_its_networks_and_shares_first_layers(replicas):
    generator = torch.Generator().manual_seed(0)
    net = mlp(6, 5, 4, activation="tanh")
    sizes = [NetDimensions(inputs=7, outputs=outputs, replicas=replicas) for outputs in (3, 1)]
    first, second = (net.build_module(size, generator) for size in sizes)
    x = torch.rand(replicas, 9, 7)
    separate = NetworkPair(first, second, 0)
    torch.testing.assert_close(separate(x), (first(x), second(x)))
    weights = sum(weight.numel() for weight in separate.parameters())
    pair = NetworkPair(first, second, 2)
    shared = weights - sum(weight.numel() for weight in pair.parameters())
    assert shared == replicas * (7 * 6 + 6 + 6 * 5 + 5)
    torch.testing.assert_close(pair(x), (first(x), second(x)))
    pair(x)[1].sum().backward()
    assert first.layers[1].weight.grad.any()
    assert first.layers[2].weight.grad is None or not first.layers[2].weight.grad.any()


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.float32])
def test_sparse_linear_equals_the_dense_product(replicas, dtype):
    inputs = MIN_INPUTS + 3
    layer = ReplicatedLinear(inputs, 37, replicas, reads_observations=True, is_inner=False)
    layer.initialize("torch", 1.0, 1.0, make_generator())
    x = (torch.rand(replicas, 50, inputs, generator=make_generator(1)) < 0.1).to(dtype)
    if dtype == torch.float32:
        x *= torch.randn(x.shape, generator=make_generator(3))
    x[0, 0], x[0, 1] = 0, 1
    weights = torch.randn(replicas, 50, 37, generator=make_generator(2))

    out = layer(x)
    assert "SparseLinear" in out.grad_fn.name()
    (out * weights).sum().backward()
    for k in range(replicas):
        plain = torch.nn.Linear(inputs, 37)
        plain.weight.data, plain.bias.data = layer.weight.data[k].T, layer.bias.data[k, 0]
        dense = plain(x[k].float())
        (dense * weights[k]).sum().backward()
        torch.testing.assert_close(out[k], dense, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(layer.weight.grad[k].T, plain.weight.grad, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(layer.bias.grad[k, 0], plain.bias.grad)


def test_regret_matching_over_legal_actions():
    regrets = torch.tensor([[3.0, -2.0, 1.0], [9.0, -2.0, -1.0], [0.0, -1.0, -3.0]])
    legal = torch.tensor([[True, True, True], [False, True, True], [False, True, True]])
    expected = [[0.75, 0, 0.25], [0, 0, 1], [0, 1, 0]]
    assert regret_matching(regrets, legal).tolist() == expected


ACTIONS = 3 * MIN_ACTIONS


def sample_mask(rows, seed=0):
    """Return a random mask [rows, ACTIONS] with one to about a dozen legal actions in each row."""
    generator = np.random.default_rng(seed)
    mask = generator.random((rows, ACTIONS)) < 0.03
    mask[np.arange(rows), generator.integers(ACTIONS, size=rows)] = True
    return mask


def build_layers(outputs, replicas, seed):
    return build_mlp([20, 16, 8, outputs], replicas, "relu", "torch", make_generator(seed))


@pytest.mark.parametrize("shared", [0, 1])
def test_logits_of_few_legal_actions_equal_those_of_the_full_layer(shared):
    few = list_legal_actions_if_few(sample_mask(2 * 30), torch.device("cpu"))
    legal = LegalActions(few.actions.view(2, 30, -1), few.counts.view(2, 30))
    pair = NetworkPair(build_layers(ACTIONS, 2, 0), build_layers(1, 2, 1), shared)
    x = torch.randn(2, 30, 20, requires_grad=True)
    slope = torch.randn(2, 30, few.actions.shape[1]) * legal.non_padding_mask

    compact, full = pair(x, legal), pair(x)
    results = []
    for logits, value in (compact, (legal.gather(full[0]), full[1])):
        loss = (slope * logits).sum() + value.square().sum()
        results.append(
            [logits * legal.non_padding_mask, *torch.autograd.grad(loss, [x, *pair.parameters()])]
        )
    assert compact[0].shape == (2, 30, few.actions.shape[1])
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected)
