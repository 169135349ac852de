"""The bots `tight`, `mcts` and `pot_odds`: equity, ranges, certain choices, bet sizes."""

from itertools import combinations

import numpy as np
import pytest
from holdem_bots import bot, cards, hand
from phevaluator import evaluate_cards
from random_games import deal_tables, game, play_records

from poker_rl.config import ConfigError
from poker_rl.games import get_tree
from poker_rl.games.hand_evaluator import evaluate_best_five
from poker_rl.games.poker.position_notation import parse_position
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.players.bots.starting_hand_bots import compute_chen_percentiles

HOLDEM, RING, DRAWN = (game(f"limit_holdem{n}") for n in ("", "_6p", "_2to9"))


def tight(game=HOLDEM, **settings):
    return bot("tight", game, **settings)


def probs(game, records):
    return tight(game).compute_win_probs(records)


def test_chen_order():
    order = compute_chen_percentiles()
    held = order[np.triu_indices(52, 1)]
    assert held.mean() == pytest.approx(0.5)  # as of any order, ties counting half
    assert (order == order.T).all()
    # Above aces is nobody, and six holdings are as good; 72, 82, 83, 92, ... are all below 73.
    assert order[*cards("AsAh")] == 1 - 3 / 1326
    assert held.min() == order[*cards("7s2h")] == order[*cards("7d2c")]


def shares(record, definition):
    """Return the probability to beat one random holding, by another evaluator."""
    seat, shown = int(record["to_act"]), sum(definition.board_cards[: record["street"] + 1])
    deck = record["deck"].tolist()
    own, first = deck[2 * seat : 2 * seat + 2], 2 * definition.seats
    board = deck[first : first + shown]
    mine = evaluate_cards(*own, *board)
    rest = [card for card in range(52) if card not in own + board]
    others = [evaluate_cards(*pair, *board) for pair in combinations(rest, 2)]
    return float(np.mean([(mine < other) + (mine == other) / 2 for other in others]))


@pytest.mark.parametrize("definition", [HOLDEM, RING], ids=lambda game: game.name)
def test_probabilities_after_the_flop(definition):
    records = play_records(definition, 60, seed=3)
    records = records[records["street"] > 0]
    for street in (1, 2, 3):
        some = records[records["street"] == street][:8]
        assert len(some) == 8
        expected = [shares(each, definition) ** (each["live"] - 1.0) for each in some]
        np.testing.assert_allclose(probs(definition, some), expected, rtol=1e-12)


def test_known_probabilities():
    to_river = [CALL] * 6
    # A board that plays for everybody, and one whose only better holding is the own one.
    assert probs(HOLDEM, hand("2c3c 2d3d AsKsQs Js Ts", *to_river)) == [0.5]
    assert probs(HOLDEM, hand("Ts2c 2d3d AsKsQs Js 2h", *to_river)) == [1]
    # Before the flop Chen's order, against each of those who are still in.
    aces = compute_chen_percentiles()[*cards("AsAh")]
    assert probs(HOLDEM, hand("2c3c AsAh 7h8s9s Jc Kd")) == aces
    ring = "2c3c 2d3d AsAh 4c5c 4d5d 6c6d 7h8s9s Jc Kd"
    assert probs(RING, hand(ring, game=RING)) == pytest.approx(aces**5)
    later = hand(ring, RAISE, FOLD, FOLD, FOLD, CALL, RAISE, game=RING)
    assert probs(RING, later) == pytest.approx(aces**2)


def test_what_it_does():
    def does(deck, *actions):
        return tight().action_probs(hand(deck, *actions))[0].tolist()

    flop = "8h9sQs Jc Kd"
    assert does(f"2c7d AsAh {flop}") == [0, 0, 1]
    assert does(f"2c7d AsAh {flop}", RAISE, RAISE, RAISE) == [1, 0, 0]  # the other seat, 72
    assert does(f"AsAh 2c7d {flop}", RAISE, RAISE, RAISE) == [0, 1, 0]  # no raise is left
    assert does(f"2c7d AsAh {flop}", CALL, CALL) == [0, 1, 0]  # checking is free
    assert does(f"2c7d AsAh {flop}", CALL, CALL, CALL, RAISE) == [1, 0, 0]
    middling = does(f"2c7d Js8d {flop}")  # .52 of the holdings come later
    assert middling == [0, 1, 0]
    assert tight(raise_threshold=0.4).action_probs(hand(f"2c7d Js8d {flop}"))[0, RAISE] == 1


