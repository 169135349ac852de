"""Results of evaluators against known constants."""

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, LEDUC, Policies, evaluation, loader, random_policies

from poker_rl.evaluation import nash_conv
from poker_rl.evaluation.kuhn_distance import compute_squared_distances, extract_bet_probs
from poker_rl.games import get_tree
from poker_rl.players.bots.kuhn_equilibrium_bot import compute_equilibrium_bet_probs
from poker_rl.storage.checkpoint import save_snapshot


def measured(game, player, name="default", **settings):
    results = evaluation(game, name, **settings).evaluate({"current": player})
    return {result.measure: result.value for result in results}


def by_tag(results):
    return {result.tag: result for result in results}


def test_uniform_play():
    expected = {"exploitability": 11 / 24, "nash_conv": 11 / 12, "value": 1 / 8}
    expected |= {"gain/seat_0": 0.375, "gain/seat_1": 0.5416667}
    assert measured(KUHN, loader(KUHN)("uniform")) == pytest.approx(expected)


def test_every_number_says_what_it_is():
    results = evaluation(LEDUC).evaluate({"current": loader(LEDUC)("uniform")})
    labels = {one.tag: (one.unit, one.kind, one.half_width, one.n) for one in results}
    assert labels["current/exploitability"] == ("ante/hand", "exact", None, None)
    assert labels["current/value"] == ("chips a hand", "exact", None, None)
    # The progress bar and the end of a run show each player's first number.
    assert results[0].tag == "current/exploitability"
    results = evaluation(HOLDEM, deals=100).evaluate({"current": loader(HOLDEM)("call")})
    names = ("uniform", "call", "raise")
    assert [one.tag for one in results] == [f"current/against/{name}" for name in names]
    assert [one.kind for one in results] == [f"against {name}" for name in names]
    assert results[0].half_width > 0
    assert {one.n for one in results} == {100}


def test_several_instances_have_percentiles():
    tree, policies = get_tree(KUHN), random_policies(KUHN, count=9)
    results = measured(KUHN, Policies(KUHN, policies))
    each = [nash_conv(tree, policy) for policy in policies]
    assert results["nash_conv"] == pytest.approx(np.mean(each))
    for percent in (10, 25, 50, 75, 90):
        assert results[f"nash_conv/p{percent}"] == pytest.approx(np.percentile(each, percent))


def test_other_seats_player_has_every_seat_but_the_first():
    own = measured(KUHN, loader(KUHN)("call"))
    beside = measured(KUHN, loader(KUHN)("call"), other_seats_player="equilibrium")
    # No first player wins more than the value of the game from an equilibrium.
    assert beside["gain/seat_0"] == pytest.approx(-1 / 18 - beside["value"])
    # What the best second player wins from the first is as it was.
    best = [results["gain/seat_1"] - results["value"] for results in (own, beside)]
    assert best[0] == pytest.approx(best[1])
    evaluator = evaluation(KUHN, other_seats_player="equilibrium")
    labels = evaluator.evaluate({"current": loader(KUHN)("call")})
    assert {one.kind for one in labels} == {"exact, beside equilibrium"}


def test_distance_of_even_chances():
    found = compute_squared_distances(np.full((4, 3), 0.5))
    assert found == pytest.approx({"first": 0.861, "second": 1.056}, abs=5e-4)
    results = measured(KUHN, loader(KUHN)("uniform"), "k2")
    assert results["distance_first"] == pytest.approx(31 / 36)
    assert results["distance_second"] == pytest.approx(19 / 18)


@pytest.mark.parametrize("alpha", [0, 0.1, 0.25, 1 / 3])
def test_every_equilibrium_is_optimal(alpha):
    distances = compute_squared_distances(compute_equilibrium_bet_probs(alpha))
    assert distances == pytest.approx({"first": 0, "second": 0})


def test_bets_by_situation_and_card():
    tree = get_tree(KUHN)
    policy = loader(KUHN)("equilibrium").action_probs(tree.infoset_records)  # alpha 1/3
    expected = [[1 / 3, 0, 1], [1 / 3, 0, 1], [0, 2 / 3, 1], [0, 1 / 3, 1]]
    np.testing.assert_allclose(extract_bet_probs(tree, policy), expected)


def test_a_player_plays_against_its_snapshot_at_half_the_decisions(tmp_path):
    raises, calls = loader(HOLDEM)("raise"), loader(HOLDEM)("call")
    tree = {"game": HOLDEM.to_dict(), "players": {"current": calls.to_dict()}}
    half = save_snapshot(tmp_path, 400, tree)
    one = evaluation(HOLDEM, deals=200)
    tag = "current/against/earlier_self"
    found = by_tag(one.evaluate({"current": raises}, half))
    assert found[tag].kind == "against itself at 400"
    assert found[tag].value == found["current/against/call"].value
    assert tag not in by_tag(one.evaluate({"current": raises}))
