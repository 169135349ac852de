"""Settings of poker variants: valid ones, and errors of one line that name the key."""

import pytest
from random_games import NAMES, game

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option

NO_LIMIT, SEATS_2TO9 = "nolimit_holdem", "limit_holdem_2to9"


@pytest.mark.parametrize(
    ("name", "changes", "key", "reason"),
    [
        ("kuhn", {"seats": 4}, "seats", "need 4 cards, the deck of ranks and suits holds 3"),
        ("kuhn", {"ranks": "JJK"}, "ranks", "'JJK' is not 1 to 13 different characters"),
        ("limit_holdem", {"board_cards": [0, 3, 2, 1]}, "board_cards", "6 cards, at most 5"),
        ("kuhn", {"ante": 0}, "ante", "0 chips without blinds leaves nothing to play for"),
        ("limit_holdem", {"blinds": [2**31, 1]}, "blinds[0]", "2147483648"),
        ("kuhn", {"ante": [0, 2], "stacks": 2}, "stacks", "2 chips of seat 1; ante and blind need"),
        ("limit_holdem", {"ranking": "short"}, "ranking", "short_deck"),
        (NO_LIMIT, {"stacks": 1}, "stacks", "1 chips of seat 0; ante and blind need 2"),
        (NO_LIMIT, {"stacks": 40_000}, "stacks", "40000 is not in [1, 32767]"),
        (NO_LIMIT, {"min_bet": 1}, "min_bet", "1 is less than the blind of 2"),
        (NO_LIMIT, {"bet_sizes": ["all_in", 1]}, "bet_sizes", "is not in rising order"),
        (SEATS_2TO9, {"min_seats": 7, "max_seats": 6}, "min_seats", "is more than max_seats, 6"),
    ],
    ids=str,
)
def test_invalid_setting_error_names_its_key_in_one_line(name, changes, key, reason):
    with pytest.raises(ConfigError) as error:
        build({**load_option("game", name), **changes}, "game")
    message = str(error.value)
    assert message.startswith(f"game.{key}: ")
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize("name", NAMES)
def test_to_dict_returns_the_settings_of_a_game(name):
    """Settings that are null in the YAML file are left out."""
    settings = load_option("game", name).items()
    keys = {key for key, value in settings if key != "_target_" and value is not None}
    assert game(name).to_dict().keys() == keys
    assert type(game(name))(**game(name).to_dict()) == game(name)
    assert game(name).name == name
