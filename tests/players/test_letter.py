"""Bots that draw anew at each decision: which hands are strong to them, and what they do."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot, does
from random_games import game

from poker_rl.config.settings import Refused
from poker_rl.evaluation.matches import against
from poker_rl.games.poker.betting import CALL, RAISE

FLOP = "Kd9c4h Jc 3d"
STRONG, WEAK = [0, 0.5, 0.5], [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("name", "own", "facing", "expected"),
    [
        ("sklansky_letter", "7s7h", [], STRONG),  # the average range ends with sevens
        ("sklansky_letter", "6s6h", [], WEAK),
        ("sklansky_letter", "7s7h", [CALL, CALL, RAISE], STRONG),  # whatever the board
        ("chen_letter", "JsTh", [], WEAK),  # 7 points
        ("chen_letter", "AsJh", [], STRONG),  # 8 points
        ("rules_letter", "2s2h", [], STRONG),
        ("rules_letter", "AsKh", [], WEAK),
        ("rules_letter", "Ks2h", [CALL, CALL, RAISE], STRONG),  # top pair
        ("rules_letter", "9s2h", [CALL, CALL, RAISE], WEAK),
    ],
)
def test_strong_and_weak_hands_facing_a_bet(name, own, facing, expected):
    assert does(name, f"5s5d {own} {FLOP}", *facing) == expected


def test_it_never_folds_where_checking_is_free_nor_raises_above_the_cap():
    weak, strong = f"4c4d 6s2h {FLOP}", f"AsAh 4c4d {FLOP}"
    assert does("sklansky_letter", weak, CALL, CALL, CALL) == [0, 1, 0]
    assert does("sklansky_letter", strong, RAISE, RAISE, RAISE) == [0, 1, 0]


def test_the_chances_are_settings():
    chances = {"strong_bets": 0.75, "weak_calls": 0.125}
    assert does("sklansky_letter", f"4c4d AsAh {FLOP}", **chances) == [0, 0.25, 0.75]
    assert does("sklansky_letter", f"4c4d 6s2h {FLOP}", **chances) == [0.875, 0.125, 0]


def test_strong_hands_are_another_bots_of_holdem():
    node = {"_target_": "poker_rl.players.bots.Uniform"}
    with pytest.raises(Refused, match=r"^player\.strong\._target_: Uniform is not a HoldemBot$"):
        bot("sklansky_letter", strong=node)


# Small bets a hand that a raiser wins from five of them in 4,000 deals, half the 95 % interval.
RAISER_WINS = {
    "sklansky_letter": (1.529, 0.234),
    "chen_letter": (1.448, 0.249),
    "rules_letter": (1.232, 0.178),
    "mcts_few": (3.194, 0.163),
}


@pytest.mark.parametrize("name", RAISER_WINS)
def test_who_always_raises_wins_from_five_of_them(name):
    ring = game("limit_holdem_6p")
    won, half_width = RAISER_WINS[name]
    found = against(ring, bot("raise", ring), bot(name, ring), name, 500, seed=7)
    # Both are measured: five standard errors of the difference.
    assert abs(found.value - 1000 * won) < 2.5 * np.hypot(found.half_width, 1000 * half_width)
    assert found.value > 0
