"""Rules of limit poker: order of action, caps, pots, and invariants of every hand."""

import numpy as np
import pytest
from random_games import KINDS, LIMIT, deal_tables, game, play, play_records, sample_definitions
from toy_games import kuhn

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.games import GameTree, Tables
from poker_rl.games.cards import parse_cards
from poker_rl.games.game_tree import count_nodes
from poker_rl.games.poker.table_dtypes import CALL, FOLD, MAX_MOVES, RAISE
from poker_rl.games.tables import tables_from_records


def variant(name, **changes):
    return build({**load_option("game", name), **changes}, "game")


def hand(definition, deck, *actions):
    """One table after these cards and actions."""
    cards = parse_cards(deck, definition.ranks, definition.suits)
    return deal_tables(definition, actions=actions, decks=np.array([cards], np.int8))


def check_hands(game, hands, seed):
    """Play random hands and check what must hold in all of them."""
    tables, moves = play(game, hands, seed)
    played = np.zeros(hands, int)
    for move in moves:
        assert (move.records["moves"] == played[move.rows]).all()
        played[move.rows] += 1
    assert (played <= MAX_MOVES).all()
    won, variant = tables.payoffs(), tables.records["variant"]
    assert set(variant) == set(range(len(game.games_by_seat_count)))
    for i, each in enumerate(game.games_by_seat_count):
        for move in moves:
            mine = move.records["variant"] == i
            check_decisions(each, move.records[mine], move.legal[mine])
        check_ends(each, tables.records[variant == i], won[variant == i])


def check_decisions(game, records, legal):
    row, seat = np.arange(len(records)), records["to_act"]
    assert (seat < game.seats).all()
    assert not records["folded"][row, seat].any()
    # Calling is always allowed, folding only facing a bet, raising up to the cap.
    facing = records["paid"][row, seat] < records["price"]
    assert (legal[:, FOLD] == facing).all()
    assert legal[:, CALL].all()
    blind = (len(set(game.blinds)) > 1) & (records["street"] == 0)
    cap = np.array(game.max_raises)[records["street"]] + blind
    assert (legal[:, RAISE] == (records["raises"] < cap)).all()


def check_ends(game, records, won):
    decks = records["deck"][:, : game.cards_dealt]
    assert ((decks >= 0) & (decks < game.deck_size)).all()
    assert (np.diff(np.sort(decks), axis=1) > 0).all()  # no card twice
    assert not won[:, game.seats :].any()
    won, paid = won[:, : game.seats], records["paid"][:, : game.seats]
    folded = records["folded"][:, : game.seats] != 0
    price = records["price"]
    assert (won.sum(1) == 0).all()
    assert (won[folded] == -paid[folded]).all()
    assert (won >= -paid).all()
    assert (paid <= price[:, None]).all()
    assert (price <= game.max_chips_per_seat).all()
    assert (records["live"] == (~folded).sum(1)).all()
    # Whoever stayed paid the price, but for those the last fold spared it.
    assert ((paid == price[:, None]) | folded | (records["live"] == 1)[:, None]).all()


@pytest.mark.parametrize("name", [name for name in KINDS if name in LIMIT])
def test_invariants(name):
    check_hands(game(name), hands=2000, seed=3)


@pytest.mark.parametrize("name", ["leduc", "limit_holdem_2to9"])
def test_an_illegal_action_raises_and_changes_nothing(name):
    _, moves = play(game(name), 30, seed=4)
    for move in moves:
        for action in (-1, FOLD, CALL, RAISE, 3, 2**40):
            wrong = np.ones(len(move.rows), bool)
            if FOLD <= action <= RAISE:
                wrong = ~move.legal[:, action]
            if wrong.any():
                tables = tables_from_records(game(name), move.records[wrong])
                with pytest.raises(ValueError, match="illegal action"):
                    tables.step(np.full(wrong.sum(), action))
                assert tables.records.tobytes() == move.records[wrong].tobytes()


def test_a_finished_or_undealt_hand_takes_no_action():
    tables = Tables(kuhn(), 1, 0)
    with pytest.raises(ValueError, match="illegal action"):
        tables.step(np.array([CALL]))
    tables.deal()
    for action in (RAISE, FOLD):
        tables.step(np.array([action]))
    before = tables.payoffs()
    with pytest.raises(ValueError, match="illegal action"):
        tables.step(np.array([CALL]))
    assert (tables.payoffs() == before).all()


@pytest.mark.parametrize(
    ("deck", "won"), [("Qs Qh Js", [1, 0, -1]), ("Qs Js Qh", [1, -1, 0]), ("Js Qs Qh", [-1, 1, 0])]
)
def test_an_odd_chip_goes_to_the_first_winner(deck, won):
    """A pot of 3 for two: 2 to the first seat, 1 to the other."""
    three = variant("kuhn", seats=3, ranks="JQ", suits="sh")
    assert hand(three, deck, CALL, CALL, CALL).payoffs().tolist() == [won]


def test_observations_with_stacks():
    chips = {"blinds": [2, 4, 0], "raise_sizes": [4, 4, 8, 8], "stacks": [3, 20, 60]}
    limit = variant("limit_holdem_3p", **chips)
    check_observations(limit, play_records(limit, 400, seed=6))


def check_observations(game, records):
    """Two decisions look alike exactly if their information sets are the same."""
    tables = tables_from_records(game, records)
    observation = np.unique(tables.observe(), axis=0, return_inverse=True)[1].ravel()
    infoset = np.unique(tables.infoset_keys(), return_inverse=True)[1]
    pairs = len(np.unique(np.stack([observation, infoset]), axis=1).T)
    assert pairs == observation.max() + 1 == infoset.max() + 1


@pytest.mark.parametrize("name", [name for name in KINDS if name in LIMIT])
def test_observations_of_random_hands(name):
    check_observations(game(name), play_records(game(name), 1500, seed=6))


def test_observations_of_small_definitions():
    """Through the whole tree, where it is small enough."""
    drawn = sample_definitions(100, seed=7, small=True)
    games = [one for one in drawn if count_nodes(one, 10_000) <= 10_000]
    assert len(games) >= 25
    for each in [*games, game("nolimit_leduc")]:
        check_observations(each, GameTree(each).infoset_records)


def test_kuhn_observation():
    """[2 seats, 1 street, 2 raise counts, raise or call], own card; seats from the observer's."""
    tables = hand(kuhn(), "K J", CALL, RAISE)
    mine, other, card = np.split(tables.observe()[0], [4, 8])
    assert mine.tolist() == [0, 1, 0, 0]  # called before any raise
    assert other.tolist() == [1, 0, 0, 0]  # raised before any raise
    assert card.tolist() == [0, 0, 1]


def test_observe_hidden_cards():
    """The others' cards, from the observer's left."""
    tables = hand(kuhn(3), "J T K")
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [0, 3]
    tables.step(np.array([CALL]))
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [3, 1]
    tables.step(np.array([CALL]))
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [1, 0]
