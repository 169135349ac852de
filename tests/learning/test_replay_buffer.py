"""Replay buffers: insertion rules, packing, replicas, resuming, and checks of memory."""

import io
from collections import deque

import numpy as np
import pytest
import torch

from poker_rl.config import ConfigError
from poker_rl.learning.buffers.insertion_rules import (
    CircularInsertion,
    ExponentialReservoir,
    FlooredReservoir,
    UniformReservoir,
)
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.memory_checks import (
    _measure_available_bytes,
    _read_cgroup_limits,
    check_memory,
)
from poker_rl.training.rank_and_device import ProcessRank, prepare_process

CPU = torch.device("cpu")
NUMBER = {"number": Column(torch.int64)}


def add_numbers(rule, capacity, count, seed, parts=1):
    """Add the numbers 0 to count - 1 to a buffer in `parts` parts; return those it keeps."""
    buffer = ReplayBuffer("capacity", capacity, rule, NUMBER, CPU, seed)
    for part in np.array_split(np.arange(count), parts):
        buffer.add(np.zeros(len(part), np.int64), number=part)
    return buffer.state_dict()["items"]["number"][0].numpy()


@pytest.mark.parametrize("parts", [3, 100])
def test_circular_buffer_keeps_the_newest_items(parts):
    stored = add_numbers(CircularInsertion(), 10, 43, 0, parts)
    assert sorted(stored) == list(deque(range(43), 10))
    assert list(stored) == [40, 41, 42, *range(33, 40)]  # item i is in slot i % 10


@pytest.mark.parametrize(("parts", "runs"), [(1, 1000), (40, 200)])
@pytest.mark.parametrize(
    ("rule", "probs"),
    [
        (UniformReservoir(), lambda i: 10 / i),
        (FlooredReservoir(min_insertion_prob=0.25), lambda i: np.maximum(10 / i, 0.25)),
        (ExponentialReservoir(insertion_prob=0.3), lambda i: np.full(len(i), 0.3)),
    ],
)
def test_items_are_kept_with_the_probabilities_of_the_rule(rule, probs, parts, runs):
    """An item stays if it is stored and no later item is stored in its slot."""
    capacity, count = 10, 200
    prob = probs(np.arange(1, count + 1))
    prob[:capacity] = 1
    survives = 1 - prob / capacity
    survives[:capacity] = 1  # the buffer has a free slot for each of these
    expected = prob * np.append(np.cumprod(survives[::-1])[::-1][1:], 1)
    assert expected.sum() == pytest.approx(capacity)
    if isinstance(rule, UniformReservoir):
        np.testing.assert_allclose(expected, capacity / count)
    seen = np.zeros(count)
    for seed in range(runs):
        seen[add_numbers(rule, capacity, count, seed, parts)] += 1
    frequency = seen / runs
    blocks = (frequency - expected).reshape(-1, 10).mean(1)  # means over ten adjacent items
    sd = np.sqrt((expected * (1 - expected)).reshape(-1, 10).sum(1) / runs) / 10
    assert np.abs(blocks / sd).max() < 4.5


def columns():
    wide = {"observation": Column(torch.bool, 21), "mask": Column(torch.bool, 3)}
    wide["policy"] = Column(torch.float32, 3)
    return wide | {"action": Column(torch.uint8), "number": Column(torch.int64)}


def items(generator, first, count):
    return {
        "observation": generator.integers(2, size=(count, 21)).astype(np.uint8),
        "mask": generator.integers(2, size=(count, 3)).astype(bool),
        "policy": generator.random((count, 3)).astype(np.float32),
        "action": generator.integers(3, size=count),
        "number": first + np.arange(count),
    }


def test_sampled_items_are_complete_and_of_their_replica():
    generator = np.random.default_rng(0)
    buffer = ReplayBuffer("capacity", 50, CircularInsertion(), columns(), CPU, 0, replicas=3)
    added = items(generator, 0, 120)
    replica = generator.choice(3, size=120, p=[0.6, 0.3, 0.1])
    for part in np.array_split(np.arange(120), 4):
        buffer.add(replica[part], **{name: values[part] for name, values in added.items()})
    assert buffer.items_added.tolist() == np.bincount(replica).tolist()
    assert buffer.min_items_per_replica == np.bincount(replica)[2]
    batch = buffer.sample(400)
    assert batch["observation"].shape == (3, 400, 21)
    assert batch["action"].shape == (3, 400)
    assert batch["observation"].dtype == batch["mask"].dtype == torch.bool
    for k in range(3):
        number = batch["number"][k].numpy()
        newest = np.flatnonzero(replica == k)[-50:]
        assert set(number) == set(newest)  # P(a given item is never sampled) = 3e-4
        for name, values in added.items():
            np.testing.assert_array_equal(batch[name][k].numpy(), values[number])


@pytest.mark.parametrize(
    "rule", [CircularInsertion(), UniformReservoir(), ExponentialReservoir(insertion_prob=0.3)]
)
def test_resumed_buffer_is_bitwise_equal(rule):
    generator = np.random.default_rng(0)
    buffers = [
        ReplayBuffer("capacity", 40, rule, columns(), CPU, seed, replicas=2) for seed in (0, 9)
    ]
    replica = np.array([0, 1, 0, 0, 1] * 6)
    buffers[0].add(replica, **items(generator, 0, 30))
    buffers[0].sample(5)
    file = io.BytesIO()
    torch.save(buffers[0].state_dict(), file)
    file.seek(0)
    buffers[1].load_state_dict(torch.load(file, weights_only=True))
    for turn in range(6):
        more = items(generator, 30 * (turn + 1), 30)
        batches = []
        for buffer in buffers:
            buffer.add(replica, **more)
            batches.append(buffer.sample(16))
        for name in columns():
            assert torch.equal(batches[0][name], batches[1][name])


def test_buffer_larger_than_memory_is_refused_with_its_size():
    column, rule = {"observation": Column(torch.bool, 288)}, CircularInsertion()
    small = ReplayBuffer("replay", 10, rule, column, CPU, 0)
    message = r"^replay: .* 36 bytes .* 134,110.5 GiB.*; there are [\d.,]+"
    with pytest.raises(ConfigError, match=message):
        ReplayBuffer("replay", 2 * 10**12, rule, column, CPU, 0, replicas=2, other_buffers=[small])


def test_memory_check_counts_all_processes_of_the_machine():
    """3/5 of the memory is allowed for one process, but too much for each of two."""
    available = _measure_available_bytes(CPU)
    check_memory("replay: 1 item", 3 * available // 5, CPU)
    prepare_process("cpu", 1, 0, ProcessRank(3, local_count=2))
    with pytest.raises(ConfigError, match=r"for each of 2 processes$"):
        check_memory("replay: 1 item", 3 * available // 5, CPU)
    prepare_process("cpu", 1, 0)
    check_memory("replay: 1 item", 3 * available // 5, CPU)


@pytest.mark.parametrize(
    ("group", "files", "limits"),
    [
        ("0::/job/step", {"job/memory.max": "3000", "job/step/memory.max": "max"}, [3000]),
        ("0::/", {"job/memory.max": "3000"}, []),
    ],
)
def test_memory_limits_of_all_parent_cgroups_are_read(group, files, limits, tmp_path):
    texts = {"proc/self/cgroup": group} | {f"sys/fs/cgroup/{name}": files[name] for name in files}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert list(_read_cgroup_limits(tmp_path)) == limits
