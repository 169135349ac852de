"""Deep CFR: sampled regrets against exact ones, merging buffers, warm start, learning."""

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import build_learner, cpu_context, learn_decisions, measure_exploitability
from toy_games import kuhn, label, leduc
from tree_values import compute_counterfactual_values, random_policy

from poker_rl.algos.deep_cfr import traverse_hands
from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.config.schedules import Constant, LogLinear
from poker_rl.games import get_tree
from poker_rl.learning import LearnerServices, SharingAndSeatingSettings, memory_checks
from poker_rl.learning.buffers.merging_buffer import MergingBuffer, TraversalDecisions
from poker_rl.nets import MLPConfig

NET = MLPConfig(hidden_sizes=[32], activation="relu", init="torch", features="observation")


def learner(game, seed=0, opponent=None, net=NET, **changed):
    settings = {"traversals": 40, "capacity": 1000, "batch_size": 64}
    settings |= {"regret_gradient_steps": 8, "average_gradient_steps": 8}
    settings |= {"regret_lr": Constant(start=1e-3), "average_lr": Constant(start=1e-3)}
    return build_learner("deep_cfr", game, net, seed, opponent, settings | changed)


def build_services(game, hands=1):
    seats = SharingAndSeatingSettings(network_sharing="per_seat", instances=1, seating="fixed")
    return LearnerServices(cpu_context(game, NET), seats, tables_per_instance=hands)


@pytest.mark.parametrize("game", [kuhn(), kuhn(3), leduc()], ids=label)
def test_sampled_regrets_average_to_the_exact_ones(game):
    """Means are within 6 standard errors at infosets with 40 expected visits or more."""
    tree, hands, times = get_tree(game), 1000, 20
    services, policy = build_services(game, hands), random_policy(tree, 1)
    rows, _ = services.encode_seen_and_hidden_cards(tree.infoset_records)
    row_index = {row.tobytes(): i for i, row in enumerate(rows)}

    def infosets(seen):
        return np.array([row_index[row.tobytes()] for row in seen], np.int64)

    for traverser in range(game.seats):
        regrets, reach, _ = compute_counterfactual_values(tree, policy, traverser)
        others = tree.infoset_seat != traverser
        sums = np.zeros((times, *regrets.shape))  # mean target: regrets, or policies of others
        counts = np.zeros((times, tree.infoset_count))
        for k in range(times):
            for part in traverse_hands(
                services, traverser, lambda seen, *_: policy[infosets(seen)]
            ):
                index = infosets(part.observation)
                assert (part.replica == tree.infoset_seat[index]).all()
                np.add.at(sums[k], index, part.targets / hands)
                np.add.at(counts[k], index, 1 / hands)
        frequent = reach * hands * times >= 40
        assert frequent.sum() > tree.infoset_count / 3
        for values, expected in ((counts, reach), (sums, np.where(others[:, None], 0, regrets))):
            error = values.std(0, ddof=1) / times**0.5
            deviation = abs(values.mean(0) - expected)
            is_checked = frequent if values is counts else frequent & ~others
            assert (deviation <= 6 * error + 1e-12)[is_checked].all()
        assert sums[:, others] == pytest.approx((counts[..., None] * policy)[:, others])


def decisions(cells, regrets, replica):
    observation = np.zeros((len(cells), 11), np.uint8)
    observation[:, :2] = cells
    mask = np.ones((len(cells), 3), np.bool_)
    return TraversalDecisions(observation, mask, np.array(replica), np.array(regrets, np.float64))


def build_services_of_wide_observations():
    services = build_services(kuhn())
    services.observation_column = services.observation_column._replace(width=11)
    return services


def build_buffer(services, capacity):
    return MergingBuffer(services, capacity, iteration_weight_power=1.0)


def test_merging_buffer_keeps_weighted_means_of_equal_rows():
    buffer = build_buffer(build_services_of_wide_observations(), capacity=10)
    buffer.iteration += 1
    buffer.add(decisions([[0, 1], [1, 1], [0, 1]], [[1, 0, 0], [5, 5, 5], [3, 0, 0]], [0, 0, 1]))
    buffer.iteration += 1
    buffer.add(decisions([[0, 1], [0, 1]], [[4, 3, 0], [7, 0, 0]], [0, 1]))
    targets = buffer.get_or_sample_batch(batch_size=4)
    assert len(buffer) == 3
    assert targets.weight.tolist() == [[0.75, 0.25], [1, 0]]
    assert targets.target[0].tolist() == [[3, 2, 0], [5, 5, 5]]  # 3 is (1 x 1 + 2 x 4) / 3
    assert targets.target[1, 0].tolist() == pytest.approx([17 / 3, 0, 0])
    assert targets.observation[0, :, :2].tolist() == [[0, 1], [1, 1]]
    # if a batch is smaller than the buffer, its rows are sampled by weight
    samples = [buffer.get_or_sample_batch(batch_size=1).target[0, 0, 0].item() for _ in range(400)]
    assert set(samples) == {3.0, 5.0}
    assert samples.count(3.0) == pytest.approx(300, abs=40)  # 4.6 standard deviations


def test_batches_are_sampled_with_little_noise():
    """Four rows have weights 1 to 4; independent samples would miss the last in 1/5 of batches."""
    buffer = build_buffer(build_services_of_wide_observations(), capacity=10)
    count_of_row = np.zeros((400, 4))
    buffer.iteration += 1
    cells = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [1, 2, 3, 4], axis=0)
    buffer.add(decisions(cells, [[cell @ [2, 1], 0, 0] for cell in cells], [0] * len(cells)))
    for counts in count_of_row:
        batch = buffer.get_or_sample_batch(batch_size=3)
        rows = batch.target[0, :, 0].int().numpy()
        assert len(set(rows)) == len(rows)
        counts[rows] = 3 * batch.weight[0]
    assert count_of_row[:, 3].min() == pytest.approx(1)
    assert count_of_row.mean(0) == pytest.approx([0.3, 0.6, 0.9, 1.2], abs=0.1)


