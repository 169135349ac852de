"""Style counts: hands played by hand, and what the simplest bots must show."""

from __future__ import annotations

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, LEDUC, loader
from random_games import game

from poker_rl.evaluation.matches.match_results import measure_match
from poker_rl.evaluation.matches.playing_style import STYLE_UNITS, StyleCounter, is_holdem
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
