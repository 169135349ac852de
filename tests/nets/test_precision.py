"""With medium precision, hidden layers train in bfloat16; evaluations stay in float32."""

import numpy as np
import pytest
import torch
from evaluations import build_network_player
from learner_contexts import mlp
from random_games import deal_tables
from toy_games import leduc

from poker_rl.nets import AmountNetConfig, HistoryNetConfig, NetDimensions, precision

STEPS = 4, 5
INPUTS = 4 * 5 + 12


def history(kind):
    sizes = {"reader_units": 16, "hidden_sizes": [32, 24], "merged_size": 32}
    return HistoryNetConfig(history_reader=kind, activation="relu", init="torch", **sizes)


AMOUNTS = AmountNetConfig(mixture_components=2, body=mlp(32, 16))
NETS = {"mlp": mlp(32, 16, 32), "amounts": AMOUNTS}
NETS |= {kind: history(kind) for kind in ("lstm", "fc", "none")}


@pytest.fixture(autouse=True)
def restore_precision():
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.fixture
def medium():
    """Set what `precision=medium` sets on a processor with bfloat16."""
    torch.set_float32_matmul_precision("medium")


def build_module(net, replicas):
    steps = (0, 0) if net.features == "table" else STEPS
    size = NetDimensions(inputs=INPUTS, outputs=6, replicas=replicas, history_shape=steps)
    return net.build_module(size, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.usefixtures("medium")
def test_bfloat16_outputs_and_gradients_are_close_to_float32(kind):
    module = build_module(NETS[kind], 3)
    x = (torch.rand(3, 64, INPUTS, generator=torch.Generator().manual_seed(1)) < 0.3).float()
    sign = torch.randn(3, 64, 6, generator=torch.Generator().manual_seed(2))

    def compute():
        module.zero_grad()
        out = module(x)
        (out * sign).mean().backward()
        return out.detach(), [weight.grad.clone() for weight in module.parameters()]

    half, half_gradients = compute()
    with precision.use_full_precision():
        whole, gradients = compute()
    assert half.dtype == torch.float32
    assert not torch.equal(half, whole)
    assert (half - whole).norm() < 0.02 * whole.norm()
    for grad, exact in zip(half_gradients, gradients, strict=True):
        assert grad.dtype == torch.float32
        cosine = torch.cosine_similarity(grad.flatten(), exact.flatten(), dim=0)
        assert cosine > 0.99  # rounding switches ReLU units with inputs near 0
        assert float(grad.norm()) == pytest.approx(float(exact.norm()), rel=0.05)


@pytest.mark.usefixtures("medium")
def test_players_are_evaluated_in_float32():
    player = build_network_player(leduc(), mlp(32, 16, 32))
    records = deal_tables(leduc(), 50).records
    probs = player.action_probs(records)
    assert torch.get_float32_matmul_precision() == "medium"
    torch.set_float32_matmul_precision("highest")
    assert np.array_equal(probs, player.action_probs(records))


def test_medium_precision_needs_a_processor_with_bfloat16(monkeypatch):
    cases = {("medium", True): "medium", ("medium", False): "highest", ("high", False): "high"}
    for (requested, bf16), expected in cases.items():
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda bf16=bf16: bf16)
        precision.set_matmul_precision(requested, torch.device("cpu"))
        assert torch.get_float32_matmul_precision() == expected
