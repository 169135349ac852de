"""Settings of poker variants: valid ones, and errors in one line that names the key."""

from __future__ import annotations

import numpy as np
import pytest
from random_games import NAMES, game

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.config.validation import ConfigError
from poker_rl.games.poker.fixed_limit import FixedLimitPoker
from poker_rl.games.tables import Tables

DRAWN = "limit_holdem_2to9"


def variant(name: str, changes: dict[str, object]) -> FixedLimitPoker:
    return build({**load_option("game", name), **changes}, "game")


@pytest.mark.parametrize(
    ("name", "changes", "key", "what"),
    [
        ("kuhn", {"seats": 1}, "seats", "1 is not in [2, 9]"),
        ("kuhn", {"seats": 10, "ranks": "23456789TJQ"}, "seats", "10 is not in [2, 9]"),
        ("kuhn", {"seats": 2.5}, "seats", "2.5"),
        ("kuhn", {"seats": "two"}, "seats", "two"),
        ("kuhn", {"seats": None}, "seats", "null"),
        ("kuhn", {"seats": 4}, "seats", "need 4 cards, the deck of ranks and suits holds 3"),
        ("limit_holdem", {"ranks": "AK", "suits": "sh"}, "seats", "need 9 cards"),
        ("kuhn", {"unit": ""}, "unit", "no name for a unit"),
        ("kuhn", {"unit_chips": 0}, "unit_chips", "0"),
        ("kuhn", {"ranks": "JJK"}, "ranks", "'JJK' is not 1 to 13 different characters"),
        ("kuhn", {"ranks": ""}, "ranks", "'' is not 1 to 13"),
        ("kuhn", {"ranks": "23456789TJQKAZ"}, "ranks", "is not 1 to 13"),
        ("kuhn", {"ranks": 234}, "ranks", "234"),
        ("leduc", {"suits": "ss"}, "suits", "'ss' is not 1 to 4 different characters"),
        ("leduc", {"suits": "cdhsx"}, "suits", "is not 1 to 4"),
        ("kuhn", {"hole_cards": 0}, "hole_cards", "0"),
        ("limit_holdem", {"hole_cards": 3}, "hole_cards", "3 is not 1 or 2"),
        ("kuhn", {"board_cards": []}, "board_cards", "0 streets, 1 to 4 are allowed"),
        ("limit_holdem", {"board_cards": [0, 1, 1, 1, 1]}, "board_cards", "5 streets"),
        ("limit_holdem", {"board_cards": [0, 3, 2, 1]}, "board_cards", "6 cards, at most 5"),
        ("leduc", {"board_cards": [0, -1]}, "board_cards[1]", "-1"),
        ("leduc", {"board_cards": 1}, "board_cards", "1"),
        ("kuhn", {"ante": -1}, "ante", "-1"),
        ("kuhn", {"ante": 0}, "ante", "0 chips without blinds leaves nothing to play for"),
        ("kuhn", {"blinds": [1]}, "blinds", "1 entries; one a seat, 2, or none"),
        ("kuhn", {"blinds": [1, 2, 4]}, "blinds", "3 entries; one a seat, 2, or none"),
        ("kuhn", {"blinds": [1, -2]}, "blinds[1]", "-2"),
        ("kuhn", {"openers": [2]}, "openers", "[2] names a seat that is not in 0 to 1"),
        ("kuhn", {"openers": [-1]}, "openers[0]", "-1"),
        ("leduc", {"openers": [0]}, "openers", "1 entries, board_cards has 2 streets"),
        ("leduc", {"raise_sizes": [2]}, "raise_sizes", "1 entries, board_cards has 2 streets"),
        ("leduc", {"raise_sizes": [2, 0]}, "raise_sizes[1]", "0"),
        ("leduc", {"max_raises": [2, 2, 2]}, "max_raises", "3 entries, board_cards has 2 streets"),
        ("leduc", {"max_raises": [2, -1]}, "max_raises[1]", "-1"),
        ("kuhn", {"max_raises": [96]}, "max_raises", "[96] allows hands of more than 192 actions"),
        ("kuhn", {"raise_sizes": [2**40]}, "raise_sizes", "a raise of 1,099,511,627,776 chips"),
        ("leduc", {"raise_sizes": [2**31, 1], "max_raises": [0, 1]}, "raise_sizes", "at most 1,07"),
        ("leduc", {"raise_sizes": [2**29, 1]}, "raise_sizes", "1,073,741,826 of the 1,073,741,827"),
        ("kuhn", {"ante": 2**31}, "ante", "at most 1,073,741,823"),
        ("limit_holdem", {"blinds": [2**31, 1]}, "blinds", "2,147,483,648 of the 2,147,483,"),
        ("kuhn", {"ante": [1]}, "ante", "1 entries; one a seat, 2, or one number"),
        ("kuhn", {"ante": [1, -1]}, "ante", "-1"),
        ("kuhn", {"ante": [0, 0]}, "ante", "0 chips without blinds"),
        ("kuhn", {"stacks": [1, 2, 3]}, "stacks", "3 entries; one a seat, 2, or one number"),
        ("limit_holdem", {"stacks": 1}, "stacks", "of seat 0 are less than its ante and blind, 2"),
        ("kuhn", {"ante": [0, 2], "stacks": 2}, "stacks", "2 chips of seat 1 are all its ante"),
        ("kuhn", {"stacks": 1}, "stacks", "[1, 1] leaves nobody a decision"),
        ("kuhn", {"stacks": 40_000}, "stacks", "40,000 chips; at most 32,767"),
        ("limit_holdem", {"ranks": "6789TJQKA"}, "ranking", "missing; cards from six to ace"),
        (DRAWN, {"ranks": "6789TJQKA"}, "ranking", "missing; cards from six to ace"),
        ("limit_holdem", {"ranking": "short_deck"}, "ranking", "not of 23456789TJQKA"),
        (
            "leduc",
            {"ranks": "6789TJQKA", "ranking": "short_deck"},
            "ranking",
            "five cards and more",
        ),
        ("limit_holdem", {"ranking": "short"}, "ranking", "short_deck"),
        ("kuhn", {"blind": [1, 2]}, "blind", "blinds"),
        ("kuhn", {"colour": "red"}, "colour", "colour"),
        (DRAWN, {"min_seats": 1}, "min_seats", "1 is not in [2, 9]"),
        (DRAWN, {"max_seats": 10}, "max_seats", "10 is not in [2, 9]"),
        (DRAWN, {"min_seats": 7, "max_seats": 6}, "min_seats", "is more than max_seats, 6"),
        (DRAWN, {"ranks": "JQKA", "suits": "cdhs"}, "max_seats", "6 seats and the board need 17"),
        (DRAWN, {"big_blind": 10**9}, "big_blind", "1,000,000,000 of the 1,000,000,0"),
        (DRAWN, {"small_blind": 2}, "small_blind", "2 is not less than big_blind, 2"),
        (DRAWN, {"small_blind": 0}, "small_blind", "0"),
        (DRAWN, {"raise_sizes": [2]}, "raise_sizes", "1 entries, board_cards has 4 streets"),
        (DRAWN, {"board_cards": []}, "board_cards", "0 streets, 1 to 4 are allowed"),
        (DRAWN, {"hole_cards": 3}, "hole_cards", "3 is not 1 or 2"),
        (DRAWN, {"max_raises": [20, 4, 4, 4]}, "max_raises", "hands of more than 192 actions"),
    ],
    ids=str,
)
def test_refused_in_one_line(name, changes, key, what):
    with pytest.raises(ConfigError) as refused:
        variant(name, changes)
    message = str(refused.value)
    assert message.startswith(f"game.{key}: ")
    assert what in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (name, key)
        for name in ("kuhn", DRAWN)
        for key, value in load_option("game", name).items()
        if key != "_target_" and value is not None
    ],
)
def test_every_setting_is_needed(name, key):
    node = {
        setting: value for setting, value in load_option("game", name).items() if setting != key
    }
    with pytest.raises(ConfigError, match=rf"^game\.{key}: [^\n]+$"):
        build(node, "game")


