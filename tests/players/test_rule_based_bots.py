"""Bots with fixed rules: points or ranges of example hands, and the choices with them."""

from itertools import combinations

import numpy as np
import pytest
from holdem_bots import bot, cards, get_probs, hand
from random_games import game

from poker_rl.games.poker.position_notation import parse_position
from poker_rl.games.poker.table_dtypes import CALL, RAISE
from poker_rl.players.bots.hole_card_bots import (
    OUTSIDE_RANGES,
    VERY_HIGH,
    VERY_LOOSE,
    compute_chen_points,
    find_tightest_sklansky_range,
)

CHEN = {
    **{"AsAh": 20, "KsKh": 16, "QsQh": 14, "JsJh": 12, "TsTh": 10, "6s6h": 6, "5s5h": 6, "2s2h": 5},
    **{"AsKs": 12, "AsKh": 10, "AsQh": 9, "AsJh": 8, "JsTs": 9, "QsJs": 9, "QsTs": 8, "9s8s": 8},
    **{"Ts8s": 7, "Ks9s": 6, "Js9h": 6, "5s4s": 6, "As5h": 5, "As2h": 5, "Js8h": 4, "Js7h": 2},
    **{"7s3h": 0, "7s2h": -1},
}


@pytest.mark.parametrize(("text", "points"), CHEN.items())
def test_chen_points(text, points):
    first, second = cards(text)
    assert compute_chen_points(first, second) == compute_chen_points(second, first) == points


CHEN_FLOP = "8h9s2h Jc Kd"
DEVIATION = 0.1 / 3  # a random deviation takes each of three choices equally


def test_chen_bot_choices():
    probs = get_probs("chen", f"4c4d AsQh {CHEN_FLOP}")  # AQ has 9 points
    assert probs == pytest.approx([DEVIATION, DEVIATION, 0.9 + DEVIATION])
    assert get_probs("chen", f"4c4d AsQh {CHEN_FLOP}", deviation_prob=0) == [0, 0, 1]
    raised = get_probs("chen", f"4c4d AsQh {CHEN_FLOP}", *[RAISE] * 3, deviation_prob=0)
    assert raised == [1, 0, 0]  # 4c4d of seat 0 has 5 points
    # Raising is illegal in the first case, folding in the second: two choices are left.
    capped = get_probs("chen", f"AsQh 4c4d {CHEN_FLOP}", RAISE, RAISE, RAISE)
    assert capped == pytest.approx([0.05, 0.95, 0])
    free = get_probs("chen", f"4c4d Js7h {CHEN_FLOP}", CALL, CALL, CALL)
    assert free == pytest.approx([0, 0.95, 0.05])
    river = [CALL] * 7
    assert get_probs("chen", f"4c4d AsQh {CHEN_FLOP}", *river, deviation_prob=0) == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "late"), [("limit_holdem", [0, 2]), ("limit_holdem_9p", [0, 0, 0, 1, 1, 1, 2, 2, 2])]
)
def test_chen_bot_calls_weaker_hands_in_later_positions(name, late):
    definition, call_probs = game(name), []
    for text in ("9s8s", "Ts8s", "Ks9s", "As5h"):  # 8, 7, 6 and 5 points
        deck = [card for card in range(52) if card not in cards(text)]
        records = hand(np.array(deck), CALL, game=definition).repeat(definition.seats)
        records["to_act"] = np.arange(definition.seats)
        records["paid"] = 0  # everyone faces a bet
        for seat in range(definition.seats):
            records["deck"][seat, 2 * seat : 2 * seat + 2] = cards(text)
        call_probs.append(bot("chen", definition, deviation_prob=0).action_probs(records)[:, CALL])
    position = np.array(late)
    expected = [np.ones_like(position), position >= 1, position >= 2, np.zeros_like(position)]
    np.testing.assert_array_equal(call_probs, expected)


SHARES = [3.02, 5.13, 9.65, 25.19, 49.92]  # % of the 1326 hands; each range includes tighter ones


def test_sklansky_ranges_hold_the_known_shares_of_hands():
    ranges = np.array([find_tightest_sklansky_range(*pair) for pair in combinations(range(52), 2)])
    shares = [100 * (ranges <= range_).mean() for range_ in range(VERY_HIGH, OUTSIDE_RANGES)]
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
def test_tightest_sklansky_range_of_a_hand(text, range_):
    first, second = cards(text)
    ranges = (find_tightest_sklansky_range(*pair) for pair in ((first, second), (second, first)))
    assert [*ranges] == [range_, range_]


