"""Networks that read a sequence: PyTorch's own LSTM as the judge, copies apart, padding unseen."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import nn

from poker_rl.config.validation import ConfigError
from poker_rl.nets import lstm
from poker_rl.nets.dense import NetDimensions
from poker_rl.nets.history_net import HistoryNetConfig
from poker_rl.nets.lstm import ReplicatedLSTM
from poker_rl.nets.lstm_kernels import build_prefix_tree
from poker_rl.nets.replicas import clone_replicas

L, F, REST, COPIES = 5, 3, 7, 2


def network(history="lstm", hidden=(8, 6), copies=COPIES):
    net = HistoryNetConfig(
        history_reader=history,
        reader_units=4,
        hidden_sizes=list(hidden),
        merged_size=5,
        activation="relu",
        init="torch",
    )
    generator = torch.Generator().manual_seed(0)
    return net.build_module(
        NetDimensions(inputs=L * F + REST, outputs=3, replicas=copies, history_shape=(L, F)),
        generator,
    )


def rows(lengths, copies=COPIES, seed=0):
    """Sequences of these lengths, then the rest, [K, B, L * F + REST]."""
    generator = torch.Generator().manual_seed(seed)
    x = 0.1 + torch.rand(copies, len(lengths), L * F + REST, generator=generator)
    for row, length in enumerate(lengths):
        x[:, row, length * F : L * F] = 0
    return x


def weights(own):
    """PyTorch has the new content before the output gate, and gates in rows."""
    write, keep, show, new = own.chunk(4, -1)
    return torch.cat([write, keep, new, show], -1).movedim(-1, 0)


# The compiled loop reads float32, PyTorch's LSTM everything else.
WAYS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@WAYS
@pytest.mark.parametrize("units", [4, 5])
def test_an_lstm_is_pytorchs_for_each_copy_and_length(dtype, units):
    reader = ReplicatedLSTM((L, F), units, COPIES, torch.Generator().manual_seed(0)).to(dtype)
    lengths = [5, 1, 3, 4, 1, 2]
    x = rows(lengths)[..., : L * F].to(dtype)
    read = reader(x)
    judge = nn.LSTM(F, units, batch_first=True, dtype=dtype)
    for k in range(COPIES):
        with torch.no_grad():
            theirs = [
                weights(own) for own in (reader.weight_ih[k], reader.weight_hh[k], reader.bias[k])
            ]
            none = torch.zeros(4 * units)
            for own, weight in zip(judge.parameters(), [*theirs, none], strict=True):
                own.copy_(weight)
        for row, length in enumerate(lengths):
            steps = x[k, row].view(1, L, F)[:, :length]
            torch.testing.assert_close(read[k, row], judge(steps)[1][0][0, 0])


@WAYS
def test_sequences_that_begin_alike_are_read_as_if_alone(dtype):
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0)).to(dtype)
    x = torch.randint(1, 3, (1, 40, L, F), generator=torch.Generator().manual_seed(1)) / 2
    lengths = torch.arange(40) % (L + 1)
    x[0, torch.arange(L) >= lengths[:, None]] = 0
    x[0, 30:] = x[0, :10]  # and whole ones alike
    x = x.flatten(2).to(dtype)
    weight = torch.rand(40, 4, dtype=dtype)

    def gradients(read):
        return torch.autograd.grad((weight * read).sum(), list(reader.parameters()))

    alone = torch.cat([reader(x[:, i : i + 1]) for i in range(40)], 1)
    torch.testing.assert_close(reader(x), alone)
    torch.testing.assert_close(gradients(reader(x)[0]), gradients(alone[0]))


def test_both_ways_of_reading_agree_for_long_sequences_and_large_numbers():
    reader = ReplicatedLSTM((40, F), 8, 1, torch.Generator().manual_seed(0))
    exact = deepcopy(reader).double()
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 3, (1, 60, 40, F), generator=generator).float()
    x[0, torch.arange(40) >= torch.randint(0, 41, (60, 1), generator=generator)] = 0
    x[0, :3] *= 100  # gates that are as good as open or shut
    x = x.flatten(2)
    weight = torch.rand(60, 8, generator=generator)
    torch.testing.assert_close(reader(x).double(), exact(x.double()), atol=2e-6, rtol=0)
    (weight * reader(x)[0]).sum().backward()
    (weight * exact(x.double())[0]).sum().backward()
    for one, other in zip(reader.parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(one.grad.double(), other.grad, atol=2e-4, rtol=2e-5)


@WAYS
def test_many_rows_are_read_in_parts(dtype, monkeypatch):
    reader = ReplicatedLSTM((L, F), 4, COPIES, torch.Generator().manual_seed(0)).to(dtype)
    x = rows([5, 1, 0, 3, 4, 1, 2])[..., : L * F].to(dtype)
    whole = reader(x)
    monkeypatch.setattr(lstm, "MAX_ROWS", 3)
    torch.testing.assert_close(reader(x), whole)


def test_the_weights_of_a_copy_fill_one_piece_of_memory_in_order():
    """So cuDNN takes them as they are; else PyTorch warns."""
    reader = ReplicatedLSTM((L, F), 4, COPIES, torch.Generator().manual_seed(0))
    copies = reader._convert_weights()
    assert len(copies) == COPIES
    for parts in copies:
        offset = 0
        for part in parts:
            assert part.is_contiguous()
            assert part.untyped_storage().data_ptr() == parts[0].untyped_storage().data_ptr()
            assert part.storage_offset() == offset
            offset += part.numel()
        assert parts[0].untyped_storage().nbytes() == 4 * offset


@pytest.mark.parametrize("precision", ["high", "medium", "highest"])
def test_cudnn_multiplies_in_the_precision_of_matrix_products(precision):
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0)).double()
    torch.set_float32_matmul_precision(precision)
    try:
        reader(torch.ones(1, 2, L * F, dtype=torch.float64))
        assert torch.backends.cudnn.allow_tf32 == (precision != "highest")
    finally:
        torch.set_float32_matmul_precision("highest")


def test_beginnings_are_each_found_once():
    words = ["aba", "ab", "abc", "b", "aba", "ca", ""]
    x = torch.tensor(
        [[[0.0 if c == " " else ord(c), 1.0 - (c == " ")] for c in word.ljust(3)] for word in words]
    )
    found = build_prefix_tree(x)
    texts: list[str] = []
    for i, step in enumerate(found.last_step):
        before = texts[found.parent[i]] if i >= found.level_ends[0] else ""
        texts.append(before + (chr(int(step[0])) if step[0] else "."))
    assert sorted(texts) == [".", "a", "ab", "aba", "abc", "b", "c", "ca"]
    assert [len(text) for text in texts] == sorted(len(text) for text in texts)
    assert found.level_ends.tolist() == [4, 6, 8]
    assert [texts[node] for node in found.prefix_of_sequence] == [word or "." for word in words]


@WAYS
def test_weights_that_are_no_numbers_are_not_hidden(dtype):
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0)).to(dtype)
    with torch.no_grad():
        reader.weight_hh[0, 0, 0] = torch.nan
    read = reader(rows([1, 2], copies=1)[..., : L * F].to(dtype))[0]
    assert read[1].isnan().any()  # of two steps; the state is read with the second


def test_no_history_is_read_as_a_step_of_zeros():
    reader = ReplicatedLSTM((L, F), 4, 1, torch.Generator().manual_seed(0))
    none, some = reader(rows([0, 1], copies=1)[..., : L * F])[0]
    assert none.isfinite().all()
    assert not torch.equal(none, some)


def test_the_order_of_the_steps_matters_to_an_lstm_and_no_step_to_none():
    x = rows([3, 5])
    swapped = x.clone()
    swapped[..., :F], swapped[..., F : 2 * F] = x[..., F : 2 * F], x[..., :F]
    assert not torch.allclose(network("lstm")(x), network("lstm")(swapped))
    assert not torch.allclose(network("fc")(x), network("fc")(swapped))
    assert torch.equal(network("none")(x), network("none")(swapped))


@pytest.mark.parametrize("history", ["lstm", "fc", "none"])
def test_copies_are_apart_and_may_be_taken_alone(history):
    module = network(history)
    x = rows([3, 5, 0])
    out = module(x)
    torch.testing.assert_close(clone_replicas(module, slice(1, 2))(x[1:]), out[1:])
    out[0].sum().backward()
    for weight in module.parameters():
        assert weight.grad[0].any()
        assert not weight.grad[1].any()


def test_what_lies_on_the_table_needs_a_layer():
    with pytest.raises(ConfigError, match="hidden"):
        network(hidden=())


@WAYS
def test_no_rows_are_read_with_gradients_of_zero(dtype):
    reader = ReplicatedLSTM((L, F), 4, COPIES, torch.Generator().manual_seed(0)).to(dtype)
    read = reader(torch.zeros(COPIES, 0, L * F, dtype=dtype))
    assert read.shape == (COPIES, 0, 4)
    read.sum().backward()
    assert all(not weight.grad.any() for weight in reader.parameters())
