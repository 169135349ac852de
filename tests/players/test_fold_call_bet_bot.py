"""Bots of hold'em: legal play with two to nine seats, hidden cards, results, errors."""

import numpy as np
import pytest
from holdem_bots import bot
from random_games import game, play

from poker_rl.config import ConfigError
from poker_rl.evaluation import play_match
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots.fold_call_bet_bot import find_smallest_raises, to_legal_action_probs

HOLDEM_BOTS = ["tight", "chen", "sklansky", "rules", "sklansky_randomized", "rules_randomized"]
HOLDEM_BOTS += ["pot_odds"]
BOTS = [*HOLDEM_BOTS, "mcts"]
GAMES = ["limit_holdem", "limit_holdem_2to9", "nolimit_holdem_6p", "nolimit_holdem_sizes"]


def test_illegal_choice_becomes_a_call():
    limit = np.array([[True, True, True], [False, True, True], [True, True, False]])
    choice_probs = np.array([[0.5, 0.25, 0.25]] * 3)
    expected = [[0.5, 0.25, 0.25], [0, 0.75, 0.25], [0.5, 0.5, 0]]
    probs = to_legal_action_probs(limit, choice_probs, find_smallest_raises(limit))
    assert probs.tolist() == expected
    no_limit = np.array([[True, True, False, False, True, True], [True, True, *[False] * 4]])
    probs = to_legal_action_probs(no_limit, choice_probs[:2], find_smallest_raises(no_limit))
    assert probs.tolist() == [[0.5, 0.25, 0, 0, 0.25, 0], [0.5, 0.5, 0, 0, 0, 0]]


@pytest.mark.parametrize("game_name", GAMES)
@pytest.mark.parametrize("name", BOTS)
def test_bots_choose_only_legal_actions(name, game_name):
    definition = game(game_name)
    _, moves = play(definition, 40, seed=4)
    records = np.concatenate([move.records for move in moves])
    legal = np.concatenate([move.legal for move in moves])
    probs = bot(name, definition).action_probs(records)
    assert probs.dtype == np.float64
    assert probs.shape == legal.shape
    np.testing.assert_allclose(probs.sum(1), 1, rtol=1e-12)
    assert (probs >= 0).all()
    assert not probs[~legal].any()
    type_probs = np.add.reduceat(probs, [FOLD, CALL, RAISE], axis=1)
    assert (type_probs.sum(0) > 0).all()  # it folds, calls and raises


@pytest.mark.parametrize(
    "game_name", ["limit_holdem", "limit_holdem_2to9", "nolimit_holdem_6p_sizes"]
)
@pytest.mark.parametrize("name", ["mcts", "pot_odds"])
def test_sampling_bots_depend_only_on_the_information_set(name, game_name):
    """Hidden cards, random states and the order of the tables do not matter; the own cards do."""
    definition = game(game_name)
    records = np.concatenate([move.records for move in play(definition, 25, seed=5)[1]])
    player = bot(name, definition)
    compute = player.count_visits if name == "mcts" else player.action_probs
    before, results = records.copy(), compute(records)
    assert (compute(records[::-1]) == results[::-1]).all()
    assert records.tobytes() == before.tobytes()
    redealt = tables_from_records(definition, records.copy())
    redealt.resample_hidden_cards()
    redealt.records["draws"] += np.uint64(7)
    for field in ("hand", "rank"):  # scratch fields may hold values of an earlier hand
        redealt.records[field] = 1
    assert (redealt.records["deck"] != records["deck"]).any(1).all()
    assert (compute(redealt.records) == results).all()
    if player.is_suit_invariant:
        other_suits = records.copy()
        other_suits["deck"] = records["deck"] // 4 * 4 + (records["deck"] + 1) % 4
        assert (compute(other_suits) == results).all()
    rows = np.arange(len(records))
    own_card = 2 * records["to_act"].astype(int)
    redealt.records["deck"][rows, own_card] = redealt.records["deck"][rows, 51]
    assert (compute(redealt.records) != results).any(1).mean() > (0.9 if name == "mcts" else 0.1)


@pytest.mark.parametrize("definition", ["kuhn", "big2"])
@pytest.mark.parametrize("name", HOLDEM_BOTS)
def test_holdem_bots_refuse_other_games(name, definition):
    with pytest.raises(ConfigError, match=rf"thirteen ranks and four suits, not {definition}$"):
        bot(name, game(definition))


# Game, player, opponent; mbb/hand in 3,000 to 40,000 deals, half the 95 % interval; deals to play
WINNINGS = [
    ("limit_holdem_6p", "tight", "uniform", 1453, 76, 300),
    ("limit_holdem_6p", "sklansky", "uniform", 2022, 92, 300),
    ("limit_holdem_6p", "rules", "uniform", 1619, 89, 300),
    ("limit_holdem_6p", "raise", "sklansky_randomized", 1529, 234, 500),
    ("limit_holdem_6p", "raise", "mcts_few", 3194, 163, 500),
    ("limit_holdem", "mcts", "uniform", 1269, 38, 1000),
    ("limit_holdem", "tight", "call", 926, 14, 3000),
]


@pytest.mark.parametrize(("game_name", "name", "opponent", "won", "half_width", "deals"), WINNINGS)
def test_winnings_agree_with_a_longer_match(game_name, name, opponent, won, half_width, deals):
    definition = game(game_name)
    players = bot(name, definition), bot(opponent, definition)
    result = play_match(definition, *players, opponent, deals, seed=7)
    # Both values are measured: allow five standard errors of their difference.
    assert abs(result.value - won) < 2.5 * np.hypot(result.half_width, half_width)
    assert result.value > 0
