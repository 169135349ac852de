"""Ratings of tables whose ratings are known."""

from __future__ import annotations

import numpy as np
import pytest

from poker_rl.evaluation.matches.duplicate_match import compute_half_width
from poker_rl.evaluation.matches.ratings import (
    compute_explained_variance,
    find_largest_cycle,
    fit_elo,
)

PAIRS = np.array([(a, b) for a in range(4) for b in range(a + 1, 4)])
KNOWN = np.array([250.0, 50.0, -80.0, -220.0])


def played(deals, generator):
    """Scores of all pairs, drawn by the formula of Elo (1978): 1 / (1 + 10 ** (-d / 400))."""
    apart = KNOWN[PAIRS[:, 0]] - KNOWN[PAIRS[:, 1]]
    prob = 1 / (1 + 10 ** (-apart / 400))
    return (generator.random((len(PAIRS), deals)) < prob[:, None]).astype(float)


def test_known_ratings_are_found():
    rating, influences = fit_elo(PAIRS, played(20_000, np.random.default_rng(0)), 4)
    wide = [compute_half_width(each) for each in influences]
    # Two half widths are four standard errors: only a wrong rating is that far.
    assert (abs(rating - KNOWN) < 2 * np.array(wide)).all()
    assert max(wide) < 4


def test_who_wins_every_deal_has_a_finite_rating():
    # With one drawn deal added the score is 1,000.5 of 1,001, which are 1,320.5 points: 400 times
    # the decimal logarithm of 1,000.5 / 0.5.
    rating, _ = fit_elo(np.array([(0, 1)]), np.ones((1, 1000)), 2)
    assert rating[0] - rating[1] == pytest.approx(1320.5, abs=0.05)


def designs(players):
    found = []
    for a, b in [(a, b) for a in range(players) for b in range(players) if a != b]:
        found.append(np.eye(players)[a] - np.eye(players)[b])
    return np.array(found)


def test_a_rating_explains_all_of_differences_and_nothing_of_a_circle():
    every = designs(4)
    assert compute_explained_variance(every, every @ KNOWN) == pytest.approx(1)
    # Rock, paper and scissors: in this order of pairs (rp, rs, pr, ps, sr, sp).
    circle = np.array([-1.0, 1, 1, -1, -1, 1])
    assert compute_explained_variance(designs(3), circle) == pytest.approx(0)
    # Both together, of squares 12 and 6: differences of 1, 0 and -1 are 1, 2, -1, 1, -2 and -1.
    both = designs(3) @ np.array([1.0, 0, -1]) + circle
    assert compute_explained_variance(designs(3), both) == pytest.approx(12 / 18)


def test_the_largest_cycle_is_the_one_whose_smallest_win_is_largest():
    won = np.zeros((5, 5))
    for a, b, by in [(0, 2, 3), (2, 1, 4), (1, 0, 5), (0, 3, 9), (3, 1, 2), (4, 0, 1), (2, 4, 9)]:
        won[a, b], won[b, a] = by, -by
    # 0 > 2 > 1 > 0 by at least 3, 0 > 3 > 1 > 0 by 2 and 0 > 2 > 4 > 0 by 1.
    assert find_largest_cycle(won, np.zeros((5, 5))) == (0, 2, 1)
    assert find_largest_cycle(won, np.full((5, 5), 1.5)) == (0, 2, 1)
    wide = np.zeros((5, 5))
    wide[0, 2] = 3.5
    assert find_largest_cycle(won, wide) == (0, 3, 1)
    assert find_largest_cycle(won, np.full((5, 5), 6.0)) == ()
    ranks = np.arange(5.0)
    assert find_largest_cycle(ranks[:, None] - ranks, np.zeros((5, 5))) == ()
