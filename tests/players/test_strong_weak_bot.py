"""Bots with random choices: their strong hands, and their choices."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot, get_probs
from random_games import game

from poker_rl.evaluation.matches.duplicate_match import play_match
from poker_rl.games.poker.betting import CALL, RAISE

FLOP = "Kd9c4h Jc 3d"
STRONG, WEAK = [0, 0.5, 0.5], [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("name", "own", "facing", "expected"),
    [
        ("sklansky_randomized", "7s7h", [], STRONG),  # the average range ends with sevens
        ("sklansky_randomized", "6s6h", [], WEAK),
        ("sklansky_randomized", "7s7h", [CALL, CALL, RAISE], STRONG),  # whatever the board
        ("chen_randomized", "JsTh", [], WEAK),  # 7 points
        ("chen_randomized", "AsJh", [], STRONG),  # 8 points
        ("rules_randomized", "2s2h", [], STRONG),
        ("rules_randomized", "AsKh", [], WEAK),
        ("rules_randomized", "Ks2h", [CALL, CALL, RAISE], STRONG),  # top pair
        ("rules_randomized", "9s2h", [CALL, CALL, RAISE], WEAK),
    ],
)
def test_strong_and_weak_hands_facing_a_bet(name, own, facing, expected):
    assert get_probs(name, f"5s5d {own} {FLOP}", *facing) == expected


def test_it_never_folds_where_checking_is_free_nor_raises_above_the_cap():
    weak, strong = f"4c4d 6s2h {FLOP}", f"AsAh 4c4d {FLOP}"
    assert get_probs("sklansky_randomized", weak, CALL, CALL, CALL) == [0, 1, 0]
    assert get_probs("sklansky_randomized", strong, RAISE, RAISE, RAISE) == [0, 1, 0]


# Small bets a hand that a raiser wins from five of them in 4,000 deals, half the 95 % interval.
RAISER_WINS = {
    "sklansky_randomized": (1.529, 0.234),
    "chen_randomized": (1.448, 0.249),
    "mcts_few": (3.194, 0.163),
}


@pytest.mark.parametrize("name", RAISER_WINS)
def test_who_always_raises_wins_from_five_of_them(name):
    ring = game("limit_holdem_6p")
    won, half_width = RAISER_WINS[name]
    found = play_match(ring, bot("raise", ring), bot(name, ring), name, 500, seed=7)
    # Both are measured: five standard errors of the difference.
    assert abs(found.value - 1000 * won) < 2.5 * np.hypot(found.half_width, 1000 * half_width)
    assert found.value > 0
