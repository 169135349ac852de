"""PPO: advantages, minibatches and loss against plain code, instances, resuming, learning."""

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import average_settings, build_learner, learn_decisions, ppo_settings
from random_games import game as game_of
from toy_games import kuhn
from tree_values import compute_counterfactual_values

from poker_rl.algos import create_algorithm
from poker_rl.algos.ppo_loss import compute_loss_and_metrics
from poker_rl.config.schedules import Constant
from poker_rl.evaluation import exploitability
from poker_rl.games import Tables, get_tree
from poker_rl.learning import HAND_ENDED, NEXT_PENDING, compute_gae
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.minibatches import iterate_minibatch_indices, sample_uniform_numbers
from poker_rl.learning.opponent_pool import OpponentPoolSettings
from poker_rl.nets import MLPConfig, NetDimensions, legal_output_layer
from poker_rl.players import load_player
from poker_rl.storage.checkpoint import save_snapshot

CPU = torch.device("cpu")
KUHN = kuhn()
TREE = get_tree(KUHN)


def ppo(game, seed=0, opponent=None, **changed):
    net = MLPConfig(hidden_sizes=[32], activation="relu", init="orthogonal", features="observation")
    return build_learner("ppo", game, net, seed, opponent, ppo_settings(**changed))


def all_features():
    """Return settings with which every part of the learner has a state to resume."""
    pool = OpponentPoolSettings(play_prob=0.3, snapshot_interval=2, capacity=3)
    average = average_settings(capacity=1000, iteration_weight_power=1.0)
    changed = {"network_sharing": "per_betting_node", "instances": 2, "seating": "shuffled"}
    changed |= {"clip_value_loss": True, "normalize_advantages": True, "opponent_pool": pool}
    changed |= {"critic_view": "perfect_information", "average_policy": average}
    barrier = Constant(start=0.02)
    return changed | {"kl_old_coef": Constant(start=0.1), "log_barrier_coef": barrier}


def test_gae_sums_errors_over_the_decisions_of_each_agent():
    # one agent decides in rows 0, 2, 4, then its hand ends; another one in 1, 3, 5; 5 is pending
    next_ = np.array([2, 3, 4, 5, HAND_ENDED, NEXT_PENDING])
    reward = np.array([0, 0, 0.5, 0, 2, 0], np.float32)
    value = np.array([0.3, -0.2, 0.1, 0.4, 0.7, -0.6], np.float32)
    gamma, lambda_ = 0.9, 0.8
    d = [gamma * 0.1 - 0.3, gamma * 0.4 + 0.2, 0.5 + gamma * 0.7 - 0.1, -gamma * 0.6 - 0.4, 1.3]
    k = gamma * lambda_
    expected = [d[0] + k * (d[2] + k * d[4]), d[1] + k * d[3], d[2] + k * d[4], d[3], d[4], 0]
    actual = compute_gae(reward, value, next_, gamma, lambda_)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("replicas", [1, 3])
def test_deduplicated_inputs_give_equal_outputs_and_gradients(replicas):
    generator = np.random.default_rng(0)
    distinct = generator.integers(2, size=(5, 7)).astype(np.uint8)
    x = distinct[generator.integers(5, size=200)]
    net = MLPConfig(hidden_sizes=[8], activation="tanh", init="orthogonal", features="observation")
    module = net.build_module(
        NetDimensions(inputs=7, outputs=2, replicas=replicas), torch.Generator().manual_seed(0)
    )
    inputs = DeduplicatedInputs(x, CPU)
    assert len(inputs.distinct_rows) <= 5
    replica = torch.from_numpy(generator.integers(replicas, size=200))
    one_by_one = torch.stack(
        [module(torch.from_numpy(x).expand(replicas, -1, -1))[c, i] for i, c in enumerate(replica)]
    )
    torch.testing.assert_close(inputs.forward_all(module, replica), one_by_one)

    index = torch.from_numpy(generator.integers(200, size=(replicas, 40)))
    plain = module(torch.from_numpy(x)[index])
    torch.testing.assert_close(inputs.forward_rows(module, index), plain)
    gradients = []
    for out in (plain, inputs.forward_rows(module, index)):
        module.zero_grad()
        out.square().sum().backward()
        gradients.append([weight.grad.clone() for weight in module.parameters()])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("size", [30, 40])
