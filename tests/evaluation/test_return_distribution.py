"""Returns of a match, counted by hand and for bots whose hands are known."""

from __future__ import annotations

import numpy as np
import pytest
from big2_tables import BIG2
from evaluations import HOLDEM, KUHN_3P, loader

from poker_rl.evaluation.matches.match_results import ReturnDistribution, measure_match
from poker_rl.evaluation.result import Result


def count_returns(game, player, other, deals):
    load = loader(game)
    match = measure_match(game, None, player, load(player), other, load(other), deals, 0, None)
    winnings, win_rate = match.results
    return winnings, win_rate, match.distribution


def test_a_player_that_always_bets_wins_every_hand_of_one_that_folds():
    _, win_rate, found = count_returns(KUHN_3P, "raise", "fold", 50)
    assert found.returns == [2]
    assert found.hand_counts == [150]
    assert win_rate == Result("raise", "hands_won/fold", 1, 0, "of hands", "against fold", 50)
    _, win_rate, found = count_returns(HOLDEM, "fold", "raise", 50)
    # Each blind on half the hands.
    assert (found.returns, found.hand_counts) == ([-1, -0.5], [50, 50])
    assert (win_rate.value, found.unit) == (0, "big blind")


def test_returns_sum_to_the_winnings():
    winnings, win_rate, found = count_returns(BIG2, "lowest", "uniform", 100)
    returns, hands = np.array(found.returns), np.array(found.hand_counts)
    assert hands.sum() == 400
    assert returns @ hands / 400 == pytest.approx(winnings.value)
    assert win_rate.value == pytest.approx(hands[returns > 0].sum() / 400)
    assert not np.any(returns == 0)
    assert returns.min() >= -13
    assert returns.max() <= 39
    # A share p of n hands deviates by sqrt(p (1 - p) / n); those of a deal are nearly independent.
    p = win_rate.value
    assert win_rate.half_width == pytest.approx(1.96 * (p * (1 - p) / 400) ** 0.5, rel=0.4)


def test_percentiles():
    distribution = ReturnDistribution("us", "x", "point", [-2, -1, 3], [50, 20, 30])
    assert distribution.compute_percentiles() == [-2, -2, -2, 3, 3]
    results = distribution.list_results()
    assert [result.value for result in results] == [-2, -2, -2, -2, 3, 3, 3]
    assert results[1] == Result("us", "won_p5/x", -2, None, "point", "against x")
