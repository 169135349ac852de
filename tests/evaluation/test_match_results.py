"""Playing styles and returns of matches, counted by hand and for bots whose hands are known."""

from __future__ import annotations

import numpy as np
import pytest
from big2_tables import BIG2
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, loader
from random_games import game

from poker_rl.evaluation.matches.match_results import ReturnDistribution, measure_match
from poker_rl.evaluation.matches.playing_style import STYLE_UNITS, StyleCounter, is_holdem
from poker_rl.evaluation.result import Result
from poker_rl.games.poker.betting import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables

RING, DRAWN = game("limit_holdem_3p"), game("limit_holdem_2to9")
ACTIONS = {"f": FOLD, "c": CALL, "r": RAISE}


def count(definition, *hands, variants=0):
    """The styles of hands, each the player's seat and the actions: `0 rf`."""
    tables = Tables(definition, len(hands), seed=0)
    tables.deal()
    width = int(definition.definitions["dealt"][variants].max())
    deck = tables.records["deck"][:, :width].copy()
    tables.deal(decks=deck, variants=variants)
    for row, hand in enumerate(hands):
        for letter in hand.split()[1]:
            tables.step(np.array([ACTIONS[letter]]), np.array([row]))
    assert tables.records["over"].all()
    before = tables.records.copy()
    counted = StyleCounter()
    counted.add_hands(tables, np.array([int(hand.split()[0]) for hand in hands]))
    assert (tables.records == before).all()
    return group_by_player(counted.list_results("us", "them"))


def group_by_player(results):
    """Return the statistics of each player in the order of `STYLE_UNITS`."""
    found = {}
    for result in results:
        found.setdefault(result.player, {})[result.measure] = result.value
    return {player: tuple(map(values.get, STYLE_UNITS)) for player, values in found.items()}


@pytest.mark.parametrize(
    ("hand", "button", "big_blind"),
    [
        ("1 f", (1, 0, 0, None, 0), (1, 0, 0, None, 0)),
        # Completing the small blind is a call of one's own will, checking the big blind is not.
        ("1 cccccccc", (1, 1, 0, 0, 1), (1, 0, 0, None, 1)),
        ("1 rf", (1, 1, 1, None, 0), (1, 0, 0, None, 0)),
        ("1 rc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 0, 0, 1)),
        ("1 crc" + "cc" * 3, (1, 1, 0, 0, 1), (1, 1, 1, None, 1)),
        # Raises before the flop count once as PFR, and all of them as aggression.
        ("1 rrrc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 1, 1, 1)),
        # A bet on the flop and a raise of it: no call of the button's, whose opponent folds.
        ("1 cc" + "rrf", (1, 1, 0, 1, 0), (1, 0, 0, None, 0)),
        ("1 cc" + "crc" + "cc" + "crc", (1, 1, 0, 2, 1), (1, 0, 0, 0, 1)),
    ],
)
def test_one_hand(hand, button, big_blind):
    styles = count(HOLDEM, hand)
    assert styles["us"] == pytest.approx(button)
    assert styles["them"] == pytest.approx(big_blind)


def test_only_holdem_has_a_flop():
    assert [is_holdem(each) for each in (HOLDEM, RING, DRAWN, KUHN, LEDUC)] == [True] * 3 + [
        False
    ] * 2
    raises, calls = (loader(LEDUC)(name) for name in ("raise", "call"))
    assert not measure_match(LEDUC, None, "raise", raises, "call", calls, 100, 0, None).styles


def count_returns(game, player, other, deals):
    load = loader(game)
    match = measure_match(game, None, player, load(player), other, load(other), deals, 0, None)
    winnings, win_rate = match.results
    return winnings, win_rate, match.distribution


def test_a_player_that_always_bets_wins_every_hand_of_one_that_folds():
    _, win_rate, found = count_returns(KUHN_3P, "raise", "fold", 50)
    assert found.returns == [2]
    assert found.hand_counts == [150]
    assert win_rate == Result("raise", "hands_won/fold", 1, 0, "of hands", "against fold", 50)
    _, win_rate, found = count_returns(HOLDEM, "fold", "raise", 50)
    # Each blind on half the hands.
    assert (found.returns, found.hand_counts) == ([-1, -0.5], [50, 50])
    assert (win_rate.value, found.unit) == (0, "big blind")


def test_returns_sum_to_the_winnings():
    winnings, win_rate, found = count_returns(BIG2, "lowest", "uniform", 100)
    returns, hands = np.array(found.returns), np.array(found.hand_counts)
    assert hands.sum() == 400
    assert returns @ hands / 400 == pytest.approx(winnings.value)
    assert win_rate.value == pytest.approx(hands[returns > 0].sum() / 400)
    assert not np.any(returns == 0)
    assert returns.min() >= -13
    assert returns.max() <= 39
    # A share p of n hands deviates by sqrt(p (1 - p) / n); those of a deal are nearly independent.
    p = win_rate.value
    assert win_rate.half_width == pytest.approx(1.96 * (p * (1 - p) / 400) ** 0.5, rel=0.4)


def test_percentiles():
    distribution = ReturnDistribution("us", "x", "point", [-2, -1, 3], [50, 20, 30])
    assert distribution.compute_percentiles() == [-2, -2, -2, 3, 3]
    results = distribution.list_quantile_results()
    assert [result.value for result in results] == [-2, -2, -2, -2, 3, 3, 3]
    assert results[1] == Result("us", "won_p5/x", -2, None, "point", "against x")
