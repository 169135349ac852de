"""The bots `tight`, `mcts` and `pot_odds`: equity, ranges of hands, choices, bet sizes."""

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
from poker_rl.players.bots.hole_card_bots import compute_chen_percentiles

HOLDEM, RING, SEATS_2TO9 = (game(f"limit_holdem{n}") for n in ("", "_6p", "_2to9"))


def build_tight(game=HOLDEM, **settings):
    return bot("tight", game, **settings)


def win_probs(game, records):
    return build_tight(game).compute_win_probs(records)


def test_chen_percentiles_of_starting_hands():
    order = compute_chen_percentiles()
    held = order[np.triu_indices(52, 1)]
    assert held.mean() == pytest.approx(0.5)  # true of any percentiles, if ties count half
    assert (order == order.T).all()
    # No hand beats aces, whose six combinations tie and count half; 7-2 is among the worst hands.
    assert order[*cards("AsAh")] == 1 - 3 / 1326
    assert held.min() == order[*cards("7s2h")] == order[*cards("7d2c")]


def enumerate_win_prob(record, definition):
    """Return the share of other hands that lose, ties count half, computed with phevaluator."""
    seat, shown = int(record["to_act"]), sum(definition.board_cards[: record["street"] + 1])
    deck = record["deck"].tolist()
    own, first = deck[2 * seat : 2 * seat + 2], 2 * definition.seats
    board = deck[first : first + shown]
    own_rank = evaluate_cards(*own, *board)
    unseen = [card for card in range(52) if card not in own + board]
    other_ranks = [evaluate_cards(*pair, *board) for pair in combinations(unseen, 2)]
    return float(np.mean([(own_rank < other) + (own_rank == other) / 2 for other in other_ranks]))


@pytest.mark.parametrize("definition", [HOLDEM, RING], ids=lambda game: game.name)
def test_win_probs_after_the_flop_match_phevaluator(definition):
    records = play_records(definition, 60, seed=3)
    records = records[records["street"] > 0]
    for street in (1, 2, 3):
        sample = records[records["street"] == street][:8]
        assert len(sample) == 8
        expected = [enumerate_win_prob(each, definition) ** (each["live"] - 1.0) for each in sample]
        np.testing.assert_allclose(win_probs(definition, sample), expected, rtol=1e-12)


def test_win_probs_of_known_cases():
    to_river = [CALL] * 6
    # A royal flush on the board, which ties, and one that needs the own ten, which wins.
    assert win_probs(HOLDEM, hand("2c3c 2d3d AsKsQs Js Ts", *to_river)) == [0.5]
    assert win_probs(HOLDEM, hand("Ts2c 2d3d AsKsQs Js 2h", *to_river)) == [1]
    # Before the flop: the percentile in Chen's order, to the power of the opponents still in.
    aces = compute_chen_percentiles()[*cards("AsAh")]
    assert win_probs(HOLDEM, hand("2c3c AsAh 7h8s9s Jc Kd")) == aces
    ring = "2c3c 2d3d AsAh 4c5c 4d5d 6c6d 7h8s9s Jc Kd"
    assert win_probs(RING, hand(ring, game=RING)) == pytest.approx(aces**5)
    later = hand(ring, RAISE, FOLD, FOLD, FOLD, CALL, RAISE, game=RING)
    assert win_probs(RING, later) == pytest.approx(aces**2)


def test_choices_of_the_tight_bot():
    def choose(deck, *actions):
        return build_tight().action_probs(hand(deck, *actions))[0].tolist()

    flop = "8h9sQs Jc Kd"
    assert choose(f"2c7d AsAh {flop}") == [0, 0, 1]
    assert choose(f"2c7d AsAh {flop}", RAISE, RAISE, RAISE) == [1, 0, 0]  # 7-2 folds
    assert choose(f"AsAh 2c7d {flop}", RAISE, RAISE, RAISE) == [0, 1, 0]  # no raise is legal
    assert choose(f"2c7d AsAh {flop}", CALL, CALL) == [0, 1, 0]  # checking is free
    assert choose(f"2c7d AsAh {flop}", CALL, CALL, CALL, RAISE) == [1, 0, 0]
    middling = choose(f"2c7d Js8d {flop}")  # beats 52 % of the hands
    assert middling == [0, 1, 0]
    assert build_tight(raise_threshold=0.4).action_probs(hand(f"2c7d Js8d {flop}"))[0, RAISE] == 1


