"""CFR over the public tree plays as CFR over all deals does."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from random_games import game
from toy_games import kuhn, label, leduc, numba_threads, two_cores

from poker_rl.algos.tabular.cfr import CFR
from poker_rl.algos.tabular.public_cfr import PublicCFR
from poker_rl.config import ConfigError
from poker_rl.evaluation import exploitability
from poker_rl.evaluation.exact.public_tree_evaluator import PublicTreeEvaluator
from poker_rl.games import get_tree
from poker_rl.players.tabular_player import PublicTabularPlayer, get_infoset_index

TWELVE = replace(game("flop_holdem"), name="twelve", ranks="QKA", max_raises=[0, 1])
DCFR = {"alpha": 1.5, "beta": 0.0, "gamma": 2.0}


def solved(definition, iterations, **settings):
    solver = PublicCFR(
        **{**DCFR, "iterations_per_step": iterations, "game": definition, **settings}
    )
    solver.learn()
    return solver


@pytest.mark.parametrize(
    "variant", [DCFR, {"alpha": np.inf, "beta": -np.inf, "gamma": 1.0}], ids=["dcfr", "cfr_plus"]
)
@pytest.mark.parametrize("definition", [kuhn(), leduc()], ids=label)
def test_plays_as_cfr_over_all_deals(definition, variant):
    """Five iterations: later ones part where regrets are 0 but for rounding to 32 bits."""
    over_boards = solved(definition, 5, **variant).players()["average"]
    over_deals = CFR(**variant, predictive=False, iterations_per_step=5, game=definition)
    over_deals.learn()
    tree = get_tree(definition)
    found = over_boards.action_probs(tree.infoset_records)
    np.testing.assert_allclose(found, over_deals.players()["average"].policy, atol=1e-3)


def test_finds_a_hand_whatever_its_suits_are_called():
    """The enumerated tree asks about every deal, the public one about those that stand for them."""
    player = solved(TWELVE, 8).players()["average"]
    tree = get_tree(TWELVE)
    best_values, _ = PublicTreeEvaluator(TWELVE, merge_suits=True).evaluate_player(player)
    distance = exploitability(tree, player.action_probs(tree.infoset_records))
    assert best_values.mean() == pytest.approx(distance, abs=1e-9)


def test_each_information_set_has_a_row_of_its_own():
    """Those that share it have the same seat, ranks and betting, and differ in suits alone."""
    tree = get_tree(TWELVE)
    rows = get_infoset_index(TWELVE).lookup_rows(tree.infoset_records)
    assert set(rows.tolist()) == set(range(get_infoset_index(TWELVE).row_count))
    policies = np.random.default_rng(0).dirichlet(np.ones(3), get_infoset_index(TWELVE).row_count)
    player = PublicTabularPlayer(TWELVE, policies.astype(np.float16))
    by_name = {}
    for name, row in zip(tree.infoset_names, rows.tolist(), strict=True):
        seat, cards, line = (*name.split(" "), "")[:3]
        ranks = "|".join("".join(sorted(part[::2])) for part in cards.split("|"))
        by_name.setdefault(row, (seat, ranks, line))
        assert by_name[row] == (seat, ranks, line)
    np.testing.assert_allclose(player.action_probs(tree.infoset_records), policies[rows], atol=1e-3)


@two_cores
def test_threads_change_nothing():
    states = []
    for threads in (1, 2):
        with numba_threads(threads):
            states.append(solved(TWELVE, 3).state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in ("regrets", "sums"))


def test_resumes_to_the_bit(tmp_path):
    straight, before, after = (solved(leduc(), 3) for _ in range(3))
    torch.save(before.state_dict(), tmp_path / "state.pt")
    after.learn()
    after.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for solver in (straight, after):
        solver.learn()
    left, right = after.state_dict(), straight.state_dict()
    assert all(torch.equal(left[key], right[key]) for key in ("regrets", "sums"))
    assert left["progress"] == right["progress"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kuhn_3p", "poker for two"),
        ("big2", "poker for two"),
        ("limit_holdem", "public states times"),
    ],
)
def test_other_games_are_refused(name, says):
    with pytest.raises(ConfigError, match=says):
        solved(game(name), 1)
