"""Every shape of networks and every player does on the device what it does on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from device_simulator import NAME, DeviceSimulator, simulate_device
from random_games import play

from poker_rl.algos.algorithm_loader import load_algorithm
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.exact import range_policy
from poker_rl.evaluation.exact.network_query import start_network_query
from poker_rl.evaluation.exact.public_tree import PublicTreeEvaluator
from poker_rl.games.game import Game
from poker_rl.games.game_loader import load_game
from poker_rl.nets.lstm import ReplicatedLSTM
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player

CPU = torch.device("cpu")
# Small games first: what does not play one of them plays another one.
GAMES = ("nolimit_leduc", "kuhn", "leduc", "limit_holdem", "limit_holdem_6p", "nolimit_holdem")
# A learner that takes most shapes, and one without a critic for those that can't be one.
SMALL = {
    "ppo": ("algo.tables=8", "algo.rollout_steps=4", "algo.minibatches=2", "algo.epochs=1"),
    "reinforce": ("algo.hands_per_iteration=8",),
}


@pytest.fixture(autouse=True)
def device() -> Iterator[DeviceSimulator]:
    with simulate_device() as simulator:
        yield simulator


def in_a_game(load: Callable[[Game], Any]) -> tuple[Game, Any]:
    """The first game that is not refused, and what was loaded for it."""
    for name in (*GAMES, "big2"):
        try:
            game = load_game(name)
            return game, load(game)
        except ConfigError:
            pass
    raise AssertionError("there is no game for it")


def query(player: Player, game: Game) -> list[np.ndarray]:
    """Return probabilities and values of a player at the decisions of two hands."""
    _, moves = play(game, 2, seed=0)
    tables = [move.records for move in moves]
    answers = [
        [ask(records) for ask in (player.action_probs, player.state_values, player.action_values)]
        for records in tables
    ]
    return [x for one in answers for x in one if x is not None]


NETS = ["amounts_lstm", "k1", "linear", "lstm", "mlp_tanh"]  # of each kind of layers and inputs


@pytest.mark.parametrize("name", NETS)
def test_a_shape_of_networks(name: str) -> None:
    """It learns, plays, is saved and read again; instances are routed to their copies."""

    def learner(game: Game, algo: str, on: str = NAME) -> Any:
        net = (f"net={name}", "algo.instances=2")
        return load_algorithm(algo, game, *SMALL[algo], *net, device=torch.device(on))

    def either(game: Game) -> tuple[str, Any]:
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


@pytest.mark.parametrize("name", ["leduc_ac", "nlhe_ppo", "big2_vine", "big2_lookahead"])
def test_a_player_with_a_network(name: str) -> None:
    game, player = in_a_game(lambda game: load_player(name, game, torch.device(NAME)))
    for spec, here in ((name, player), (f"{name}:greedy", None)):
        here = here or load_player(spec, game, torch.device(NAME))
        for one, other in zip(query(here, game), query(load_player(spec, game), game), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_exact_evaluation_starts_the_work_of_a_network_without_waiting(
    device: DeviceSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_without_waiting(*arguments: Any) -> Any:
        with device.recording():
            return start_network_query(*arguments)

    monkeypatch.setattr(range_policy, "start_network_query", start_without_waiting)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 100)
    game = load_game("leduc")
    tree = PublicTreeEvaluator(game, merge_suits=True)
    for sharing in ("shared", "per_seat"):
        settings = (*SMALL["ppo"], "net.features=sorted_suits", f"algo.network_sharing={sharing}")
        found, expected = (
            tree.evaluate_player(
                load_algorithm("ppo", game, *settings, device=torch.device(on)).players()["current"]
            )
            for on in (NAME, "cpu")
        )
        assert found[1] == pytest.approx(expected[1], abs=1e-6)
        assert found[0] == pytest.approx(expected[0], abs=1e-6)


def learn(algo: str, net: str, *more: str, on: str = NAME) -> Any:
    """A learner with this net after some steps, with ten updates each if there is one network."""
    small = (
        "algo.tables=20",
        "algo.batch_size=8",
        "algo.learning_starts=8",
        "algo.train_freq=2",
        f"net={net}",
    )
    learner = load_algorithm(algo, load_game("kuhn"), *small, *more, device=torch.device(on))
    for _ in range(12):
        learner.learn()
    return learner


@pytest.mark.parametrize("copies", [1, 3])
def test_an_lstm_reads_the_same_on_the_device_and_never_makes_the_cpu_wait(
    device: DeviceSimulator, copies: int
) -> None:
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
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("algo", "optimizer"), [("dqn", "sgd"), ("nfsp", "adam")])
def test_steps_of_one_graph_are_those_of_a_cpu(algo: str, optimizer: str) -> None:
    """A graph of several steps samples their batches at once, of one replica the same ones."""
    settings = (
        "algo.network_sharing=shared",
        f"algo.optimizer={optimizer}",
        "algo.target_update_interval=21",
        "algo.lr._target_=poker_rl.config.schedules.LogLinear",
        "algo.lr.start=0.01",
        "+algo.lr.end=0.001",
        "+algo.lr.horizon=99",
    )
    here, there = (learn(algo, "mlp_relu", *settings, on=on) for on in (NAME, "cpu"))
    assert here.progress == there.progress
    assert here.progress.updates > 60
    for name, part in there.stateful_parts().items():
        module = getattr(part, "module", part)
        if isinstance(module, torch.nn.Module):
            own = here.stateful_parts()[name]
            for weight, expected in zip(
                getattr(own, "module", own).parameters(), module.parameters(), strict=True
            ):
                torch.testing.assert_close(weight.cpu(), expected, rtol=1e-3, atol=1e-5)


def test_the_cpu_waits_as_often_for_many_updates_as_for_one(device: DeviceSimulator) -> None:
    waits, updates = [], []
    for gradient_steps in (1, 20):
        learner = learn("nfsp", "mlp_relu", f"algo.gradient_steps={gradient_steps}")
        before = device.waits, learner.progress.updates
        learner.learn()
        waits.append(device.waits - before[0])
        updates.append(learner.progress.updates - before[1])
    assert updates[1] > 90
    assert waits[0] == waits[1] <= 14
