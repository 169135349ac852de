"""Mixed tables against exactly known values."""

from __future__ import annotations

import pytest
from evaluations import KUHN_3P, LEDUC, Policies, random_policies

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
