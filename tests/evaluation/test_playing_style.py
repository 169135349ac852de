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
    counted = StyleCounter(definition)
    counted.add_hands(tables, np.array([int(hand.split()[0]) for hand in hands]))
    assert (tables.records == before).all()
    return by_hands(counted.list_results("us", "them"))


def by_hands(results):
    """The statistics by player, number of seats and seat, in the order of `STYLE_UNITS`."""
    found = {}
    for result in results:
        name, *parts = result.measure.split("/")
        place = dict(part.split("_") for part in parts)
        seats, seat = (int(place[key]) if key in place else None for key in ("seats", "seat"))
        found.setdefault((result.player, seats, seat), {})[name] = result.value
    return {key: tuple(map(values.get, STYLE_UNITS)) for key, values in found.items()}


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
    assert styles["us", None, None] == styles["us", None, 1] == pytest.approx(button)
    assert styles["them", None, None] == pytest.approx(big_blind)
    assert ("them", None, 0) in styles
    assert ("us", None, 0) not in styles  # no hand there


def test_three_players_by_seat():
    styles = count(
        RING,
        "0 rcc" + "ccc" * 3,  # the button raises, both blinds call, all show down
        "0 fcc" + "rf",
        "1 ff",
        "2 rff",
    )
    assert styles["us", None, 0] == (2, 1, 0, 0.5, 0.5)
    assert styles["us", None, 1] == (1, 0, 0, None, 0)
    assert styles["us", None, 2] == (1, 1, 1, None, 0)
    assert styles["us", None, None] == (4, 0.75, 0.25, 1, 0.25)
    # The others hold the other two seats of each hand.
    assert styles["them", None, 2] == (3, 1 / 3, 1 / 3, None, 1 / 3)
    assert styles["them", None, None][0] == 8


def test_by_number_of_seats():
    two, four = 0, 2  # records of the game with two seats and with four
    styles = count(DRAWN, "1 rf", "1 ffrf", variants=np.array([two, four]))
    assert styles["us", 2, None] == styles["us", 2, 1] == (1, 1, 1, None, 0)
    assert styles["us", 4, 1] == (1, 0, 0, None, 0)
    assert styles["them", 4, 0] == (1, 1, 1, None, 0)
    assert styles["us", None, None] == (2, 0.5, 0.5, None, 0)
    assert ("us", 3, None) not in styles


def test_bots_show_what_they_do():
    load = loader(DRAWN)
    calls, folds = (
        measure_match(DRAWN, None, "raise", load("raise"), name, load(name), 200, 0, None).styles
        for name in ("call", "fold")
    )
    both = by_hands(calls)
    hands_of_all, *shares = both["raise", None, None]
    # One hand of the player's for each rotation of each deal, n - 1 of the others'.
    hands = {n: both["raise", n, None][0] for n in range(2, 10)}
    assert hands_of_all == sum(hands.values())
    assert both["call", None, None][0] == sum((n - 1) * count for n, count in hands.items())
    for n, dealt in hands.items():
        assert [both["raise", n, seat][0] for seat in range(n)] == [dealt // n] * n
    assert shares == [1, 1, None, 1]
    assert both["call", None, None][1:] == (1, 0, 0, 1)
    assert by_hands(folds)["raise", None, None][-1] == 0

    rows = [*calls, *folds]
    values = {(row.player, row.kind, row.measure): row.value for row in rows}
    assert values["raise", "against call", "vpip/seats_6/seat_5"] == 1
    assert values["call", "against raise", "hands"] == both["call", None, None][0]
    assert ("fold", "against raise", "aggression") not in values


def test_only_holdem_has_a_flop():
    assert [is_holdem(each) for each in (HOLDEM, RING, DRAWN, KUHN, LEDUC)] == [True] * 3 + [
        False
    ] * 2
    raises, calls = (loader(LEDUC)(name) for name in ("raise", "call"))
    assert not measure_match(LEDUC, None, "raise", raises, "call", calls, 100, 0, None).styles
