"""The bot with Chen's points: points of known hands, and its choices."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot, cards, get_probs, hand
from random_games import game

from poker_rl.games.poker.betting import CALL, RAISE
from poker_rl.players.bots.chen_bot import compute_chen_points

CHEN = {
    **{"AsAh": 20, "KsKh": 16, "QsQh": 14, "JsJh": 12, "TsTh": 10, "6s6h": 6, "5s5h": 6, "2s2h": 5},
    **{"AsKs": 12, "AsKh": 10, "AsQh": 9, "AsJh": 8, "JsTs": 9, "QsJs": 9, "QsTs": 8, "9s8s": 8},
    **{"Ts8s": 7, "Ks9s": 6, "Js9h": 6, "5s4s": 6, "As5h": 5, "As2h": 5, "Js8h": 4, "Js7h": 2},
    **{"7s3h": 0, "7s2h": -1},
}


@pytest.mark.parametrize(("text", "points"), CHEN.items())
def test_points(text, points):
    first, second = cards(text)
    assert compute_chen_points(first, second) == compute_chen_points(second, first) == points


FLOP = "8h9s2h Jc Kd"
RARELY = 0.1 / 3  # each of three choices by deviation


def test_what_it_does():
    probs = get_probs("chen", f"4c4d AsQh {FLOP}")  # 9 points
    assert probs == pytest.approx([RARELY, RARELY, 0.9 + RARELY])
    assert get_probs("chen", f"4c4d AsQh {FLOP}", deviation_prob=0) == [0, 0, 1]
    assert get_probs("chen", f"4c4d AsQh {FLOP}", RAISE, RAISE, RAISE, deviation_prob=0) == [
        1,
        0,
        0,
    ]  # 5
    # No raise is left, and then no bet to fold to: there are two choices each.
    capped = get_probs("chen", f"AsQh 4c4d {FLOP}", RAISE, RAISE, RAISE)
    assert capped == pytest.approx([0.05, 0.95, 0])
    free = get_probs("chen", f"4c4d Js7h {FLOP}", CALL, CALL, CALL)
    assert free == pytest.approx([0, 0.95, 0.05])
    # The same hand on every street.
    river = [CALL] * 7
    assert get_probs("chen", f"4c4d AsQh {FLOP}", *river, deviation_prob=0) == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "late"), [("limit_holdem", [0, 2]), ("limit_holdem_9p", [0, 0, 0, 1, 1, 1, 2, 2, 2])]
)
def test_thresholds_by_position(name, late):
    definition = game(name)
    called = []
    for text in ("9s8s", "Ts8s", "Ks9s", "As5h"):  # 8, 7, 6 and 5 points
        deck = [card for card in range(52) if card not in cards(text)]
        rows = hand(np.array(deck), CALL, game=definition).repeat(definition.seats)
        rows["to_act"] = np.arange(definition.seats)
        rows["paid"] = 0  # everyone faces a bet
        for seat in range(definition.seats):
            rows["deck"][seat, 2 * seat : 2 * seat + 2] = cards(text)
        called.append(bot("chen", definition, deviation_prob=0).action_probs(rows)[:, CALL])
    position = np.array(late)
    expected = [np.ones_like(position), position >= 1, position >= 2, np.zeros_like(position)]
    np.testing.assert_array_equal(called, expected)
