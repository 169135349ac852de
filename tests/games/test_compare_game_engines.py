"""Rules compared move by move with OpenSpiel, PokerKit and saved transcripts.

The seat to act, the legal actions and the payoffs have to be equal.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from compare_game_engines import (
    GAMES,
    LIMIT_STACKS,
    SHORT_DECK,
    EnginesDifferError,
    compare_engines,
    create_open_spiel_replayer,
    has_three_card_hands,
    load_universal_poker,
    map_to_open_spiel_kuhn_actions,
    replay_in_pokerkit,
    sample_hands,
    sample_stack_games,
)
from random_games import NAMES, game, sample_definitions
from toy_games import kuhn, label, leduc
from write_game_transcripts import HEADER_TEXTS, format_legal_moves

from poker_rl.games import Tables
from poker_rl.games.cards import parse_cards

DEFINITIONS = [
    drawn for drawn in sample_definitions(count=120, seed=2) if not has_three_card_hands(drawn)
]
HANDS_PER_DEFINITION = 40


@pytest.mark.parametrize("definition", [kuhn(2), kuhn(3)], ids=label)
def test_kuhn_matches_openspiel(definition):
    reference = pyspiel.load_game("kuhn_poker", {"players": definition.seats})
    engine = create_open_spiel_replayer(reference, map_to_open_spiel_kuhn_actions)
    compare_engines(definition, engine, hands=500, seed=1)


@pytest.mark.parametrize("definition", [leduc(2), leduc(3)], ids=label)
def test_leduc_matches_openspiel(definition):
    reference = pyspiel.load_game("leduc_poker", {"players": definition.seats})
    compare_engines(definition, create_open_spiel_replayer(reference), hands=500, seed=1)


def test_limit_holdem_matches_openspiel():
    definition = game("limit_holdem")
    engine = create_open_spiel_replayer(load_universal_poker(definition))
    counts = compare_engines(definition, engine, hands=1000, seed=1)
    assert counts["hands"] == 1000
    assert counts["split pots"] > 50


def test_flop_holdem_matches_openspiel():
    """The game has the parameters of published exploitabilities (Deep CFR, 2019)."""
    definition = replace(game("flop_holdem"), blinds=[100, 50], raise_sizes=[100, 100])
    reference = load_universal_poker(definition)
    settings = {"blind": "100 50", "firstPlayer": "2 1", "raiseSize": "100 100", "maxRaises": "3 3"}
    assert settings.items() <= reference.get_parameters().items()
    counts = compare_engines(definition, create_open_spiel_replayer(reference), hands=500, seed=1)
    assert counts["showdowns"] > 100


@pytest.mark.parametrize("name", ["leduc_13", "leduc_4_streets"])
def test_larger_leduc_matches_openspiel(name):
    engine = create_open_spiel_replayer(load_universal_poker(game(name)))
    compare_engines(game(name), engine, hands=300, seed=1)


@pytest.mark.parametrize("first", range(0, len(DEFINITIONS), 30))
def test_random_definitions_match_openspiel(first):
    for seed, definition in enumerate(DEFINITIONS[first : first + 30], first):
        engine = create_open_spiel_replayer(load_universal_poker(definition))
        compare_engines(definition, engine, HANDS_PER_DEFINITION, seed)


@pytest.mark.parametrize("name", GAMES)
def test_holdem_matches_pokerkit(name):
    counts = compare_engines(game(name), replay_in_pokerkit, hands=200, seed=2)
    assert counts["hands"] == 200
    assert counts["showdowns"] > 60
    assert counts["split pots"] > 10
    if game(name).seats > 2:  # heads-up, both have paid the same, so no chip is odd
        assert counts["odd chips"] > 0


def test_rhode_island_holdem_matches_pokerkit():
    counts = compare_engines(game("rhode_island"), replay_in_pokerkit, hands=500, seed=2)
    assert counts["hands"] == 500
    assert counts["showdowns"] > 150
    assert counts["split pots"] > 5  # hands of three cards rarely tie


@pytest.mark.parametrize(
    ("hands", "games"),
    [*((10, (40, n)) for n in range(3)), (8, (32, 5, LIMIT_STACKS)), (8, (32, 5, SHORT_DECK))],
)
def test_holdem_with_random_stacks_and_antes_matches_pokerkit(hands, games):
    """Games: no-limit with and without `short_bets_reopen`, limit, short deck; 2 to 9 seats."""
    counts, total = Counter(), games[0] * hands
    for i, definition in enumerate(sample_stack_games(*games)):
        counts += compare_engines(definition, replay_in_pokerkit, hands=hands, seed=i)
    assert counts["hands"] == total
    assert counts["all-ins"] > total
    assert counts["split pots"] > total / 10


def test_comparison_detects_wrong_cards_seats_actions_and_chips():
    """Without this test, a comparison that never fails would not be noticed."""
    definition = game("limit_holdem")
    replay_in_openspiel = create_open_spiel_replayer(load_universal_poker(definition))
    hand = next(h for h in sample_hands(definition, 50, seed=3) if h.showdown and h.won[0])
    swapped = [*hand.deck[2:4], *hand.deck[:2], *hand.deck[4:]]
    first, *rest = hand.decisions
    for engine in (replay_in_pokerkit, replay_in_openspiel):
        engine(hand)
        for changes, difference in [
            ({"deck": swapped}, "chips won"),
            ({"decisions": [first._replace(seat=0), *rest]}, "seat to act"),
            ({"decisions": [first._replace(legal=[1, 2]), *rest]}, "legal actions"),
            ({"decisions": hand.decisions[:-1]}, "the hand is over"),
        ]:
            with pytest.raises(EnginesDifferError, match=difference):
                engine(hand._replace(**changes))


TRANSCRIPT_FOLDER = Path(__file__).parent / "transcripts"


def test_every_game_has_a_transcript():
    assert sorted(path.stem for path in TRANSCRIPT_FOLDER.glob("*.txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_transcript_replays_to_the_same_states_and_payoffs(name):
    definition = game(name)
    tables = Tables(definition, 1, 0)
    hands, played_actions = 0, set()
    for line in (TRANSCRIPT_FOLDER / f"{name}.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "hand":
            deck = parse_cards(rest, definition.ranks, definition.suits)
            variant = definition.definitions["dealt"].tolist().index(len(deck))
            tables.deal(decks=np.array([deck]), variants=variant)
        elif word == "won":
            assert tables.records["over"][0]
            won = [int(chips) for chips in rest.split()]
            assert tables.payoffs()[0].tolist() == won + [0] * (definition.seats - len(won))
            hands += 1
        else:
            infoset, standing, legal, ones, action = line.split(" | ")
            record = tables.records[0]
            assert definition.infoset_name(record) == infoset
            counts = [int(n) for n in standing.split()]
            assert tables.gather_definitions()["seats"] == len(counts)
            (field,) = HEADER_TEXTS.keys() & set(definition.table_dtype.names)
            assert record[field][: len(counts)].tolist() == counts
            legal_moves = np.flatnonzero(tables.legal_mask()[0])
            moves = {definition.move_name(record, a): a for a in legal_moves}
            assert format_legal_moves(list(moves)) == legal
            assert np.flatnonzero(tables.observe()[0]).tolist() == [int(n) for n in ones.split()]
            tables.step(np.array([moves[action]]))
            played_actions.add(definition.action_name(moves[action]))
    assert hands >= 5
    actions = {definition.action_name(action) for action in range(definition.action_count)}
    assert played_actions == actions or len(played_actions) > 12
