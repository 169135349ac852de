"""The tight bot: probabilities counted by another evaluator, and results."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from holdem_bots import bot, cards, hand
from phevaluator import evaluate_cards
from random_games import game, play

from poker_rl.games.poker.betting import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables
from poker_rl.players.bots.tight_bot import compute_chen_percentiles, compute_win_probs

HOLDEM, RING, DRAWN = (game(f"limit_holdem{n}") for n in ("", "_6p", "_2to9"))


def tight(game=HOLDEM, **settings):
    return bot("tight", game, **settings)


def probs(game, records):
    tables = Tables(game, 0, 0)
    tables.load_records(records)
    out = np.empty(len(records))
    compute_win_probs(tables.gather_definitions(), records, compute_chen_percentiles(), out)
    return out


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
    _, moves = play(definition, 60, seed=3)
    records = np.concatenate([move.records for move in moves])
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
