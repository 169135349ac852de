"""The bot that plays the lowest legal hand of Big 2."""

from __future__ import annotations

import pytest
from big2_tables import BIG2, make_tables, play_moves
from evaluations import HOLDEM, loader

from poker_rl.config.validation import ConfigError


def move(tables):
    probs = loader(BIG2)("lowest").action_probs(tables.records)
    assert sorted(probs[0])[-2:] == [0, 1]
    return BIG2.move_name(tables.records[0], int(probs.argmax()))


@pytest.mark.parametrize(
    ("led", "own", "lowest"),
    [
        ("4d", "3c4h9d", "4h"),
        ("2s", "3c4h9d", "pass"),
        ("4d4h", "3c3s5d5c5h9d", "5d5c"),
        # By the higher card of a pair, though 5d5s is the earlier action.
        ("4d4h", "5d5h5s9d", "5d5h"),
        ("4d4c4h", "3d3c3h5d5c5h5s9d", "5d5c5h"),
        # Two pair by the higher pair; four of a kind only if it must.
        ("3d3c4d4c", "5d5c5h5s6d6c9d", "5d5c6d6c"),
        ("3d3c2d2s", "5d5c5h5s6d6c9d", "5d5c5h5s"),
        # A straight before a flush, which is the earlier action, and that before a full house.
        ("3d4c5d6c7s", "3h4h5h6h9h7d8d9cTcKs", "4h5h6h7d8d"),
        ("3d4d5d6d8d", "3h4h5h6h9h3c3s4cKs", "3h4h5h6h9h"),
    ],
)
def test_the_lowest_legal_combination_is_played(led, own, lowest):
    assert move(play_moves(make_tables(led + "Kh", own), led)) == lowest


def test_bots_of_other_games_are_refused():
    with pytest.raises(ConfigError, match=r"^lowest: plays Big 2, not limit_holdem$"):
        loader(HOLDEM)("lowest")
    for name in ("call", "raise", "fold"):
        with pytest.raises(
            ConfigError, match=rf"^{name}\.prefer: {name}[^\n]* no action of big2: 1, 2"
        ):
            loader(BIG2)(name)
    for name in ("tight", "equilibrium", "chen", "sklansky", "rules", "mcts"):
        with pytest.raises(ConfigError, match=rf"^{name}: [^\n]*big2[^\n]*$"):
            loader(BIG2)(name)
