"""Results of evaluators against known constants."""

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, LEDUC, Policies, evaluation, loader, random_policies

from poker_rl.evaluation import nash_conv
from poker_rl.evaluation.kuhn_distance import compute_squared_distances, extract_bet_probs
from poker_rl.games import get_tree
from poker_rl.players.bots.kuhn_equilibrium_bot import compute_equilibrium_bet_probs
from poker_rl.storage.checkpoint import save_snapshot


def measure_player(game, player, name="default", **settings):
    results = evaluation(game, name, **settings).evaluate({"current": player})
    return {result.measure: result.value for result in results}


def index_by_tag(results):
    return {result.tag: result for result in results}


def test_exact_results_of_uniform_kuhn_play():
    expected = {"exploitability": 11 / 24, "nash_conv": 11 / 12, "value": 1 / 8}
    expected |= {"gain/seat_0": 0.375, "gain/seat_1": 0.5416667}
    assert measure_player(KUHN, loader(KUHN)("uniform")) == pytest.approx(expected)


def test_results_have_tag_unit_kind_and_interval():
    results = evaluation(LEDUC).evaluate({"current": loader(LEDUC)("uniform")})
    labels = {entry.tag: (entry.unit, entry.kind, entry.half_width, entry.n) for entry in results}
    assert labels["current/exploitability"] == ("ante/hand", "exact", None, None)
    assert labels["current/value"] == ("chips a hand", "exact", None, None)
    # The progress bar and the end of a run show each player's first result.
    assert results[0].tag == "current/exploitability"
    results = evaluation(HOLDEM, deals=100).evaluate({"current": loader(HOLDEM)("call")})
    names = ("uniform", "call", "raise")
    assert [entry.tag for entry in results] == [f"current/against/{name}" for name in names]
    assert [entry.kind for entry in results] == [f"against {name}" for name in names]
    assert results[0].half_width > 0
    assert {entry.n for entry in results} == {100}


def test_results_of_several_instances_include_percentiles():
    tree, policies = get_tree(KUHN), random_policies(KUHN, count=9)
    results = measure_player(KUHN, Policies(KUHN, policies))
    nash_convs = [nash_conv(tree, policy) for policy in policies]
    assert results["nash_conv"] == pytest.approx(np.mean(nash_convs))
    for percent in (10, 25, 50, 75, 90):
        assert results[f"nash_conv/p{percent}"] == pytest.approx(np.percentile(nash_convs, percent))


def test_other_seats_player_takes_the_seats_of_the_opponents():
    self_play = measure_player(KUHN, loader(KUHN)("call"))
    beside = measure_player(KUHN, loader(KUHN)("call"), other_seats_player="equilibrium")
    # Against an equilibrium, the best response of seat 0 wins the value of the game, -1/18.
    assert beside["gain/seat_0"] == pytest.approx(-1 / 18 - beside["value"])
    # The best response of seat 1 to `call` in seat 0 wins the same, whoever plays in seat 1.
    best = [results["gain/seat_1"] - results["value"] for results in (self_play, beside)]
    assert best[0] == pytest.approx(best[1])
    evaluator = evaluation(KUHN, other_seats_player="equilibrium")
    labels = evaluator.evaluate({"current": loader(KUHN)("call")})
    assert {result.kind for result in labels} == {"exact, beside equilibrium"}


def test_kuhn_distances_of_uniform_play():
    distances = compute_squared_distances(np.full((4, 3), 0.5))
    assert distances == pytest.approx({"first": 0.861, "second": 1.056}, abs=5e-4)
    results = measure_player(KUHN, loader(KUHN)("uniform"), "k2")
    assert results["distance_first"] == pytest.approx(31 / 36)
    assert results["distance_second"] == pytest.approx(19 / 18)


@pytest.mark.parametrize("alpha", [0, 0.1, 0.25, 1 / 3])
def test_kuhn_distances_of_equilibria_are_zero(alpha):
    distances = compute_squared_distances(compute_equilibrium_bet_probs(alpha))
    assert distances == pytest.approx({"first": 0, "second": 0})


def test_extract_bet_probs_by_situation_and_card():
    tree = get_tree(KUHN)
    policy = loader(KUHN)("equilibrium").action_probs(tree.infoset_records)  # alpha 1/3
    expected = [[1 / 3, 0, 1], [1 / 3, 0, 1], [0, 2 / 3, 1], [0, 1 / 3, 1]]
    np.testing.assert_allclose(extract_bet_probs(tree, policy), expected)


def test_player_is_matched_against_its_halfway_snapshot(tmp_path):
    raises, calls = loader(HOLDEM)("raise"), loader(HOLDEM)("call")
    tree = {"game": HOLDEM.to_dict(), "players": {"current": calls.to_dict()}}
    snapshot = save_snapshot(tmp_path, 400, tree)
    evaluator = evaluation(HOLDEM, deals=200)
    tag = "current/against/earlier_self"
    results = index_by_tag(evaluator.evaluate({"current": raises}, snapshot))
    assert results[tag].kind == "against itself at 400"
    assert results[tag].value == results["current/against/call"].value
    assert tag not in index_by_tag(evaluator.evaluate({"current": raises}))