SKLANSKY_FLOP = "8h9d2c Jc Kd"


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
def test_sklansky_bot_choices(range_, first_in, raised):
    own = RANGES[range_][-1]
    assert get_probs("sklansky", f"4c4d {own} {SKLANSKY_FLOP}") == first_in
    assert get_probs("sklansky", f"4c4d {own} {SKLANSKY_FLOP}", CALL, RAISE) == raised
    # On the flop a check is free, and a first bet does not count as a raise.
    checks = [0, 1, 0] if first_in[0] else first_in
    assert get_probs("sklansky", f"4c4d {own} {SKLANSKY_FLOP}", CALL, CALL, CALL) == checks
    assert get_probs("sklansky", f"4c4d {own} {SKLANSKY_FLOP}", CALL, CALL, RAISE) == first_in


RANDOMIZED_FLOP = "Kd9c4h Jc 3d"
STRONG, WEAK = [0, 0.5, 0.5], [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("name", "own", "facing", "expected"),
    [
        ("sklansky_randomized", "7s7h", [], STRONG),  # lowest pair of the average range
        ("sklansky_randomized", "6s6h", [], WEAK),
        ("sklansky_randomized", "7s7h", [CALL, CALL, RAISE], STRONG),  # the board does not matter
        ("chen_randomized", "JsTh", [], WEAK),  # 7 points
        ("chen_randomized", "AsJh", [], STRONG),  # 8 points
        ("rules_randomized", "2s2h", [], STRONG),
        ("rules_randomized", "AsKh", [], WEAK),
        ("rules_randomized", "Ks2h", [CALL, CALL, RAISE], STRONG),  # top pair
        ("rules_randomized", "9s2h", [CALL, CALL, RAISE], WEAK),
    ],
)
def test_randomized_bot_choices_facing_a_bet(name, own, facing, expected):
    assert get_probs(name, f"5s5d {own} {RANDOMIZED_FLOP}", *facing) == expected


TO_ACT = {0: [], 3: [CALL, CALL, RAISE], 4: [CALL] * 4 + [RAISE], 5: [CALL] * 6 + [RAISE]}

HANDS = {  # own cards and board, keyed by the choice of the bot when it faces a bet
    # No pair or draw; combinations of the board alone; draws missed on the river
    "fold": "QsJs, AsQh Kd9c4h, AsKh 3d4cTh, As2h KdKc4h, As2d 4h5h6h7h8h, As2d 7c7d7h7s,"
    " 2s3s Kh9h4hJh, 2h7h Kh9h4cJsQd, 8s7h 5d9cKh2s2d",
    # An ace before the flop; pairs below the top card of the board; draws
    "call": "As2h, QsQh Kd9c4h, Qs9h Kd9c4h, 4s2h KdKc4h, 2h7h Kh9h4c, 2s7h Kh9h4h, 8s7h 5d9cKh,"
    " As2h 3d5cKh, AsQh JdTc4h, Qs6s 5d7c8h2d",
    "raise": "2s2h, Ks3h Kd9c4h, AsAh Kd9c4h, 9s4s Kd9c4h, 8s7h 6d9cTh, 2h7h Kh9h4h, Ks2h KdKc4h,"
    " 2s2h KdKcKh, As9h 4h5h6h7h8h, As2d 7c7d7h7s8h",
}


@pytest.mark.parametrize(
    ("choice", "text"), [(choice, text) for choice in HANDS for text in HANDS[choice].split(", ")]
)
def test_rules_bot_choices_facing_a_bet(choice, text):
    own, _, board = text.partition(" ")
    board_size = len(board) // 2
    # Unused cards fill the opponent's hand and the rest of the board.
    unused = [r + s for r in "TJQ8" for s in "cdhs" if r + s not in own + board]
    deck = [*unused[:2], own, board, *unused[2 : 7 - board_size]]
    seat_1 = "".join(deck)
    seat_0 = "".join([own, *unused[:2], *deck[3:]])
    # Seat 1 acts first before the flop, and second on later streets.
    expected = [choice == name for name in HANDS]
    assert get_probs("rules", seat_1, *TO_ACT[board_size]) == expected
    if choice == "fold" and board_size:  # a check is free without a bet
        assert get_probs("rules", seat_0, *TO_ACT[board_size][:-1]) == [0, 1, 0]


@pytest.mark.parametrize(("name", "calls"), [("limit_holdem", True), ("flop_holdem", False)])
@pytest.mark.parametrize(("own", "board"), [("2h7h", "Kh9h4c"), ("8s7h", "5d9cKh")])
def test_rules_bot_calls_with_a_draw_while_a_card_is_to_come(name, calls, own, board):
    definition = game(name)
    facing_bet = parse_position(definition, None, own, board, "c c / r")
    probs = bot("rules", definition).action_probs(facing_bet).tolist()
    assert probs == [[0, 1, 0] if calls else [1, 0, 0]]
