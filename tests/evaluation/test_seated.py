"""Mixed tables against exactly known values."""

from __future__ import annotations

import pytest
from evaluations import KUHN_3P, LEDUC, Policies, random_policies

from poker_rl.evaluation.exploitability import values
from poker_rl.evaluation.seated import seat_all
from poker_rl.games.tree import tree_of


@pytest.mark.parametrize(
    ("game", "order"), [(LEDUC, "ab"), (KUHN_3P, "abc"), (KUHN_3P, "aba")], ids=str
)
def test_the_intervals_of_a_table_hold_the_exact_values(game, order):
    tree = tree_of(game)
    players = {name: Policies(game, random_policies(game, seed=ord(name))) for name in order}
    seated = seat_all(game, tree, list(order), players, 20_000, seed=0)
    assert [one.player for one in seated] == sorted(set(order))
    assert [one.seats for one in seated] == [order.count(name) for name in sorted(set(order))]
    for one in seated:
        # Two half widths are four standard errors: only a wrong mean is that far.
        assert abs(one.won.value - one.exact) < 2 * one.won.half_width
        assert one.won.half_width < 0.1
    assert sum(one.seats * one.won.value for one in seated) == pytest.approx(0, abs=1e-9)
    assert sum(one.seats * one.exact for one in seated) == pytest.approx(0, abs=1e-9)


def test_the_order_around_the_table_counts():
    # With three seats the two orders of three players are different tables: the exact values of
    # both are the means over the rotations of each, and these differ.
    tree = tree_of(KUHN_3P)
    policies = {name: random_policies(KUHN_3P, seed=seed)[0] for seed, name in enumerate("abc")}
    players = {name: Policies(KUHN_3P, policy[None]) for name, policy in policies.items()}

    def mean_of_a(order):
        won = 0.0
        for turn in range(3):
            around = order[turn:] + order[:turn]
            policy = tree.uniform()
            for seat, name in enumerate(around):
                policy[tree.owner == seat] = policies[name][tree.owner == seat]
            won += values(tree, policy)[around.index("a")] / 3
        return won

    for order in ("abc", "acb"):
        first = seat_all(KUHN_3P, tree, list(order), players, 30, seed=0)[0]
        assert first.exact == pytest.approx(mean_of_a(order))
    assert mean_of_a("abc") != pytest.approx(mean_of_a("acb"), abs=1e-3)
