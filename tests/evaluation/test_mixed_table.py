"""Mixed tables against exactly known values."""

from __future__ import annotations

import pytest
from evaluations import KUHN_3P, LEDUC, Policies, random_policies

from poker_rl.evaluation.exact.exploitability import compute_seat_values
from poker_rl.evaluation.matches.duplicate_match import play_mixed_table
from poker_rl.games.game_tree import get_tree


@pytest.mark.parametrize(
    ("game", "order"), [(LEDUC, "ab"), (KUHN_3P, "abc"), (KUHN_3P, "aba")], ids=str
)
def test_the_intervals_of_a_table_hold_the_exact_values(game, order):
    tree = get_tree(game)
    players = {name: Policies(game, random_policies(game, seed=ord(name))) for name in order}
    results = play_mixed_table(game, tree, list(order), players, 20_000, seed=0)
    seats, winnings, exact = results[::3], results[1::3], results[2::3]
    names = sorted(set(order))
    assert [result.player for result in results] == [name for name in names for _ in range(3)]
    assert [result.value for result in seats] == [order.count(name) for name in names]
    for won, truth in zip(winnings, exact, strict=True):
        # Two half widths are four standard errors: only a wrong mean is that far.
        assert abs(won.value - truth.value) < 2 * won.half_width
        assert won.half_width < 0.1
    for column in (winnings, exact):
        total = sum(n.value * one.value for n, one in zip(seats, column, strict=True))
        assert total == pytest.approx(0, abs=1e-9)


def test_the_order_around_the_table_counts():
    # With three seats the two orders of three players are different tables: the exact values of
    # both are the means over the rotations of each, and these differ.
    tree = get_tree(KUHN_3P)
    policies = {name: random_policies(KUHN_3P, seed=seed)[0] for seed, name in enumerate("abc")}
    players = {name: Policies(KUHN_3P, policy[None]) for name, policy in policies.items()}

    def mean_of_a(order):
        won = 0.0
        for turn in range(3):
            around = order[turn:] + order[:turn]
            policy = tree.build_uniform_policy()
            for seat, name in enumerate(around):
                policy[tree.infoset_seat == seat] = policies[name][tree.infoset_seat == seat]
            won += compute_seat_values(tree, policy)[around.index("a")] / 3
        return won

    for order in ("abc", "acb"):
        _, _, exact, *_ = play_mixed_table(KUHN_3P, tree, list(order), players, 30, seed=0)
        assert (exact.player, exact.kind) == ("a", "exact")
        assert exact.value == pytest.approx(mean_of_a(order))
    assert mean_of_a("abc") != pytest.approx(mean_of_a("acb"), abs=1e-3)
