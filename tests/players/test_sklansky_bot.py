"""The bot with Sklansky's ranges: their shares of all hands, and its choices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from holdem_bots import cards, get_probs

from poker_rl.games.poker.betting import CALL, RAISE
from poker_rl.players.bots.sklansky_bot import OUTSIDE_RANGES, VERY_HIGH, VERY_LOOSE, find_range

SHARES = [3.02, 5.13, 9.65, 25.19, 49.92]  # % of the 1326 hands, each range holding those before


def test_shares():
    held = np.array([find_range(*pair) for pair in combinations(range(52), 2)])
    shares = [100 * (held <= range_).mean() for range_ in range(VERY_HIGH, OUTSIDE_RANGES)]
    assert [round(share, 2) for share in shares] == SHARES


RANGES = [
    ["AsAh", "JsJh", "AsKh", "AsKs"],
    ["TsTh", "9s9h", "AsQh"],
    ["8s8h", "7s7h", "AsJh", "AsTh", "KsQh"],
    ["6s6h", "2s2h", "As9h", "As5h", "KsJh", "JsTh", "Ks9s", "Ts9s"],
    ["As4h", "As2h", "Ks9h", "Ts9h", "8s7h", "Ks6h", "Ks4h", "Ks3s", "Ks2s"],
    ["Ks3h", "Ks2h", "Qs6s", "7s6s", "3s2s"],
]


@pytest.mark.parametrize(
    ("text", "range_"), [(text, r) for r, texts in enumerate(RANGES) for text in texts]
)
def test_ranges(text, range_):
    first, second = cards(text)
    assert find_range(first, second) == find_range(second, first) == range_


FLOP = "8h9d2c Jc Kd"


@pytest.mark.parametrize(
    ("range_", "first_in", "raised"),
    [
        (0, [0, 0, 1], [0, 0, 1]),
        (1, [0, 0, 1], [0, 0, 1]),
        (2, [0, 0.5, 0.5], [0, 0.5, 0.5]),
        (3, [0, 1, 0], [0, 1, 0]),
        (VERY_LOOSE, [0, 1, 0], [1, 0, 0]),
        (OUTSIDE_RANGES, [1, 0, 0], [1, 0, 0]),
    ],
)
def test_what_it_does(range_, first_in, raised):
    own = RANGES[range_][-1]
    assert get_probs("sklansky", f"4c4d {own} {FLOP}") == first_in
    assert get_probs("sklansky", f"4c4d {own} {FLOP}", CALL, RAISE) == raised
    # Checking is free, and after the flop the first bet is the only one.
    checks = [0, 1, 0] if first_in[0] else first_in
    assert get_probs("sklansky", f"4c4d {own} {FLOP}", CALL, CALL, CALL) == checks
    assert get_probs("sklansky", f"4c4d {own} {FLOP}", CALL, CALL, RAISE) == first_in
