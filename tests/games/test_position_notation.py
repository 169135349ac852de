"""Positions in poker notation."""

import pytest
from random_games import KINDS, POKER, game, play

from poker_rl.config import ConfigError
from poker_rl.games.poker.position_notation import parse_position

LIMIT, ANY, SIZES = "limit_holdem", "nolimit_holdem", "nolimit_holdem_20_sizes"


@pytest.mark.parametrize("name", [name for name in KINDS if name in POKER])
def test_what_a_transcript_tells_is_the_position_it_is_of(name):
    """At every decision of random hands, with the letters joined; all but unknown cards is back."""
    definition = game(name)
    drawn = len(definition.definitions) > 1
    for move in play(definition, 6, seed=1)[1]:
        for record in move.records:
            played = definition.games_by_seat_count[record["variant"]]
            expected = played.infoset_name(record)
            _, cards, line = (*expected.split(" "), "")[:3]
            hand, _, board = cards.partition("|")
            seats = played.seats if drawn else None
            (found,) = parse_position(definition, seats, hand, board, line)
            assert played.infoset_name(found) == expected
            deck = found["deck"][: played.cards_dealt].tolist()
            assert len(set(deck)) == len(deck)
            for field in record.dtype.names:
                if field not in ("key", "draws", "deck", "hand", "rank", "mark"):
                    assert (found[field] == record[field]).all(), field


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "expected"),
    [
        (LIMIT, "As Kd", "Qs7h2c", "raise call/bet,raise", "0 AsKd|Qs7h2c rcrr"),
        ("kuhn", "K", "", "k b", "0 K cr"),
        (SIZES, "AsKd", "", "raise_0.5 raise_all_in", "1 AsKd r4r40"),
        (SIZES, "AsKd", "", "r4 r12", "1 AsKd r4r12"),
        (ANY, "AsKd", "", "r6h", "0 AsKd r6"),
        ("nolimit_leduc", "Ks", "", "r3s", "1 Ks r4"),
    ],
)
def test_ways_to_write_a_position(name, hand, board, actions, expected):
    (found,) = parse_position(game(name), None, hand, board, actions)
    assert game(name).infoset_name(found) == expected


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "count"),
    [
        (LIMIT, "KAs", "", "", 4),
        (LIMIT, "22", "", "", 6),
        (LIMIT, "AKs", "As7h2c", "rc", 3),
        ("leduc", "K", "Kh", "cc", 1),
    ],
)
def test_a_class_of_hands_is_all_its_combinations(name, hand, board, actions, count):
    definition = game(name)
    found = parse_position(definition, None, hand, board, actions)
    words = {definition.infoset_name(record).split(" ")[1].split("|")[0] for record in found}
    assert len(words) == len(found) == count
    held = sorted(hand.replace(" ", "")[: definition.hole_cards])
    assert all(sorted(word[::2]) == held for word in words)
    if hand[-1] in "so":
        assert all((word[1] == word[3]) == (hand[-1] == "s") for word in words)


@pytest.mark.parametrize(
    ("name", "hand", "board", "actions", "words"),
    [
        (LIMIT, "AsKd", "", "rrrr", "actions: action 4, r: is not allowed here; allowed: f, c"),
        (LIMIT, "AsKd", "", "c f", "action 2, f: is not allowed here; allowed: c, r"),
        (LIMIT, "AsKd", "", "r f c", "action 3, c: the hand is over before it"),
        (LIMIT, "AsAs", "", "", "hand: 'AsAs' has a card twice"),
        (LIMIT, "AsKx", "", "", "hand: 'Kx' in 'AsKx' is no card; a card is a rank of 2345"),
        (ANY, "AsKd", "Qs7h2c", "r6 c / x b6", "action 4, b6: .* r8 to r200 .* r2s to r194s on"),
        (ANY, "AsKd", "", "r", "action 1, r: say to how many chips; allowed: f, c, r4 to r200"),
    ],
)
def test_what_is_no_position_is_refused_where_it_is_wrong(name, hand, board, actions, words):
    with pytest.raises(ConfigError, match=words):
        parse_position(game(name), None, hand, board, actions)
