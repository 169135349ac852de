"""CFR over the public tree equals CFR over the tree of all deals."""

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
from poker_rl.players.tabular_player import PublicTabularPlayer, get_or_build_infoset_index

TWELVE = replace(game("flop_holdem"), name="twelve", ranks="QKA", max_raises=[0, 1])
DCFR = {"alpha": 1.5, "beta": 0.0, "gamma": 2.0}


def solve(definition, iterations, **settings):
    solver = PublicCFR(
        **{**DCFR, "iterations_per_step": iterations, "game": definition, **settings}
    )
    solver.learn()
    return solver


@pytest.mark.parametrize(
    "variant", [DCFR, {"alpha": np.inf, "beta": -np.inf, "gamma": 1.0}], ids=["dcfr", "cfr_plus"]
)
@pytest.mark.parametrize("definition", [kuhn(), leduc()], ids=label)
def test_policy_equals_that_of_cfr_over_all_deals(definition, variant):
    """After more than 5 iterations, float32 rounding of regrets near 0 makes policies differ."""
    over_boards = solve(definition, 5, **variant).players()["average"]
    over_deals = CFR(**variant, predictive=False, iterations_per_step=5, game=definition)
    over_deals.learn()
    tree = get_tree(definition)
    actual = over_boards.action_probs(tree.infoset_records)
    np.testing.assert_allclose(actual, over_deals.players()["average"].policy, atol=1e-3)


def test_policy_lookup_does_not_depend_on_suit_names():
    """The enumerated tree looks up all deals, the public tree one per class of suit isomorphism."""
    player = solve(TWELVE, 8).players()["average"]
    tree = get_tree(TWELVE)
    best_values, _ = PublicTreeEvaluator(TWELVE, merge_suits=True).evaluate_player(player)
    distance = exploitability(tree, player.action_probs(tree.infoset_records))
    assert best_values.mean() == pytest.approx(distance, abs=1e-9)


def test_information_sets_share_a_row_only_up_to_suits():
    tree = get_tree(TWELVE)
    index = get_or_build_infoset_index(TWELVE)
    rows = index.lookup_rows(tree.infoset_records)
    assert set(rows.tolist()) == set(range(index.row_count))
    policies = np.random.default_rng(0).dirichlet(np.ones(3), index.row_count)
    player = PublicTabularPlayer(TWELVE, policies.astype(np.float16))
    by_name = {}
    for name, row in zip(tree.infoset_names, rows.tolist(), strict=True):
        seat, cards, line = (*name.split(" "), "")[:3]
        ranks = "|".join("".join(sorted(part[::2])) for part in cards.split("|"))
        by_name.setdefault(row, (seat, ranks, line))
        assert by_name[row] == (seat, ranks, line)
    np.testing.assert_allclose(player.action_probs(tree.infoset_records), policies[rows], atol=1e-3)


@two_cores
def test_number_of_threads_changes_nothing():
    states = []
    for threads in (1, 2):
        with numba_threads(threads):
            states.append(solve(TWELVE, 3).state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in ("regrets", "sums"))


def test_resume_is_bitwise_equal(tmp_path):
    baseline, saved, resumed = (solve(leduc(), 3) for _ in range(3))
    torch.save(saved.state_dict(), tmp_path / "state.pt")
    resumed.learn()
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for solver in (baseline, resumed):
        solver.learn()
    state, expected = resumed.state_dict(), baseline.state_dict()
    assert all(torch.equal(state[key], expected[key]) for key in ("regrets", "sums"))
    assert state["progress"] == expected["progress"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kuhn_3p", "poker for two"),
        ("big2", "poker for two"),
        ("limit_holdem", "public states times"),
    ],
)
def test_unsupported_games_are_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        solve(game(name), 1)
