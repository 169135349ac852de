"""The solution of a call or fold against an all-in."""

import numpy as np
import pytest

from poker_rl.players.bots.all_in_solver import AllInStakes, solve_all_in

WIN_MARGINS = np.array([[0, 1, 1], [-1, 0, 1], [-1, -1, 0]], np.float32)  # of A, K, Q
IS_DISJOINT = 1 - np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("called", "folded", "other_folded", "value_without_bluff"),
    [(2, 1, 1, -1), (3, 1, 1, -1), (5, 1, 1, -1), (8, 2, 1, -1), (8, 2, 2, -2)],
)
def test_calls_so_often_that_a_bluff_wins_nothing(
    called, folded, other_folded, value_without_bluff
):
    """The own hand is a king, the other one an ace or a queen, which is the hand to bluff with."""
    stakes = AllInStakes(called, folded, checked=folded, other_folded=other_folded)
    ranges = np.array([0, 1, 0], np.float32), np.array([0.5, 0, 0.5], np.float32)
    king_calls = solve_all_in(WIN_MARGINS, IS_DISJOINT, *ranges, stakes, 2000)[1]
    value_of_bluff = folded * (1 - king_calls) - called * king_calls
    assert value_of_bluff == pytest.approx(value_without_bluff, abs=0.1)
