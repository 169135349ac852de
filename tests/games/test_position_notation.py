"""Positions in poker notation."""

import pytest
from random_games import KINDS, POKER, game, play

from poker_rl.config import ConfigError
from poker_rl.games.poker.position_notation import parse_position

LIMIT, NL, SIZES = "limit_holdem", "nolimit_holdem", "nolimit_holdem_20_sizes"


@pytest.mark.parametrize("name", [name for name in KINDS if name in POKER])
def test_transcript_notation_is_parsed_to_the_same_position(name):
    """All fields but unknown cards, random state and scratch memory are equal, in random hands."""
    definition = game(name)
    has_variable_seats = len(definition.definitions) > 1
    for move in play(definition, 6, seed=1)[1]:
        for record in move.records:
            variant = definition.variant_games[record["variant"]]
            expected = variant.infoset_name(record)
            _, cards, line = (*expected.split(" "), "")[:3]
            hand, _, board = cards.partition("|")
            seats = variant.seats if has_variable_seats else None
            (parsed,) = parse_position(definition, seats, hand, board, line)
            assert variant.infoset_name(parsed) == expected
            deck = parsed["deck"][: variant.cards_dealt].tolist()
            assert len(set(deck)) == len(deck)
            for field in record.dtype.names:
                if field not in ("key", "draws", "deck", "hand", "rank", "mark"):
                    assert (parsed[field] == record[field]).all(), field


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "expected"),
    [
        (LIMIT, "As Kd", "Qs7h2c", "raise call/bet,raise", "0 AsKd|Qs7h2c rcrr"),
        ("kuhn", "K", "", "k b", "0 K cr"),
        (SIZES, "AsKd", "", "raise_0.5 raise_all_in", "1 AsKd r4r40"),
        (SIZES, "AsKd", "", "r4 r12", "1 AsKd r4r12"),
        (NL, "AsKd", "", "r6h", "0 AsKd r6"),
        ("nolimit_leduc", "Ks", "", "r3s", "1 Ks r4"),
    ],
)
def test_accepted_spellings_of_a_position(name, hand, board, actions, expected):
    (parsed,) = parse_position(game(name), None, hand, board, actions)
    assert game(name).infoset_name(parsed) == expected


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "count"),
    [
        (LIMIT, "KAs", "", "", 4),
        (LIMIT, "22", "", "", 6),
        (LIMIT, "AKs", "As7h2c", "rc", 3),
        ("leduc", "K", "Kh", "cc", 1),
    ],
)
def test_hand_class_expands_to_all_its_combinations(name, hand, board, actions, count):
    definition = game(name)
    parsed = parse_position(definition, None, hand, board, actions)
    combos = {definition.infoset_name(record).split(" ")[1].split("|")[0] for record in parsed}
    assert len(combos) == len(parsed) == count
    ranks = sorted(hand.replace(" ", "")[: definition.hole_cards])
    assert all(sorted(cards[::2]) == ranks for cards in combos)
    if hand[-1] in "so":
        assert all((cards[1] == cards[3]) == (hand[-1] == "s") for cards in combos)


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "message"),
    [
        (LIMIT, "AsKd", "", "rrrr", "actions: action 4, r: is not allowed here; allowed: f, c"),
        (LIMIT, "AsKd", "", "c f", "action 2, f: is not allowed here; allowed: c, r"),
        (LIMIT, "AsKd", "", "r f c", "action 3, c: the hand is over before it"),
        (LIMIT, "AsAs", "", "", "hand: 'AsAs' has a card twice"),
        (LIMIT, "AsKx", "", "", "hand: 'Kx' in 'AsKx' is no card; a card is a rank of 2345"),
        (NL, "AsKd", "Qs7h2c", "r6 c / x b6", "action 4, b6: .* r8 to r200 .* r2s to r194s on"),
        (NL, "AsKd", "", "r", "action 1, r: say to how many chips; allowed: f, c, r4 to r200"),
    ],
)
def test_error_of_an_invalid_position_names_the_wrong_part(name, hand, board, actions, message):
    with pytest.raises(ConfigError, match=message):
        parse_position(game(name), None, hand, board, actions)
