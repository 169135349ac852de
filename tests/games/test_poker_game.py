"""Settings of poker variants: valid ones, and errors in one line that names the key."""

import pytest
from random_games import NAMES, game

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option

ANY, DRAWN = "nolimit_holdem", "limit_holdem_2to9"


@pytest.mark.parametrize(
    ("name", "changes", "key", "what"),
    [
        ("kuhn", {"seats": 4}, "seats", "need 4 cards, the deck of ranks and suits holds 3"),
        ("kuhn", {"ranks": "JJK"}, "ranks", "'JJK' is not 1 to 13 different characters"),
        ("limit_holdem", {"board_cards": [0, 3, 2, 1]}, "board_cards", "6 cards, at most 5"),
        ("kuhn", {"ante": 0}, "ante", "0 chips without blinds leaves nothing to play for"),
        ("limit_holdem", {"blinds": [2**31, 1]}, "blinds[0]", "2147483648"),
        ("kuhn", {"ante": [0, 2], "stacks": 2}, "stacks", "2 chips of seat 1; ante and blind need"),
        ("limit_holdem", {"ranking": "short"}, "ranking", "short_deck"),
        (ANY, {"stacks": 1}, "stacks", "1 chips of seat 0; ante and blind need 2"),
        (ANY, {"stacks": 40_000}, "stacks", "40000 is not in [1, 32767]"),
        (ANY, {"min_bet": 1}, "min_bet", "1 is less than the blind of 2"),
        (ANY, {"bet_sizes": ["all_in", 1]}, "bet_sizes", "is not in rising order"),
        (DRAWN, {"min_seats": 7, "max_seats": 6}, "min_seats", "is more than max_seats, 6"),
    ],
    ids=str,
)
def test_refused_in_one_line(name, changes, key, what):
    with pytest.raises(ConfigError) as refused:
        build({**load_option("game", name), **changes}, "game")
    message = str(refused.value)
    assert message.startswith(f"game.{key}: ")
    assert what in message
    assert "\n" not in message


@pytest.mark.parametrize("name", NAMES)
def test_a_game_is_its_settings(name):
    """Its plain values are the keys of its YAML, without those that are null."""
    settings = load_option("game", name).items()
    keys = {key for key, value in settings if key != "_target_" and value is not None}
    assert game(name).to_dict().keys() == keys
    assert type(game(name))(**game(name).to_dict()) == game(name)
    assert game(name).name == name
