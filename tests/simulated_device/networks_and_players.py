"""Networks and players have the same outputs on the simulated device as on the CPU."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from device_simulator import DEVICE, simulate_device
from random_games import play

from poker_rl.algos import create_algorithm
from poker_rl.config import ConfigError
from poker_rl.evaluation.exact.public_tree_evaluator import PublicTreeEvaluator
from poker_rl.games import load_game
from poker_rl.nets.history_net import ReplicatedLSTM
from poker_rl.players import load_player, range_policy
from poker_rl.players.range_policy import start_network_query

# Each network and player is tested in the first game that it supports; small games come first.
GAMES = ("nolimit_leduc", "kuhn", "leduc", "limit_holdem", "limit_holdem_6p", "nolimit_holdem")
# PPO trains most networks; REINFORCE also those that cannot be a critic.
SMALL = {
    "ppo": ("algo.tables=8", "algo.rollout_steps=4", "algo.minibatches=2", "algo.epochs=1"),
    "reinforce": ("algo.hands_per_iteration=8",),
}


@pytest.fixture(autouse=True)
def device():
    with simulate_device() as simulator:
        yield simulator


def load_in_first_game(load):
    """Return the first game for which `load` raises no ConfigError, and its result."""
    for name in (*GAMES, "big2"):
        try:
            game = load_game(name)
            return game, load(game)
        except ConfigError:
            pass
    raise AssertionError("there is no game for it")


def query(player, game):
    """Return a player's probabilities and values (if any) at the decisions of two hands."""
    _, moves = play(game, 2, seed=0)
    tables = [move.records for move in moves]
    outputs = [
        [ask(records) for ask in (player.action_probs, player.state_values, player.action_values)]
        for records in tables
    ]
    return [x for row in outputs for x in row if x is not None]


NETS = ["amounts_lstm", "k1", "lstm", "mlp_tanh"]  # one for each kind of layers or inputs


@pytest.mark.parametrize("name", NETS)
def test_network_matches_cpu(name):
    """Metrics of training agree, and outputs of each instance, also after saving and loading."""

    def load_learner(game, algo, device=DEVICE):
        net = (f"net={name}", "algo.instances=2")
        return create_algorithm(algo, game, *SMALL[algo], *net, device=torch.device(device))

    def load_ppo_or_reinforce(game):
        try:
            return "ppo", load_learner(game, "ppo")
        except ConfigError:
            return "reinforce", load_learner(game, "reinforce")

    game, (algo, on_gpu) = load_in_first_game(load_ppo_or_reinforce)
    on_cpu = load_learner(game, algo, "cpu")
    for _ in range(2):
        metrics, cpu_metrics = (
            {k: v for k, v in learner.learn().items() if k != "time/outside_networks"}
            for learner in (on_gpu, on_cpu)
        )
        assert metrics == pytest.approx(cpu_metrics, rel=1e-3, abs=1e-6)
    for player_name, player in on_gpu.players().items():
        cpu_player = on_cpu.players()[player_name]
        reloaded = type(player).from_dict(player.to_dict(), game, torch.device(DEVICE))
        for k in range(2):
            cpu_outputs = query(cpu_player.select_instance(k), game)
            for selected in (player.select_instance(k), reloaded.select_instance(k)):
                for out, cpu_out in zip(query(selected, game), cpu_outputs, strict=True):
                    np.testing.assert_allclose(out, cpu_out, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["leduc_ac", "nlhe_ppo", "big2_lookahead"])
def test_network_player_matches_cpu(name):
    game, on_gpu = load_in_first_game(lambda game: load_player(name, game, torch.device(DEVICE)))
    for out, goal in zip(query(on_gpu, game), query(load_player(name, game), game), strict=True):
        np.testing.assert_allclose(out, goal, rtol=1e-3, atol=1e-6)


def test_exact_evaluation_starts_network_queries_without_waiting(device, monkeypatch):
    def start_without_waiting(*arguments):
        with device.recording():
            return start_network_query(*arguments)

    monkeypatch.setattr(range_policy, "start_network_query", start_without_waiting)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 100)
    game = load_game("leduc")
    tree = PublicTreeEvaluator(game, merge_suits=True)
    for sharing in ("shared", "per_seat"):
        words = (*SMALL["ppo"], "net.features=sorted_suits", f"algo.network_sharing={sharing}")
        learners = [
            create_algorithm("ppo", game, *words, device=torch.device(on)) for on in (DEVICE, "cpu")
        ]
        actual, expected = (tree.evaluate_player(each.players()["current"]) for each in learners)
        assert actual[1] == pytest.approx(expected[1], abs=1e-6)
        assert actual[0] == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("replicas", [1, 3])
def test_lstm_matches_cpu_and_never_makes_the_cpu_wait(device, replicas):
    steps, width, units = 12, 5, 8
    on_cpu = ReplicatedLSTM((steps, width), units, replicas, torch.Generator().manual_seed(0))
    on_gpu = deepcopy(on_cpu).to(DEVICE)
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 3, (replicas, 40, steps, width), generator=generator).float()
    lengths = torch.randint(0, steps + 1, (replicas, 40, 1), generator=generator)
    assert not lengths.all()
    x[torch.arange(steps) >= lengths] = 0
    x = x.flatten(2)
    weight = torch.randn(replicas, 40, units, generator=generator)
    expected = on_cpu(x)
    (weight * expected).sum().backward()
    x, weight = x.to(DEVICE), weight.to(DEVICE)
    with device.recording():
        out = on_gpu(x)
        (weight * out).sum().backward()
        with torch.no_grad():
            out_without_gradient = on_gpu(x)
    torch.testing.assert_close(out.cpu(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(out_without_gradient.cpu(), expected, atol=1e-5, rtol=0)
    for own, goal in zip(on_gpu.parameters(), on_cpu.parameters(), strict=True):
        torch.testing.assert_close(own.grad.cpu(), goal.grad, atol=1e-5, rtol=1e-5)


def test_number_of_cpu_waits_does_not_depend_on_gradient_steps(device):
    small = ["algo.tables=20", "algo.batch_size=8", "algo.learning_starts=8", "algo.train_freq=2"]
    waits, updates = [], []
    for gradient_steps in (1, 5):
        steps = f"algo.gradient_steps={gradient_steps}"
        learner = create_algorithm(
            "nfsp", load_game("kuhn"), *small, steps, device=torch.device(DEVICE)
        )
        for _ in range(12):
            learner.learn()
        before = device.waits, learner.progress.updates
        learner.learn()
        waits.append(device.waits - before[0])
        updates.append(learner.progress.updates - before[1])
    assert updates[1] > 22
    assert waits[0] == waits[1] <= 14
