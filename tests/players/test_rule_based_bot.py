"""The rule-based bot: hands and boards with its choice."""

from __future__ import annotations

import pytest
from holdem_bots import get_probs

from poker_rl.games.poker.betting import CALL, RAISE

FOLD_IT, CALL_IT, BET_IT = [1, 0, 0], [0, 1, 0], [0, 0, 1]
TO_ACT = {0: [], 3: [CALL, CALL, RAISE], 4: [CALL] * 4 + [RAISE], 5: [CALL] * 6 + [RAISE]}

# Own cards, the board, and what to do when facing a bet.
HANDS = [
    ("2s2h", "", BET_IT),
    ("As2h", "", CALL_IT),
    ("Ks2h", "", CALL_IT),
    ("QsJs", "", FOLD_IT),
    # Pairs of the flop
    ("Ks3h", "Kd9c4h", BET_IT),
    ("AsAh", "Kd9c4h", BET_IT),
    ("QsQh", "Kd9c4h", CALL_IT),
    ("Qs9h", "Kd9c4h", CALL_IT),
    ("4s2h", "Kd9c4h", CALL_IT),
    ("AsQh", "Kd9c4h", FOLD_IT),
    # Better than top pair
    ("9s4s", "Kd9c4h", BET_IT),
    ("4s4d", "Kd9c4h", BET_IT),
    ("8s7h", "6d9cTh", BET_IT),
    ("2h7h", "Kh9h4h", BET_IT),
    # What the board holds by itself is not the bot's
    ("As2h", "KdKc4h", FOLD_IT),
    ("4s2h", "KdKc4h", CALL_IT),
    ("AsAh", "KdKc4h", BET_IT),
    ("Ks2h", "KdKc4h", BET_IT),
    ("4s2h", "Kd4c4h", BET_IT),
    ("As2h", "KdKcKh", FOLD_IT),
    ("2s2h", "KdKcKh", BET_IT),
    ("As2d", "4h5h6h7h8h", FOLD_IT),
    ("As9h", "4h5h6h7h8h", BET_IT),
    ("As2d", "7c7d7h7s8h", BET_IT),
    ("6s2d", "7c7d7h7s8h", FOLD_IT),
    ("As2d", "7c7d7h7s", FOLD_IT),
    # Draws, until the river
    ("2h7h", "Kh9h4c", CALL_IT),
    ("2s7h", "Kh9h4h", CALL_IT),
    ("2s7s", "Kh9h4h", FOLD_IT),
    ("2s3s", "Kh9h4hJh", FOLD_IT),
    ("2h7h", "Kh9h4cJs", CALL_IT),
    ("2h7h", "Kh9h4cJsQd", FOLD_IT),
    ("8s7h", "5d9cKh", CALL_IT),
    ("8s7h", "6d9cKh", CALL_IT),
    ("As2h", "3d5cKh", CALL_IT),
    ("AsQh", "JdTc4h", CALL_IT),
    ("AsKh", "3d4cTh", FOLD_IT),
    ("3s2s", "5d7c8h9d", FOLD_IT),
    ("Qs6s", "5d7c8h2d", CALL_IT),
    ("8s7h", "5d9cKh2s2d", FOLD_IT),
]


@pytest.mark.parametrize(("own", "board", "expected"), HANDS)
def test_what_it_does_facing_a_bet(own, board, expected):
    shown = len(board) // 2
    # The board's other cards and the other hand, out of what is left.
    left = [r + s for r in "TJQ8" for s in "cdhs" if r + s not in own + board]
    deck = [*left[:2], own, board, *left[2 : 7 - shown]]
    seat_1 = "".join(deck)
    seat_0 = "".join([own, *left[:2], *deck[3:]])
    # Before the flop seat 1 is first, on later streets second.
    assert get_probs("rules", seat_1, *TO_ACT[shown]) == expected
    if expected == FOLD_IT and shown:  # checking is free
        assert get_probs("rules", seat_0, *TO_ACT[shown][:-1]) == [0, 1, 0]
