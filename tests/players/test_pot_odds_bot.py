"""The bot `pot_odds`: equity against enumeration, ranges, bet sizes, and what it may not see."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from holdem_bots import bot, cards, hand
from random_games import game

from poker_rl.config.validation import ConfigError
from poker_rl.games.cards import evaluate_best_five
from poker_rl.games.poker.betting import CALL, RAISE
from poker_rl.games.poker.notation import parse_position
from poker_rl.games.tables import Tables

SAMPLES = 40_000
CHECKED_TO_TURN = [CALL] * 4
SEAT_0, SEAT_1 = "Jh9h", "AsKd"  # seat 0 is the first to act after the flop
BOARD = "Th8c2hQs3d"


def strength(hole: list[int], board: list[int]) -> int:
    """Return the strength of hole cards with a board."""
    return int(evaluate_best_five(np.array(hole + board), len(hole + board), 4))


def enumerate_equity(own: str, board: str, share: float = 1.0) -> float:
    """Return the equity against the best share of hands on the board, over all boards to come."""
    own_cards, board_cards = cards(own), cards(board)
    unseen = sorted(set(range(52)) - set(own_cards) - set(board_cards))
    hands = [list(pair) for pair in combinations(unseen, 2)]
    strengths = sorted(strength(pair, board_cards) for pair in hands)
    least = strengths[int((1 - share) * len(strengths))]
    won = []
    for pair in hands:
        if strength(pair, board_cards) >= least:
            for river in combinations(set(unseen) - set(pair), 5 - len(board_cards)):
                final_board = [*board_cards, *river]
                mine, theirs = strength(own_cards, final_board), strength(pair, final_board)
                won.append((mine > theirs) + (mine == theirs) / 2)
    return float(np.mean(won))


@pytest.mark.parametrize(
    ("street", "board", "raised"),
    [
        ("river", BOARD, False),
        ("river", BOARD, True),
        ("turn", BOARD[:8], False),
        ("turn", BOARD[:8], True),
    ],
)
def test_equity_is_that_of_an_enumeration(street, board, raised):
    line = [*CHECKED_TO_TURN, *([CALL, CALL] if street == "river" else [])]
    player = bot("pot_odds", samples=SAMPLES, any_hand_prob=0.0, share_after_raises=[1.0, 0.4])
    record = hand(SEAT_0 + SEAT_1 + BOARD, *line, *([CALL, RAISE] if raised else []))
    equity, pot_odds = player.estimate_equity(record)
    expected = enumerate_equity(SEAT_0, board, 0.4 if raised else 1.0)
    assert abs(equity[0] - expected) < 5 * 0.5 / np.sqrt(SAMPLES)
    assert pot_odds[0] == (4 / 12 if raised else 0)


def test_equal_hands_divide_the_pot():
    definition = game("limit_holdem_3p")
    royal_flush = parse_position(definition, None, "2c3d", "AhKhQhJhTh", "c c c / c c c / c c c / ")
    equity, _ = bot("pot_odds", definition).estimate_equity(royal_flush)
    assert equity[0] == pytest.approx(1 / 3)


def test_each_raise_of_an_opponent_lowers_the_equity():
    player = bot("pot_odds", samples=SAMPLES)
    deck = "Td9d" + SEAT_1 + BOARD
    lines = [
        [CALL],
        [RAISE],
        [RAISE, RAISE, RAISE],
        [RAISE, CALL, CALL, RAISE],
        [RAISE, CALL, CALL, RAISE, RAISE, RAISE],
    ]
    records = np.concatenate([hand(deck, *line) for line in lines])
    assert (records["to_act"] == 0).all()
    checked, raised, reraised = player.estimate_equity(records[:3])[0]
    assert checked > raised + 0.02 > reraised + 0.04
    flop_raise, flop_reraise = player.estimate_equity(records[3:])[0]
    assert flop_raise > flop_reraise + 0.02
    every_hand = bot("pot_odds", samples=SAMPLES, any_hand_prob=1.0)
    first_decision = hand(deck)
    assert player.estimate_equity(first_decision) == every_hand.estimate_equity(first_decision)
    assert np.ptp(every_hand.estimate_equity(records[:3])[0]) < 0.02


def bet_of(name: str, moves: list[int], **settings: float) -> str:
    """Return the name of the bet of a seat with two aces after these moves."""
    definition = game(name)
    tables = Tables(definition, 1, 0)
    tables.deal(decks=np.array([cards("AsAdAhAc" + BOARD)]))
    for action in moves:
        tables.step(np.array([action]))
    player = bot("pot_odds", definition, bet_threshold=0.0, **settings)
    probs = player.action_probs(tables.records)[0]
    return definition.action_name(int(probs.argmax()))


@pytest.mark.parametrize(
    ("name", "moves", "settings", "bet"),
    [
        ("limit_holdem", [], {}, "raise"),
        ("nolimit_holdem", [], {"bet_pot_share": 1.0}, "raise_6"),  # to 2 + the pot of 4
        ("nolimit_holdem", [], {"bet_pot_share": 0.01}, "raise_4"),  # the smallest raise
        ("nolimit_holdem", [CALL, CALL], {"bet_pot_share": 0.75}, "raise_5"),
        ("nolimit_holdem", [110], {"bet_pot_share": 0.3}, "raise_200"),  # over half of its chips
        ("nolimit_holdem", [110], {"bet_pot_share": 1e300}, "raise_200"),
        ("nolimit_holdem", [80], {"bet_pot_share": 0.25, "all_in_share": 0.9}, "raise_158"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 0.6}, "raise_0.5"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 0.9}, "raise_1"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 30.0}, "raise_all_in"),
    ],
)
def test_a_no_limit_bet_is_the_raise_nearest_to_the_pot_share(name, moves, settings, bet):
    assert bet_of(name, moves, **settings) == bet


@pytest.mark.parametrize("shares", [[], [0.5, 0.6]])
def test_shares_that_rise_are_refused(shares):
    with pytest.raises(ConfigError, match=r"^player.share_after_raises: .* never rise"):
        bot("pot_odds", share_after_raises=shares)