def test_minibatches_hold_each_row_once_and_average_per_replica(size):
    """The largest replica has 30 rows; replicas with fewer than `size` rows are padded."""
    generator = torch.Generator().manual_seed(0)
    used = torch.tensor([0, 1, 3]).repeat_interleave(
        torch.tensor([10, 20, 30])
    )  # replica 2 has no used row
    replica = torch.cat([used, torch.tensor([0, 1, 2, 3, 3])])[
        order := torch.randperm(65, generator=generator)
    ]
    is_used = order < 60
    uniform = torch.rand(65, generator=generator, dtype=torch.float64)
    parts = list(iterate_minibatch_indices(replica, is_used, uniform, 4, 3, size))
    assert len(parts) == 3
    seen = torch.cat([index[weight > 0] for index, weight in parts])
    assert torch.equal(seen.sort().values, is_used.nonzero()[:, 0])
    for index, weight in parts:
        assert index.shape == weight.shape == (4, -(-size // 3))
        assert ((index >= 0) & (index < 65)).all()
        for k, rows in ((0, 10), (1, 20), (3, 30)):
            is_real = weight[k] > 0
            assert set(replica[index[k]].tolist()) == {k}
            assert is_used[index[k]].all()  # padding repeats used rows
            assert int(is_real.sum()) in (rows // 3, -(-rows // 3))
            assert weight[k].sum() == pytest.approx(1)
            assert weight[k][is_real].unique().numel() == 1
        assert not weight[2].any()


def test_random_orders_come_from_splitmix64():
    """Seed 1234567 gives the numbers of the reference implementation of SplitMix64."""
    seed = 1234567
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    # the reference advances its state before the first number, which is our second
    actual = sample_uniform_numbers(torch.tensor(seed), 5)[1:]
    assert actual.tolist() == [(bits >> 11) / 2**53 for bits in expected]
    for seed in (0, 2**63 - 1, 5):
        uniform = sample_uniform_numbers(torch.tensor(seed), 100_000)
        assert ((uniform >= 0) & (uniform < 1)).all()
        counts = (uniform * 100).long().bincount(minlength=100)
        assert (counts - 1000).abs().max() < 5 * np.sqrt(1000)
        assert abs(np.corrcoef(uniform[1:], uniform[:-1])[0, 1]) < 5 / np.sqrt(100_000)


@pytest.mark.parametrize("changed", [{}, all_features()])
def test_resume_is_bitwise_equal(changed):
    game = game_of("kuhn")
    check_bitwise_resume(game, lambda seed: ppo(game, seed, **changed), steps=4)


def test_instances_are_independent():
    """Weights and optimizer of one instance have no effect on the other instance.

    There is one minibatch, as the bounds of several depend on the replica with most rows.
    """
    game = game_of("kuhn")
    settings = {"network_sharing": "per_seat", "instances": 2, "minibatches": 1}
    first, second = (ppo(game, **settings) for _ in "ab")
    half = len(next(first._actor.parameters())) // 2
    with torch.no_grad():
        for weight in second._actor_critic.parameters():
            weight[half:] += 1.0
    records = get_tree(game).infoset_records
    for _ in range(3):
        before = [player.players()["current"].select_instance(0) for player in (first, second)]
        np.testing.assert_allclose(*(p.action_probs(records) for p in before), atol=1e-6)
        first.learn(), second.learn()
    second_instance = [player.players()["current"].select_instance(1) for player in (first, second)]
    assert np.abs(np.subtract(*(p.action_probs(records) for p in second_instance))).max() > 0.01


def plain_loss(logits, value, rows, coef):
    """Return loss and metrics of decisions [B] by a plain loop; the value coefficient is 0.5."""
    loss, metrics = 0.0, [0.0] * 5
    weight, clip = rows["weight"], coef["clip_coef"]
    mean = sum(weight * rows["advantage"])
    spread = np.sqrt(sum(weight * (rows["advantage"] - mean) ** 2))
    for i in range(len(value)):
        legal = np.flatnonzero(rows["mask"][i])
        probs = np.exp(logits[i, legal]) / np.exp(logits[i, legal]).sum()
        prob = probs[list(legal).index(rows["action"][i])]
        ratio = prob / np.exp(rows["log_prob"][i])
        advantage = (rows["advantage"][i] - mean) / spread
        clipped_ratio = min(max(ratio, 1 - clip), 1 + clip)
        surrogate = min(ratio * advantage, clipped_ratio * advantage)
        entropy = -sum(p * np.log(p) for p in probs)
        kl_old = sum(probs * (np.log(probs) - rows["old"][i, legal]))
        old, target = rows["old_value"][i], rows["target"][i]
        clipped = old + min(max(value[i] - old, -clip), clip)
        error = max((value[i] - target) ** 2, (clipped - target) ** 2)
        actor = -surrogate - coef["entropy_coef"] * entropy + coef["kl_old_coef"] * kl_old
        actor -= coef["log_barrier_coef"] * np.log(probs).mean()
        loss += weight[i] * (actor + 0.5 / 2 * error)
        kl = ratio - 1 - np.log(ratio)
        terms = (-surrogate, error / 2, entropy, kl, float(abs(ratio - 1) > clip))
        metrics = [metrics[j] + weight[i] * term for j, term in enumerate(terms)]
    return loss, metrics


def test_loss_metrics_and_gradient_match_plain_sums():
    """Finite differences check the gradient with respect to each output of the networks."""
    count, rng = 40, np.random.default_rng(3)
    mask = rng.random((count, 3)) < 0.6
    mask[:, 0] |= mask.sum(1) == 0
    action = np.array([rng.choice(np.flatnonzero(legal)) for legal in mask])
    rows = {"mask": mask, "action": action, "log_prob": np.log(rng.uniform(0.2, 0.9, count))}
    rows |= {name: rng.normal(size=count) for name in ("advantage", "old_value", "target")}
    rows |= {"old": np.log(rng.dirichlet(np.ones(3), count))}
    rows |= {"weight": rng.dirichlet(np.ones(count))}
    coef = {"clip_coef": 0.2, "entropy_coef": 0.3, "kl_old_coef": 0.7, "log_barrier_coef": 0.4}
    outputs = torch.from_numpy(rng.normal(size=(1, count, 4))).requires_grad_()
    parts = {name: torch.from_numpy(values)[None] for name, values in rows.items()}
    coefs = {name: torch.tensor(value, dtype=torch.float64) for name, value in coef.items()}
    arguments = outputs[..., :-1], outputs[..., -1], parts, parts["weight"], coefs, 0.5
    loss, metrics = compute_loss_and_metrics(*arguments, normalizes_advantages=True)
    loss.backward()

    plain = outputs.detach().numpy()[0].copy()
    expected = plain_loss(plain[:, :-1], plain[:, -1], rows, coef)
    assert loss.item() == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(metrics, expected[1], 1e-6)
    slopes = np.zeros_like(plain)
    for index in np.ndindex(plain.shape):
        for sign in (1, -1):
            plain[index] += sign * 1e-6
            slopes[index] += sign * plain_loss(plain[:, :-1], plain[:, -1], rows, coef)[0] / 2e-6
            plain[index] -= sign * 1e-6
    np.testing.assert_allclose(outputs.grad[0], slopes, atol=1e-6)


@pytest.mark.parametrize(("shared_layers", "bound"), [(0, 0.13), (1, 0.155)])
def test_self_play_approaches_equilibrium_and_values_are_chips(shared_layers, bound):
    """Uniform play has exploitability 0.458; the bounds are mean + 4 sd.

    8 runs ended at 0.078 +- 0.013, 6 with a shared layer at 0.103 +- 0.013. Values of information
    sets go from -1 to 1.9 chips.
    """
    learner = ppo(KUHN, tables=256, shared_layers=shared_layers)
    metrics = learn_decisions(learner, 100_000)
    player = learner.players()["weight_average"]
    policy = player.action_probs(TREE.infoset_records)
    assert exploitability(TREE, policy) < bound
    assert metrics["value/explained_variance"] > 0.3
    values = np.zeros(TREE.infoset_count)
    for seat in range(KUHN.seats):
        _, reach, seat_values = compute_counterfactual_values(TREE, policy, seat)
        own = TREE.infoset_seat == seat
        values[own] = seat_values[own] / reach[own]
    estimates = player.state_values(TREE.infoset_records)
    assert np.sqrt(np.square(estimates - values).mean()) < 0.2
    assert player.action_values(TREE.infoset_records) is None


@pytest.mark.parametrize(("entropy_over", "raises"), [("actions", 5 / 6), ("action_types", 1 / 2)])
def test_entropy_bonus_is_over_actions_or_over_action_types(entropy_over, raises):
    game = game_of("nolimit_leduc")
    settings = {"lr": Constant(start=1e-2), "entropy_coef": Constant(start=1.0)}
    settings["reward_scale"] = 1e6
    learner = ppo(game, **settings, output_init_scale=1.0, entropy_over=entropy_over)
    for _ in range(100):
        learner.learn()
    tables = Tables(game, 1, 0)
    tables.deal()  # first decision: call, or raise to 2, 3, 4, 5 or 6 chips
    policy = learner.players()["current"].action_probs(tables.records)[0]
    np.testing.assert_allclose(policy[1], 1 - raises, atol=0.05)
    np.testing.assert_allclose(policy[2:], raises / 5, atol=0.05)


def test_logits_of_legal_actions_only_give_the_same_metrics(monkeypatch):
    metrics = {}
    for limit in (legal_output_layer.MIN_ACTIONS, 10**6):
        monkeypatch.setattr(legal_output_layer, "MIN_ACTIONS", limit)
        settings = {"tables": 32, "kl_old_coef": Constant(start=0.1)}
        average = average_settings(capacity=1000)
        learner = ppo(game_of("big2"), average_policy=average, **settings)
        metrics[limit] = [learner.learn() for _ in range(2)]
    compact, full = metrics.values()
    for row, expected in zip(compact, full, strict=True):
        del row["time/outside_networks"], expected["time/outside_networks"]
        assert row == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("ppo", ["algo.network_sharing=per_seat", "algo.instances=3", "algo.shared_layers=1"]),
        ("actor_critic", ["algo.critic_view=own", "algo.network_sharing=per_agent"]),
        ("nfsp", []),
    ],
)
def test_snapshot_keeps_values_and_also_loads_without_a_critic(algo, settings, tmp_path):
    players = create_algorithm(algo, KUHN, *settings).players()
    states = {name: player.to_dict() for name, player in players.items()}
    save_snapshot(tmp_path, 2, {"game": KUHN.to_dict(), "players": states})
    old_states = {
        name: {k: v for k, v in state.items() if k != "critic"} for name, state in states.items()
    }
    save_snapshot(tmp_path, 1, {"game": KUHN.to_dict(), "players": old_states})
    for name, player in players.items():
        estimates = player.state_values(np.tile(TREE.infoset_records, player.instance_count))
        for k in range(player.instance_count):
            loaded, old = (load_player(f"{tmp_path}@{step}:{name}.{k}", KUHN) for step in (2, 1))
            assert old.state_values(TREE.infoset_records) is None
            values = loaded.state_values(TREE.infoset_records)
            if estimates is None:
                assert values is None
            else:
                expected = estimates.reshape(player.instance_count, -1)[k]
                np.testing.assert_allclose(values, expected, atol=1e-6)
