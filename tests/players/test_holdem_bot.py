"""All bots of hold'em: legal play with two to nine seats, results, errors."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot
from random_games import game, play

from poker_rl.config.plugins import load_class
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import play_match
from poker_rl.games.poker.betting import CALL, FOLD, RAISE
from poker_rl.games.poker.notation import parse_position
from poker_rl.players.bots.holdem_bot import find_smallest_raises, to_legal_action_probs

HOLDEM = [
    "tight",
    "chen",
    "sklansky",
    "rules",
    "sklansky_randomized",
    "rules_randomized",
    "pot_odds",
]
BOTS = [*HOLDEM, "mcts"]


def test_what_is_not_legal_is_a_call():
    limit = np.array([[True, True, True], [False, True, True], [True, True, False]])
    wishes = np.array([[0.5, 0.25, 0.25]] * 3)
    expected = [[0.5, 0.25, 0.25], [0, 0.75, 0.25], [0.5, 0.5, 0]]
    assert to_legal_action_probs(limit, wishes, find_smallest_raises(limit)).tolist() == expected


def test_a_bet_is_the_smallest_raise():
    no_limit = np.zeros((2, 9), bool)
    no_limit[:, [FOLD, CALL]] = True
    no_limit[0, 5:] = True  # to five chips or more
    wishes = np.array([[0.5, 0.25, 0.25]] * 2)
    raises = find_smallest_raises(no_limit)
    assert to_legal_action_probs(no_limit, wishes, raises).tolist() == [
        [0.5, 0.25, 0, 0, 0, 0.25, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0, 0, 0, 0, 0],
    ]


HOLDEM_GAMES = ["limit_holdem", "limit_holdem_2to9", "nolimit_holdem_6p", "nolimit_holdem_sizes"]


@pytest.mark.parametrize("of", HOLDEM_GAMES)
@pytest.mark.parametrize("name", BOTS)
def test_only_legal_actions_have_a_chance(name, of):
    definition = game(of)
    _, moves = play(definition, 60, seed=4)
    records = np.concatenate([move.records for move in moves])
    legal = np.concatenate([move.legal for move in moves])
    player = bot(name, definition)
    found = player.action_probs(records)
    assert found.dtype == np.float64
    assert found.shape == legal.shape
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-12)
    assert (found >= 0).all()
    assert not found[~legal].any()
    kinds = np.add.reduceat(found, [FOLD, CALL, RAISE], axis=1)
    assert (kinds.sum(0) > 0).all()  # it folds, calls and raises
    state = player.to_dict()
    again = load_class(state["_target_"]).from_dict(state, definition, "cpu")
    assert (again.action_probs(records) == found).all()


@pytest.mark.parametrize("definition", ["kuhn", "big2"])
@pytest.mark.parametrize("name", HOLDEM)
def test_other_games_are_refused(name, definition):
    with pytest.raises(
        ConfigError, match=rf"thirteen ranks and four suits, not {definition}$"
    ) as no:
        bot(name, game(definition))
    assert "\n" not in str(no.value)


# Won in 3,000 deals from five of `uniform`, mbb/hand, with half the 95 % interval.
WON = {
    "tight": (1453, 76),
    "chen": (1062, 76),
    "sklansky": (2022, 92),
    "rules": (1619, 89),
    "mcts": (6265, 132),
}


@pytest.mark.parametrize("name", WON)
def test_it_beats_five_that_play_at_random(name):
    ring = game("limit_holdem_6p")
    won, half_width = WON[name]
    found = play_match(ring, bot(name, ring), bot("uniform", ring), "uniform", 300, seed=7)
    # Both are measured: five standard errors of the difference.
    assert abs(found.value - won) < 2.5 * np.hypot(found.half_width, half_width)
    assert found.value > found.half_width


@pytest.mark.parametrize(("name", "calls"), [("limit_holdem", True), ("flop_holdem", False)])
@pytest.mark.parametrize(("hand", "board"), [("2h7h", "Kh9h4c"), ("8s7h", "5d9cKh")])
def test_a_draw_is_worth_a_call_while_a_card_is_to_come(name, calls, hand, board):
    definition = game(name)
    faced = parse_position(definition, None, hand, board, "c c / r")
    nothing = parse_position(definition, None, "2s7c", "Kh9h4c", "c c / r")
    rules = bot("rules", definition)
    assert rules.action_probs(faced).tolist() == [[0, 1, 0] if calls else [1, 0, 0]]
    assert rules.action_probs(nothing).tolist() == [[1, 0, 0]]