@pytest.mark.parametrize(
    "changes",
    [
        {"seats": 9, "ranks": "3456789TJQKA", "max_raises": [3]},
        {"seats": 2, "ranks": "23", "max_raises": [95]},
        {"ranks": "A", "suits": "sh"},
        {"max_raises": [0]},
        {"board_cards": [1], "suits": "sh"},
        {"board_cards": [0, 0, 0, 5], "suits": "cdhs", "openers": [0, 1, 0, 1]}
        | {"raise_sizes": [1, 2, 3, 4], "max_raises": [1, 2, 3, 4]},
        {"raise_sizes": [2**30 - 2]},
        {"ranks": "6789TJQKA", "suits": "cdhs", "board_cards": [4], "ranking": "standard"},
        {"ranks": "6789TJQKA", "suits": "cdhs", "board_cards": [4], "ranking": "short_deck"},
        {"ranks": "6789TJQKA"},
        {"stacks": [2, 1], "ante": [1, 0]},
    ],
    ids=str,
)
def test_the_limits_themselves_can_be_played(changes):
    game = variant("kuhn", changes)
    tables = Tables(game, 100, seed=1)
    tables.deal()
    generator = np.random.default_rng(1)
    most = 0
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        assert tables.observe(rows).shape == (len(rows), game.observation_size)
        assert len(np.unique(tables.infoset_keys(rows))) <= len(rows)
        legal = tables.legal_mask(rows)
        weights = legal * [0.01, 0.2, 1]  # raise while it goes
        tables.step((generator.random(legal.shape) * weights).argmax(1), rows)
        most = max(most, int(tables.records["paid"].max()))
    assert (tables.payoffs().sum(1) == 0).all()
    assert most <= game.max_chips_per_seat


@pytest.mark.parametrize("name", NAMES)
def test_a_game_is_its_settings(name):
    """Its plain values are the keys of its YAML, without those that are null."""
    settings = load_option("game", name).items()
    keys = {key for key, value in settings if key != "_target_" and value is not None}
    assert game(name).to_dict().keys() == keys
    assert type(game(name))(**game(name).to_dict()) == game(name)
    assert game(name).name == name


def test_names():
    kuhn, holdem = game("kuhn"), game("limit_holdem")
    assert [kuhn.action_name(action) for action in range(3)] == ["fold", "call", "raise"]
    tables = Tables(kuhn, 1, 0)
    tables.deal(decks=np.array([[2, 0]]))
    assert kuhn.infoset_name(tables.records[0]) == "0 K"
    tables.step(np.array([1]))
    assert kuhn.infoset_name(tables.records[0]) == "1 J c"
    tables = Tables(holdem, 1, 0)
    tables.deal(decks=np.arange(9)[None])
    for action in (2, 1):
        tables.step(np.array([action]))
    assert holdem.infoset_name(tables.records[0]) == "0 2c2d|3c3d3h rc"
