"""Monte Carlo tree search: it does not use hidden cards, and makes certain choices."""

from __future__ import annotations

import numpy as np
import pytest
from holdem_bots import bot, hand
from random_games import game, play

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation.matches.duplicate_match import play_match
from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker.betting import CALL, FOLD, RAISE

HEADS_UP, RING, DRAWN = (game(f"limit_holdem{n}") for n in ("", "_6p", "_2to9"))


def positions(definition, hands=30, seed=0):
    _, moves = play(definition, hands, seed)
    return np.concatenate([move.records for move in moves])


def rearranged(record, definition, generator):
    """Return the table with other cards where its seat to act does not see them."""
    board = 2 * definition["seats"]
    own = 2 * int(record["to_act"]) + np.arange(2)
    shown = board + np.arange(definition["shown"][record["street"]])
    free = np.setdiff1d(np.arange(52), [*own, *shown])
    other = record.copy()
    other["deck"][free] = generator.permutation(record["deck"][free])
    for key in ("key", "draws"):
        other[key] = generator.integers(1 << 60)
    for key in ("hand", "rank"):  # what an earlier showdown may have left there
        other[key] = generator.integers(50, size=other[key].shape)
    return other


@pytest.mark.parametrize("definition", [HEADS_UP, RING, DRAWN], ids=lambda game: game.name)
def test_it_knows_no_hidden_card(definition):
    records = positions(definition)
    generator = np.random.default_rng(1)
    rules = definition.definitions[records["variant"]]
    others = np.array([rearranged(*each, generator) for each in zip(records, rules, strict=True)])
    assert (np.sort(others["deck"]) == np.arange(52)).all()
    assert (others["deck"] != records["deck"]).any(1).all()
    before = records.copy()
    player = bot("mcts", definition)
    visits = player.count_visits(records)
    assert records.tobytes() == before.tobytes()
    np.testing.assert_array_equal(player.count_visits(others), visits)
    # Its own cards do matter, and so does the seed.
    changed = records.copy()
    for i, record in enumerate(records):
        own = 2 * int(record["to_act"])
        changed["deck"][i, own] = others["deck"][i, 51]
    assert (player.count_visits(changed) != visits).any(1).mean() > 0.9
    assert (bot("mcts", definition, seed=1).count_visits(records) != visits).any(1).mean() > 0.9


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


# Won in 20,000 deals, mbb/hand, with half the 95 % interval: see docs/results/bots.md.
WON = (1269, 38)


def test_it_beats_uniform_play():
    uniform = build(load_option("player", "uniform"), "player", game=HEADS_UP)
    found = play_match(HEADS_UP, bot("mcts"), uniform, "uniform", 1000, seed=2)
    # Both are measured: five standard errors of the difference.
    assert abs(found.value - WON[0]) < 2.5 * np.hypot(found.half_width, WON[1])
    assert found.value - found.half_width > 500