@pytest.mark.parametrize("simulations", [1, 7, 200])
def test_mcts_bot_tries_all_actions_and_plays_the_most_visited(simulations):
    records = play_records(SEATS_2TO9, 30, seed=0)
    player = bot("mcts", SEATS_2TO9, simulations=simulations)
    visits, legal = player.count_visits(records), player.legal_mask(records)
    assert (visits.sum(1) == simulations).all()
    assert not visits[~legal].any()
    assert (visits[legal] > 0).all() or simulations == 1
    probs = player.action_probs(records)
    assert (probs.max(1) == 1).all()
    assert (visits[probs == 1] == visits.max(1)).all()


def test_mcts_bot_makes_no_mistake_with_a_certain_outcome_in_kuhn():
    """It never folds a king and never calls a bet with a jack."""
    kuhn = game("kuhn")
    tree = get_tree(kuhn)
    for seed in range(10):
        policy = bot("mcts", kuhn, seed=seed).action_probs(tree.infoset_records)
        policy_by_infoset = dict(zip(tree.infoset_names, policy.tolist(), strict=True))
        for name in ("0 J cr", "1 J r"):
            assert policy_by_infoset[name] == [1, 0, 0]
        for name in ("0 K cr", "1 K r"):
            assert policy_by_infoset[name] == [0, 1, 0]
        assert policy_by_infoset["1 K c"] == [0, 0, 1]


SAMPLES = 40_000
CHECKED_TO_TURN = [CALL] * 4
SEAT_0, SEAT_1 = "Jh9h", "AsKd"  # seat 0 is the first to act after the flop
BOARD = "Th8c2hQs3d"


def evaluate(hole, board):
    """Return the strength of the best five cards, as an integer; higher is better."""
    return int(evaluate_best_five(np.array(hole + board), len(hole + board), 4))


def enumerate_equity(own, board, share=1.0):
    """Return the equity against the best `share` of hands on `board`, over all cards to come."""
    own_cards, board_cards = cards(own), cards(board)
    unseen = sorted(set(range(52)) - set(own_cards) - set(board_cards))
    hands = [list(pair) for pair in combinations(unseen, 2)]
    strengths = sorted(evaluate(pair, board_cards) for pair in hands)
    least = strengths[int((1 - share) * len(strengths))]
    results = []
    for pair in hands:
        if evaluate(pair, board_cards) >= least:
            for river in combinations(set(unseen) - set(pair), 5 - len(board_cards)):
                final_board = [*board_cards, *river]
                own_score, opp_score = evaluate(own_cards, final_board), evaluate(pair, final_board)
                results.append((own_score > opp_score) + (own_score == opp_score) / 2)
    return float(np.mean(results))


@pytest.mark.parametrize("raised", [False, True])
@pytest.mark.parametrize(("street", "board"), [("river", BOARD), ("turn", BOARD[:8])])
def test_estimated_equity_matches_an_enumeration(street, board, raised):
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


def test_each_raise_of_an_opponent_lowers_the_estimated_equity():
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
        ("nolimit_holdem", [], {"bet_pot_share": 1.0}, "raise_6"),  # call to 2, then the pot of 4
        ("nolimit_holdem", [], {"bet_pot_share": 0.01}, "raise_4"),  # the smallest raise
        ("nolimit_holdem", [CALL, CALL], {"bet_pot_share": 0.75}, "raise_5"),
        ("nolimit_holdem", [110], {"bet_pot_share": 0.3}, "raise_200"),  # > half its chips: all-in
        ("nolimit_holdem", [110], {"bet_pot_share": 1e300}, "raise_200"),
        ("nolimit_holdem", [80], {"bet_pot_share": 0.25, "all_in_share": 0.9}, "raise_158"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 0.6}, "raise_0.5"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 0.9}, "raise_1"),
        ("nolimit_holdem_sizes", [], {"bet_pot_share": 30.0}, "raise_all_in"),
    ],
)
def test_bet_is_the_raise_nearest_to_the_pot_share(name, moves, settings, bet):
    definition = game(name)
    deck = np.array([cards("AsAdAhAc" + BOARD)])
    tables = deal_tables(definition, actions=moves, decks=deck)
    player = bot("pot_odds", definition, bet_threshold=0.0, **settings)
    probs = player.action_probs(tables.records)[0]
    assert definition.action_name(int(probs.argmax())) == bet


def test_an_empty_list_of_shares_is_refused():
    with pytest.raises(ConfigError, match=r"^player.share_after_raises: .* is empty"):
        bot("pot_odds", share_after_raises=[])
