"""History networks: equality with PyTorch's LSTM, long sequences, TF32 setting, replicas."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from poker_rl.nets import HistoryNetConfig, NetDimensions
from poker_rl.nets.history_net import ReplicatedLSTM
from poker_rl.nets.replicas import clone_replica_slice

L, F, REST, REPLICAS = 5, 3, 7, 2


def network(history="lstm", hidden=(8, 6), replicas=REPLICAS):
    sizes = {"reader_units": 4, "hidden_sizes": list(hidden), "merged_size": 5}
    net = HistoryNetConfig(history_reader=history, activation="relu", init="torch", **sizes)
    steps = {"inputs": L * F + REST, "history_shape": (L, F)}
    dimensions = NetDimensions(outputs=3, replicas=replicas, **steps)
    return net.build_module(dimensions, torch.Generator().manual_seed(0))


def rows(lengths, replicas=REPLICAS, seed=0):
    """Return inputs [replicas, B, L * F + REST]: sequences padded with 0, and REST other inputs."""
    generator = torch.Generator().manual_seed(seed)
    x = 0.1 + torch.rand(replicas, len(lengths), L * F + REST, generator=generator)
    for row, length in enumerate(lengths):
        x[:, row, length * F : L * F] = 0
    return x


def weights(own):
    """Return our weights in PyTorch's layout: gates on the first axis, the output gate last."""
    i, f, o, g = own.chunk(4, -1)
    return torch.cat([i, f, g, o], -1).movedim(-1, 0)


# On the CPU `ReplicatedLSTM` runs a compiled loop for float32, and PyTorch's LSTM for float64.
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@DTYPES
@pytest.mark.parametrize("units", [4, 5])
def test_lstm_equals_pytorch_for_each_replica_and_length(dtype, units):
    reader = ReplicatedLSTM((L, F), units, REPLICAS, torch.Generator().manual_seed(0)).to(dtype)
    lengths = [5, 1, 3, 4, 1, 2]
    x = rows(lengths)[..., : L * F].to(dtype)
    out = reader(x)
    torch_lstm = nn.LSTM(F, units, batch_first=True, dtype=dtype)
    for k in range(REPLICAS):
        with torch.no_grad():
            expected = [
                weights(own) for own in (reader.weight_ih[k], reader.weight_hh[k], reader.bias[k])
            ]
            zeros = torch.zeros(4 * units)
            for own, weight in zip(torch_lstm.parameters(), [*expected, zeros], strict=True):
                own.copy_(weight)
        for row, length in enumerate(lengths):
            steps = x[k, row].view(1, L, F)[:, :length]
            torch.testing.assert_close(out[k, row], torch_lstm(steps)[1][0][0, 0])


@DTYPES
def test_sequences_with_common_prefixes_are_read_as_if_alone(dtype):
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0)).to(dtype)
    x = torch.randint(1, 3, (1, 40, L, F), generator=torch.Generator().manual_seed(1)) / 2
    lengths = torch.arange(40) % (L + 1)
    x[0, torch.arange(L) >= lengths[:, None]] = 0
    x[0, 30:] = x[0, :10]  # ten sequences occur twice
    x = x.flatten(2).to(dtype)
    weight = torch.rand(40, 4, dtype=dtype)

    def gradients(read):
        return torch.autograd.grad((weight * read).sum(), list(reader.parameters()))

    alone = torch.cat([reader(x[:, i : i + 1]) for i in range(40)], 1)
    torch.testing.assert_close(reader(x), alone)
    torch.testing.assert_close(gradients(reader(x)[0]), gradients(alone[0]))


def test_compiled_lstm_equals_pytorch_on_long_and_large_inputs():
    reader = ReplicatedLSTM((40, F), 8, 1, torch.Generator().manual_seed(0))
    exact = deepcopy(reader).double()
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 3, (1, 60, 40, F), generator=generator).float()
    x[0, torch.arange(40) >= torch.randint(0, 41, (60, 1), generator=generator)] = 0
    x[0, :3] *= 100  # large inputs saturate the gates
    x = x.flatten(2)
    weight = torch.rand(60, 8, generator=generator)
    torch.testing.assert_close(reader(x).double(), exact(x.double()), atol=2e-6, rtol=0)
    (weight * reader(x)[0]).sum().backward()
    (weight * exact(x.double())[0]).sum().backward()
    for own, expected in zip(reader.parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(own.grad.double(), expected.grad, atol=2e-4, rtol=2e-5)


@pytest.mark.parametrize("precision", ["medium", "highest"])
def test_cudnn_uses_the_precision_of_matrix_products(precision):
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0)).double()
    torch.set_float32_matmul_precision(precision)
    try:
        reader(torch.ones(1, 2, L * F, dtype=torch.float64))
        assert torch.backends.cudnn.allow_tf32 == (precision != "highest")
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("history", ["lstm", "fc", "none"])
def test_replicas_are_independent_and_can_be_cloned(history):
    module = network(history)
    x = rows([3, 5, 0])
    out = module(x)
    torch.testing.assert_close(clone_replica_slice(module, slice(1, 2))(x[1:]), out[1:])
    out[0].sum().backward()
    for weight in module.parameters():
        assert weight.grad[0].any()
        assert not weight.grad[1].any()
