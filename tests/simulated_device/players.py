"""Every shape of networks and every player does on the device what it does on the CPU."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from device_simulator import NAME, simulate_device
from random_games import play

from poker_rl.algos import load_algorithm
from poker_rl.config import ConfigError
from poker_rl.evaluation.exact.public_tree_evaluator import PublicTreeEvaluator
from poker_rl.games import load_game
from poker_rl.nets.history_net import ReplicatedLSTM
from poker_rl.players import load_player, range_policy
from poker_rl.players.range_policy import start_network_query

# Small games first: what does not play one of them plays another one.
GAMES = ("nolimit_leduc", "kuhn", "leduc", "limit_holdem", "limit_holdem_6p", "nolimit_holdem")
# A learner that takes most shapes, and one without a critic for those that can't be one.
SMALL = {
    "ppo": ("algo.tables=8", "algo.rollout_steps=4", "algo.minibatches=2", "algo.epochs=1"),
    "reinforce": ("algo.hands_per_iteration=8",),
}


@pytest.fixture(autouse=True)
def device():
    with simulate_device() as simulator:
        yield simulator


def in_a_game(load):
    """The first game that is not refused, and what was loaded for it."""
    for name in (*GAMES, "big2"):
        try:
            game = load_game(name)
            return game, load(game)
        except ConfigError:
            pass
    raise AssertionError("there is no game for it")


def query(player, game):
    """Return probabilities and values of a player at the decisions of two hands."""
    _, moves = play(game, 2, seed=0)
    tables = [move.records for move in moves]
    answers = [
        [ask(records) for ask in (player.action_probs, player.state_values, player.action_values)]
        for records in tables
    ]
    return [x for one in answers for x in one if x is not None]


NETS = ["amounts_lstm", "k1", "lstm", "mlp_tanh"]  # of each kind of layers and inputs


@pytest.mark.parametrize("name", NETS)
def test_a_shape_of_networks(name):
    """It learns, plays, is saved and read again; instances are routed to their copies."""

    def learner(game, algo, on=NAME):
        net = (f"net={name}", "algo.instances=2")
        return load_algorithm(algo, game, *SMALL[algo], *net, device=torch.device(on))

    def either(game):
        try:
            return "ppo", learner(game, "ppo")
        except ConfigError:
            return "reinforce", learner(game, "reinforce")

    game, (algo, here) = in_a_game(either)
    there = learner(game, algo, "cpu")
    for _ in range(2):
        found, expected = (
            {k: v for k, v in one.learn().items() if k != "time/outside_networks"}
            for one in (here, there)
        )
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)
    for who, player in here.players().items():
        other = there.players()[who]
        again = type(player).from_dict(player.to_dict(), game, torch.device(NAME))
        for k in range(2):
            theirs = query(other.select_instance(k), game)
            for copy in (player.select_instance(k), again.select_instance(k)):
                for one, two in zip(query(copy, game), theirs, strict=True):
                    np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["leduc_ac", "nlhe_ppo", "big2_lookahead"])
def test_a_player_with_a_network(name):
    game, here = in_a_game(lambda game: load_player(name, game, torch.device(NAME)))
    for one, other in zip(query(here, game), query(load_player(name, game), game), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_exact_evaluation_starts_the_work_of_a_network_without_waiting(device, monkeypatch):
    def start_without_waiting(*arguments):
        with device.recording():
            return start_network_query(*arguments)

    monkeypatch.setattr(range_policy, "start_network_query", start_without_waiting)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 100)
    game = load_game("leduc")
    tree = PublicTreeEvaluator(game, merge_suits=True)
    for sharing in ("shared", "per_seat"):
        settings = (*SMALL["ppo"], "net.features=sorted_suits", f"algo.network_sharing={sharing}")
        made = [
            load_algorithm("ppo", game, *settings, device=torch.device(on)) for on in (NAME, "cpu")
        ]
        found, expected = (tree.evaluate_player(one.players()["current"]) for one in made)
        assert found[1] == pytest.approx(expected[1], abs=1e-6)
        assert found[0] == pytest.approx(expected[0], abs=1e-6)


@pytest.mark.parametrize("copies", [1, 3])
def test_an_lstm_reads_the_same_on_the_device_and_never_makes_the_cpu_wait(device, copies):
    steps, width, units = 12, 5, 8
    there = ReplicatedLSTM((steps, width), units, copies, torch.Generator().manual_seed(0))
    here = deepcopy(there).to(NAME)
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 3, (copies, 40, steps, width), generator=generator).float()
    lengths = torch.randint(0, steps + 1, (copies, 40, 1), generator=generator)
    assert not lengths.all()
    x[torch.arange(steps) >= lengths] = 0
    x = x.flatten(2)
    weight = torch.randn(copies, 40, units, generator=generator)
    expected = there(x)
    (weight * expected).sum().backward()
    x, weight = x.to(NAME), weight.to(NAME)
    with device.recording():
        found = here(x)
        (weight * found).sum().backward()
        with torch.no_grad():
            again = here(x)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(again.cpu(), expected, atol=1e-5, rtol=0)
    for mine, theirs in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad, atol=1e-5, rtol=1e-5)


def test_the_cpu_waits_as_often_for_many_updates_as_for_one(device):
    small = ["algo.tables=20", "algo.batch_size=8", "algo.learning_starts=8", "algo.train_freq=2"]
    waits, updates = [], []
    for gradient_steps in (1, 5):
        steps = f"algo.gradient_steps={gradient_steps}"
        learner = load_algorithm(
            "nfsp", load_game("kuhn"), *small, steps, device=torch.device(NAME)
        )
        for _ in range(12):
            learner.learn()
        before = device.waits, learner.progress.updates
        learner.learn()
        waits.append(device.waits - before[0])
        updates.append(learner.progress.updates - before[1])
    assert updates[1] > 22
    assert waits[0] == waits[1] <= 14