def test_full_merging_buffer_is_a_uniform_sample_of_observations():
    services, sampled = build_services_of_wide_observations(), []
    for _ in range(200):
        buffer = build_buffer(services, capacity=2)  # x 2 replicas, which share 4 rows
        for bits in range(8):
            buffer.iteration += 1
            row = np.unpackbits(np.array([[bits]], np.uint8), axis=1).astype(np.uint8)
            item = decisions([[0, 0]], [[bits, 0, 0]], [0])
            item.observation[:, :8] = row
            buffer.add(item)
        assert len(buffer) == 4
        sampled += buffer.get_or_sample_batch(batch_size=8).target[0, :, 0].tolist()
    counts = np.bincount(np.array(sampled).round().astype(int), minlength=8)
    assert abs(counts - 100).max() < 30  # 4 standard deviations


def test_approaches_equilibrium_on_kuhn():
    """Uniform play has exploitability .458; ten seeds ended at .049 ± .008; .09 is 5 sd above."""
    game, steps = kuhn(), 60_000
    settings = {"traversals": 100, "regret_normalization": 0.5}
    settings |= {"regret_lr": LogLinear(start=3e-3, end=3e-4, horizon=steps)}
    settings |= {"average_lr": LogLinear(start=5e-3, end=3e-4, horizon=steps)}
    algorithm = learner(game, **settings)
    learn_decisions(algorithm, steps)
    assert measure_exploitability(game, algorithm.players()["average"]) < 0.09


@pytest.mark.parametrize(("batch_size", "updates"), [(64, 1 + 1), (2, 3 + 3), (1, 6 + 6)])
def test_small_buffer_takes_fewer_gradient_steps(batch_size, updates):
    """`max_epochs` allows one pass: a buffer has Kuhn's 12 observations, 6 for each network."""
    algorithm = learner(kuhn(), batch_size=batch_size, max_epochs=1.0)
    for _ in range(20):
        algorithm.learn()
    before = algorithm.progress.updates
    algorithm.learn()
    assert algorithm.progress.updates - before == updates


@pytest.mark.parametrize(
    "changed",
    [
        {"network_sharing": "shared", "instances": 2},
        {"batch_size": 4, "capacity": 6, "instances": 2},  # batches are samples of a full buffer
    ],
)
def test_settings_train_and_resume_bitwise(changed):
    game = kuhn(3)
    check_bitwise_resume(game, lambda seed: learner(game, seed, **changed))


def test_warm_start_copies_networks_and_buffers():
    game = kuhn()
    first, warm = learner(game, seed=1), learner(game, seed=2)
    for _ in range(3):
        first.learn()
    source = first.state_dict()
    warm.warm_start(source)
    state = warm.state_dict()
    for name in ("regrets", "average"):
        assert all(torch.equal(state[name][key], source[name][key]) for key in source[name])
    for name in ("regret_buffer", "average_buffer"):
        rows = source[name]["rows"]
        assert all(torch.equal(state[name]["rows"][key], rows[key]) for key in rows)
        assert state[name]["generator"] != source[name]["generator"]
    assert warm.progress.iterations == 0
    warm.learn()
    assert warm.state_dict()["regret_buffer"]["iteration"] == 4  # the source had 3
    with pytest.raises(ConfigError, match=r"^capacity: 8 observations, the other buffer has "):
        learner(game, capacity=4).warm_start(source)


def test_opponents_amount_networks_and_too_many_positions_are_refused(monkeypatch):
    game = kuhn()
    caller = build(load_option("player", "call"), "opponent", game=game)
    with pytest.raises(ConfigError, match=r"^opponents: "):
        learner(game, opponent=caller)
    with pytest.raises(ConfigError, match=r"^net: has no values of actions, which regrets need"):
        learner(game, net=build(load_option("net", "amounts"), "net"))
    algorithm = learner(game)
    monkeypatch.setattr(memory_checks, "_measure_available_bytes", lambda device: 1000)
    with pytest.raises(
        ConfigError, match=r"^algo.traversals: 40 hands lead to \d+ positions and need about "
    ):
        algorithm.learn()


def test_equal_rows_are_merged_in_batches(monkeypatch):
    """The weighted sum of targets is equal before and after equal rows are merged."""
    monkeypatch.setattr("poker_rl.learning.buffers.merging_buffer.ALWAYS_MERGE_BELOW", 8)
    services = build_services_of_wide_observations()
    buffer = build_buffer(services, capacity=5)
    buffer.iteration += 1
    cells = [[a, b] for a in (0, 1) for b in (0, 1)]
    buffer.add(decisions(2 * cells, [[1, 0, 0]] * 8, [0] * 4 + [1] * 4))
    buffer.iteration += 1
    buffer.add(decisions([[0, 0]], [[4, 0, 0]], [0]))
    assert len(buffer) == 9
    unmerged = buffer.get_or_sample_batch(batch_size=9)
    restored = build_buffer(services, capacity=5)
    restored.load_state_dict(buffer.state_dict())
    for each in (buffer, restored):
        each.add(decisions([[1, 1]], [[1, 0, 0]], [1]))
        assert len(each) == 8
    merged = buffer.get_or_sample_batch(batch_size=9)
    for targets in (unmerged, merged):
        assert float((targets.weight[0] * targets.target[0, :, 0]).sum()) == pytest.approx(2.0)
