"""Monte Carlo tree search: it does not use hidden cards, and makes certain choices."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot, hand
from random_games import game, play

from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker.betting import CALL, FOLD, RAISE

HEADS_UP, RING, DRAWN = (game(f"limit_holdem{n}") for n in ("", "_6p", "_2to9"))


def positions(definition, hands=30, seed=0):
    _, moves = play(definition, hands, seed)
    return np.concatenate([move.records for move in moves])


@pytest.mark.parametrize("simulations", [1, 7, 200])
def test_visits(simulations):
    records = positions(DRAWN)
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


RIVER = [CALL] * 6


@pytest.mark.parametrize(
    ("own", "board", "expected"),
    [
        ("AsKs", "QsJsTs 2d 3c", RAISE),  # nothing beats it
        ("2s3d", "AhKcQd 9h 8s", FOLD),  # it beats nothing
    ],
)
def test_river(own, board, expected):
    table = hand(f"4c4d {own} {board}", *RIVER, RAISE)
    for seed in range(10):
        found = bot("mcts", simulations=1000, seed=seed).action_probs(table)[0]
        assert found[expected] == 1
