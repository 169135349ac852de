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


def build_variant(name, **changes):
    return build({**load_option("game", name), **changes}, "game")


def deal_and_play(definition, deck, *actions):
    """Return one table with this deck after these actions."""
    cards = parse_cards(deck, definition.ranks, definition.suits)
    return deal_tables(definition, actions=actions, decks=np.array([cards], np.int8))


def check_hands(game, hands, seed):
    """Play random hands and check the invariants of each hand."""
    tables, moves = play(game, hands, seed)
    move_counts = np.zeros(hands, int)
    for move in moves:
        assert (move.records["moves"] == move_counts[move.rows]).all()
        move_counts[move.rows] += 1
    assert (move_counts <= MAX_MOVES).all()
    won, variant = tables.payoffs(), tables.records["variant"]
    assert set(variant) == set(range(len(game.variant_games)))
    for i, definition in enumerate(game.variant_games):
        for move in moves:
            is_variant = move.records["variant"] == i
            check_decisions(definition, move.records[is_variant], move.legal[is_variant])
        check_final_tables(definition, tables.records[variant == i], won[variant == i])


def check_decisions(game, records, legal):
    row, seat = np.arange(len(records)), records["to_act"]
    assert (seat < game.seats).all()
    assert not records["folded"][row, seat].any()
    # A call (or check) is always legal, a fold only facing a bet, a raise only below the cap.
    facing = records["paid"][row, seat] < records["price"]
    assert (legal[:, FOLD] == facing).all()
    assert legal[:, CALL].all()
    blind = (len(set(game.blinds)) > 1) & (records["street"] == 0)
    cap = np.array(game.max_raises)[records["street"]] + blind
    assert (legal[:, RAISE] == (records["raises"] < cap)).all()


def check_final_tables(game, records, won):
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
    # A seat that did not fold has paid the price, unless it won because all others folded.
    assert ((paid == price[:, None]) | folded | (records["live"] == 1)[:, None]).all()


@pytest.mark.parametrize("name", [name for name in KINDS if name in LIMIT])
def test_random_limit_hands_keep_invariants(name):
    check_hands(game(name), hands=2000, seed=3)


@pytest.mark.parametrize("name", ["leduc", "limit_holdem_2to9"])
def test_illegal_action_raises_and_leaves_table_unchanged(name):
    _, moves = play(game(name), 30, seed=4)
    for move in moves:
        for action in (-1, FOLD, CALL, RAISE, 3, 2**40):
            is_illegal = np.ones(len(move.rows), bool)
            if FOLD <= action <= RAISE:
                is_illegal = ~move.legal[:, action]
            if is_illegal.any():
                tables = tables_from_records(game(name), move.records[is_illegal])
                with pytest.raises(ValueError, match="illegal action"):
                    tables.step(np.full(is_illegal.sum(), action))
                assert tables.records.tobytes() == move.records[is_illegal].tobytes()


def test_finished_or_undealt_hand_rejects_actions():
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
def test_odd_chip_goes_to_first_winner(deck, won):
    """Two winners divide a pot of 3: the lower seat gets 2 chips, the other 1."""
    three_seats = build_variant("kuhn", seats=3, ranks="JQ", suits="sh")
    assert deal_and_play(three_seats, deck, CALL, CALL, CALL).payoffs().tolist() == [won]


def test_observation_identifies_infoset_in_limit_game_with_stacks():
    chips = {"blinds": [2, 4, 0], "raise_sizes": [4, 4, 8, 8], "stacks": [3, 20, 60]}
    limit = build_variant("limit_holdem_3p", **chips)
    check_observation_identifies_infoset(limit, play_records(limit, 400, seed=6))


def check_observation_identifies_infoset(game, records):
    """Check that observations are equal if and only if their information sets are equal."""
    tables = tables_from_records(game, records)
    observation_ids = np.unique(tables.observe(), axis=0, return_inverse=True)[1].ravel()
    infoset_ids = np.unique(tables.infoset_keys(), return_inverse=True)[1]
    pair_count = len(np.unique(np.stack([observation_ids, infoset_ids]), axis=1).T)
    assert pair_count == observation_ids.max() + 1 == infoset_ids.max() + 1


@pytest.mark.parametrize("name", [name for name in KINDS if name in LIMIT])
def test_observation_identifies_infoset_in_random_limit_hands(name):
    check_observation_identifies_infoset(game(name), play_records(game(name), 1500, seed=6))


def test_observation_identifies_infoset_in_whole_small_trees():
    """Only trees of up to 10,000 nodes are enumerated."""
    definitions = sample_definitions(100, seed=7, small=True)
    games = [definition for definition in definitions if count_nodes(definition, 10_000) <= 10_000]
    assert len(games) >= 25
    for small_game in [*games, game("nolimit_leduc")]:
        check_observation_identifies_infoset(small_game, GameTree(small_game).infoset_records)


def test_kuhn_observation():
    """Layout: [2 seats, 1 street, 2 raise counts, raise or call], card; the own seat is first."""
    tables = deal_and_play(kuhn(), "K J", CALL, RAISE)
    own_actions, opponent_actions, card = np.split(tables.observe()[0], [4, 8])
    assert own_actions.tolist() == [0, 1, 0, 0]  # called before any raise
    assert opponent_actions.tolist() == [1, 0, 0, 0]  # raised before any raise
    assert card.tolist() == [0, 0, 1]


def test_observe_hidden_cards_starts_left_of_the_observer():
    tables = deal_and_play(kuhn(3), "J T K")
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [0, 3]
    tables.step(np.array([CALL]))
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [3, 1]
    tables.step(np.array([CALL]))
    assert tables.observe_hidden_cards().reshape(2, 4).argmax(1).tolist() == [1, 0]