@pytest.mark.parametrize("simulations", [1, 7, 200])
def test_visits(simulations):
    records = play_records(DRAWN, 30, seed=0)
    player = bot("mcts", DRAWN, simulations=simulations)
    visits, legal = player.count_visits(records), player.legal_mask(records)
    assert (visits.sum(1) == simulations).all()
    assert not visits[~legal].any()
    assert (visits[legal] > 0).all() or simulations == 1
    probs = player.action_probs(records)
    assert (probs.max(1) == 1).all()
    assert (visits[probs == 1] == visits.max(1)).all()


def test_kuhn():
    """With a certain outcome it makes no mistake: it never folds a king nor calls with a jack."""
    kuhn = game("kuhn")
    tree = get_tree(kuhn)
    for seed in range(10):
        policy = bot("mcts", kuhn, seed=seed).action_probs(tree.infoset_records)
        of = dict(zip(tree.infoset_names, policy.tolist(), strict=True))
        for name in ("0 J cr", "1 J r"):
            assert of[name] == [1, 0, 0]
        for name in ("0 K cr", "1 K r"):
            assert of[name] == [0, 1, 0]
        assert of["1 K c"] == [0, 0, 1]


SAMPLES = 40_000
CHECKED_TO_TURN = [CALL] * 4
SEAT_0, SEAT_1 = "Jh9h", "AsKd"  # seat 0 is the first to act after the flop
BOARD = "Th8c2hQs3d"


def strength(hole, board):
    """Return the strength of hole cards with a board."""
    return int(evaluate_best_five(np.array(hole + board), len(hole + board), 4))


def enumerate_equity(own, board, share=1.0):
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


@pytest.mark.parametrize("raised", [False, True])
@pytest.mark.parametrize(("street", "board"), [("river", BOARD), ("turn", BOARD[:8])])
def test_equity_is_that_of_an_enumeration(street, board, raised):
    line = [*CHECKED_TO_TURN, *([CALL, CALL] if street == "river" else [])]
    player = bot("pot_odds", samples=SAMPLES, any_hand_prob=0.0, share_after_raises=[1.0, 0.4])
    record = hand(SEAT_0 + SEAT_1 + BOARD, *line, *([CALL, RAISE] if raised else []))
    equity, pot_odds = player.estimate_equity_and_pot_odds(record)
    expected = enumerate_equity(SEAT_0, board, 0.4 if raised else 1.0)
    assert abs(equity[0] - expected) < 5 * 0.5 / np.sqrt(SAMPLES)
    assert pot_odds[0] == (4 / 12 if raised else 0)


def test_equal_hands_divide_the_pot():
    definition = game("limit_holdem_3p")
    royal_flush = parse_position(definition, None, "2c3d", "AhKhQhJhTh", "c c c / c c c / c c c / ")
    equity, _ = bot("pot_odds", definition).estimate_equity_and_pot_odds(royal_flush)
    assert equity[0] == pytest.approx(1 / 3)


def test_each_raise_of_an_opponent_lowers_the_equity():
    player = bot("pot_odds", samples=SAMPLES)
    deck = "Td9d" + SEAT_1 + BOARD
    flop_raise = [RAISE, CALL, CALL, RAISE]
    lines = [[CALL], [RAISE], [RAISE] * 3, flop_raise, [*flop_raise, RAISE, RAISE]]
    records = np.concatenate([hand(deck, *line) for line in lines])
    assert (records["to_act"] == 0).all()
    checked, raised, reraised = player.estimate_equity_and_pot_odds(records[:3])[0]
    assert checked > raised + 0.02 > reraised + 0.04
    on_flop, reraised = player.estimate_equity_and_pot_odds(records[3:])[0]
    assert on_flop > reraised + 0.02
    every_hand = bot("pot_odds", samples=SAMPLES, any_hand_prob=1.0)
    first_decision = hand(deck)
    assert player.estimate_equity_and_pot_odds(
        first_decision
    ) == every_hand.estimate_equity_and_pot_odds(first_decision)
    assert np.ptp(every_hand.estimate_equity_and_pot_odds(records[:3])[0]) < 0.02


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
    definition = game(name)
    deck = np.array([cards("AsAdAhAc" + BOARD)])
    tables = deal_tables(definition, actions=moves, decks=deck)
    player = bot("pot_odds", definition, bet_threshold=0.0, **settings)
    probs = player.action_probs(tables.records)[0]
    assert definition.action_name(int(probs.argmax())) == bet


def test_an_empty_list_of_shares_is_refused():
    with pytest.raises(ConfigError, match=r"^player.share_after_raises: .* is empty"):
        bot("pot_odds", share_after_raises=[])
