"""The bot that solves the last street."""

import numpy as np
import pytest
from random_games import game
from toy_games import kuhn, leduc

from poker_rl.algos.tabular.public_cfr import PublicCFR
from poker_rl.config import ConfigError
from poker_rl.evaluation.exact.public_tree_evaluator import evaluate_on_public_tree
from poker_rl.games.tables import Tables
from poker_rl.players import load_player, sample_from_probs
from poker_rl.players.bots import endgame_solver_bot
from poker_rl.players.bots.endgame_solver_bot import EndgameSolverBot


def solver(definition, policy, **settings):
    defaults = {"iterations": 100, "range_share": 0.2, "bet_sizes": None}
    return EndgameSolverBot(game=definition, policy=policy, **{**defaults, **settings})


def exploitability(definition, player):
    return evaluate_on_public_tree(definition, player)[0].mean() / definition.unit_chips


def test_plays_an_equilibrium_of_a_game_with_one_street():
    """Kuhn poker has one street; the first seat loses 1/18 antes a hand at an equilibrium."""
    player = solver(kuhn(), "uniform", iterations=2000)
    gains, values = evaluate_on_public_tree(kuhn(), player)
    assert values[0] == pytest.approx(-1 / 18, abs=1e-3)
    assert gains.sum() < 2e-3


@pytest.mark.parametrize(("policy", "most"), [("call", 0.3), ("uniform", 0.4), ("leduc_ac", 0.9)])
def test_solving_the_last_street_lowers_the_exploitability(policy, most):
    before = exploitability(leduc(), load_player(policy, leduc()))
    assert exploitability(leduc(), solver(leduc(), policy)) < most * before


def test_two_sizes_of_raises_and_those_that_are_made_are_enough():
    """Eight sizes on the second street lower it to 0.48 of what it is for `call` alone."""
    definition = game("nolimit_leduc")
    before = exploitability(definition, load_player("call", definition))
    player = solver(definition, "call", bet_sizes=[1.0, "all_in"])
    assert exploitability(definition, player) < 0.51 * before


def test_an_equilibrium_stays_an_equilibrium(monkeypatch):
    """A solution for the other seat's range alone has the value of the game, but is not safe."""
    settings = {"alpha": np.inf, "beta": -np.inf, "gamma": 1.0, "iterations_per_step": 500}
    cfr = PublicCFR(**settings, game=leduc())
    cfr.learn()
    average = cfr.players()["average"]
    monkeypatch.setattr(endgame_solver_bot, "load_base_player", lambda *args: average)
    safe, unsafe = (
        solver(leduc(), "average", range_share=share, iterations=1000) for share in (0.2, 1.0)
    )
    assert exploitability(leduc(), safe) < 0.005
    assert exploitability(leduc(), unsafe) > 0.015
    for player in (safe, unsafe):
        first_seat_value = evaluate_on_public_tree(leduc(), player)[1][0]
        assert first_seat_value == pytest.approx(-0.0856, abs=2e-3)


def play_tables(definition, player, count=40):
    """Yield tables in play, until all hands are over."""
    tables, generator = Tables(definition, count, 0), np.random.default_rng(0)
    tables.deal()
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        records = tables.records.take(rows)
        yield records
        probs = player.action_probs(records)
        tables.step(sample_from_probs(probs, generator.random(len(rows))), rows)


@pytest.mark.parametrize("name", ["flop_holdem", "nolimit_leduc_sizes", "nolimit_leduc"])
def test_a_batch_gets_the_same_as_each_table_alone(name):
    definition = game(name)
    settings = {"bet_sizes": [0.5, "all_in"] if name == "nolimit_leduc" else None}
    policy_name, earlier = "tight" if "holdem" in name else "uniform", 0
    player = solver(definition, policy_name, **settings)
    policy = load_player(player.policy, definition)
    last_street = len(definition.board_cards) - 1
    for records in play_tables(definition, policy):
        probs = player.action_probs(records)
        fresh = solver(definition, player.policy, **settings)
        alone = [fresh.action_probs(records[i : i + 1])[0] for i in range(len(records))]
        np.testing.assert_allclose(probs, alone, atol=1e-6)
        np.testing.assert_allclose(probs.sum(1), 1, atol=1e-6)
        before = records["street"] < last_street
        assert (probs[before] == policy.action_probs(records[before])).all()
        earlier += before.sum()
    assert earlier


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nolimit_holdem", "^bet_sizes: not given; nolimit_holdem allows bets of any amount"),
        ("limit_holdem_3p", "is not poker for two players"),
    ],
)
def test_refused_games(name, message):
    with pytest.raises(ConfigError, match=message):
        solver(game(name), "uniform")


def test_refuses_itself():
    with pytest.raises(ConfigError, match=r"^policy: lhe_endgame searches itself$"):
        solver(game("limit_holdem"), "lhe_endgame")
