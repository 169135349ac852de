"""Exact exploitability by the public tree: known values, and equality with the enumerated tree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch
from evaluations import Policies, loader, random_policies
from random_games import game
from toy_games import kuhn, leduc

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.config.settings import Refused
from poker_rl.evaluation.exploitability import best_response_values, values
from poker_rl.evaluation.public_tree import AskedTree
from poker_rl.games.cards import strength
from poker_rl.games.tables import Tables
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import MLP, Size
from poker_rl.players.features import Features
from poker_rl.players.network import NetworkPlayer

FLOP = game("flop_holdem")
TWELVE = replace(FLOP, name="twelve", ranks="QKA", max_raises=[0, 1])
NINE = replace(FLOP, name="nine", ranks="QKA", suits="cdh", max_raises=[1, 1], raise_sizes=[2, 4])
THREE_STREETS = replace(
    leduc(),
    name="three_streets",
    board_cards=[0, 1, 1],
    openers=[0, 0, 1],
    raise_sizes=[2, 4, 4],
    max_raises=[1, 1, 1],
)
RHODE_ISLAND = game("rhode_island")
SHORT_RHODE_ISLAND = replace(
    RHODE_ISLAND, name="short_rhode_island", ranks="JQKA", suits="cdh", max_raises=[0, 1, 1]
)
BOARD_AT_ONCE = replace(leduc(), name="at_once", board_cards=[1, 1])


def network(definition, features, seed=0):
    net = MLP(hidden=[16], activation="relu", init="orthogonal", features=features)
    size = Size(inputs=Features(definition, features).size, outputs=3, last_scale=20.0)
    module = net.module(size, torch.Generator().manual_seed(seed))
    return NetworkPlayer(definition, net, module, "shared")


@pytest.mark.parametrize(
    "definition",
    [
        *(kuhn(), leduc(), game("leduc_5"), game("nolimit_leduc"), NINE, TWELVE),
        *(THREE_STREETS, BOARD_AT_ONCE, SHORT_RHODE_ISLAND),
    ],
    ids=lambda one: one.name,
)
def test_random_policies_are_measured_as_by_the_enumerated_tree(definition):
    """Apart by at most 4e-15 in the small games and 2e-14 on twelve cards: sums in other orders."""
    tree = tree_of(definition)
    (policy,) = random_policies(definition, seed=3)
    found = AskedTree(definition, merge=False).measure(Policies(definition, [policy]))
    assert found.value == pytest.approx(values(tree, policy)[0], abs=1e-12)
    np.testing.assert_allclose(found.best, best_response_values(tree, policy), atol=1e-12)


@pytest.mark.parametrize(
    "definition", [NINE, THREE_STREETS, SHORT_RHODE_ISLAND], ids=lambda one: one.name
)
def test_merging_suits_changes_nothing(definition):
    """Of a network that is blind to suits; the sums run in float64, the network in float32."""
    player = network(definition, "sorted_suits")
    assert player.blind_to_suits
    merged, whole = (AskedTree(definition, merge) for merge in (True, False))
    assert merged.rows() < whole.rows()
    asked = []
    less, all_ = merged.measure(player, asked.append), whole.measure(player)
    assert sum(asked) == merged.rows()
    assert less.value == pytest.approx(all_.value, abs=1e-6)
    np.testing.assert_allclose(less.best, all_.best, atol=1e-6)
    tree = tree_of(definition)
    policy = player.probabilities(tree.records)
    np.testing.assert_allclose(all_.best, best_response_values(tree, policy), atol=1e-6)


def test_a_network_that_sees_the_names_of_suits_is_not_blind_to_them():
    assert not network(FLOP, "observation").blind_to_suits
    assert not network(BOARD_AT_ONCE, "sorted_suits").blind_to_suits


def test_a_board_on_the_first_street_may_be_of_a_drawn_number_of_seats():
    drawn = option("game", "limit_holdem_2to9")
    for board, blind in (([0, 3, 1, 1], True), ([3, 0, 1, 1], False)):
        definition = build(drawn | {"board_cards": board}, "game")
        assert network(definition, "sorted_suits").blind_to_suits is blind


@pytest.mark.parametrize(
    "name", ["all_in", "call", "chen", "fold", "raise", "rules", "sklansky", "tight", "uniform"]
)
def test_bots_of_holdem_are_blind_to_the_names_of_suits(name):
    bot, tables = loader(FLOP)(name), Tables(FLOP, 1000, 0)
    tables.deal()
    for action in (1, 1, 2):  # to the flop, and a bet
        tables.step(np.full(1000, action))
        chances = bot.probabilities(tables.records)
        np.testing.assert_array_equal(
            Renamed(bot, [2, 0, 3, 1]).probabilities(tables.records), chances
        )
    assert bot.blind_to_suits


class Renamed:
    """Plays as another player would if the suits had other names."""

    instances = 1

    def __init__(self, player, names):
        self.player, self.names = player, np.array(names)

    def probabilities(self, records):
        records = records.copy()
        rank, suit = np.divmod(records["deck"], len(self.names))
        records["deck"] = rank * len(self.names) + self.names[suit]
        return self.player.probabilities(records)


def test_renaming_suits_changes_nothing():
    player, tree = network(NINE, "observation"), AskedTree(NINE, merge=False)
    one, other = tree.measure(player), tree.measure(Renamed(player, [2, 0, 1]))
    assert one.value == pytest.approx(other.value, abs=1e-6)
    np.testing.assert_allclose(one.best, other.best, atol=1e-6)
    assert one.gains.sum() > 0.5


def test_who_always_folds_loses_750_thousandths_of_a_big_blind():
    short = replace(FLOP, name="short", ranks="TJQKA", suits="cd")
    found = AskedTree(short, merge=True).measure(loader(short)("fold"))
    assert found.gains.sum() / 2 / FLOP.unit_chips == 0.75


def against_a_caller(definition):
    """What each seat wins at most from a player who always calls, chips: counted pair by pair.

    He never raises and never folds, so a street has at most one raise, and the flop is bet on with
    the better half of the hands: the stake is 2 or, after a raise, 4, and 2 more by a bet.
    """
    cards, suits = range(definition.cards), len(definition.suits)
    hands = list(combinations(cards, 2))
    apart = np.array([[not set(one) & set(other) for other in hands] for one in hands])
    mean, bet = np.zeros(len(hands)), np.zeros(len(hands))
    for flop in combinations(cards, 3):
        ranks = [strength(np.array([*hand, *flop, 0, 0], np.int8), 5, suits) for hand in hands]
        free = np.array([not set(hand) & set(flop) for hand in hands])
        won = np.sign(np.subtract.outer(ranks, ranks)) * apart * np.outer(free, free)
        mean += won.sum(1)
        bet += np.maximum(won.sum(1), 0)
    others, flops = apart.sum(1), comb(definition.cards - 4, 3)
    mean, bet = mean / others / flops, bet / others / flops
    best = np.maximum(2 * mean, 4 * mean) + 2 * bet
    return [best.mean(), np.maximum(best, -1).mean()]  # the small blind may fold


def test_who_always_calls_loses_what_can_be_counted():
    short = replace(FLOP, name="short", ranks="9TJQKA", suits="cdh")
    found = AskedTree(short, merge=True).measure(loader(short)("call"))
    np.testing.assert_allclose(found.best, against_a_caller(short), atol=1e-9)
    assert found.value == pytest.approx(0, abs=1e-12)


def test_who_always_calls_in_rhode_island_holdem_loses_what_can_be_counted():
    """Whoever meets him bets once on a street, exactly with cards that win on average: 10, 20, 20.

    So the value of a street is the mean, over the cards seen then, of the better of 0 and of the
    mean that the cards win, times the bet.
    """
    deck, all_cards = RHODE_ISLAND.cards, np.arange(RHODE_ISLAND.cards)
    won = np.zeros((deck, deck, deck))  # [hole, flop, turn], sums over the caller's card
    for flop, turn in combinations(range(deck), 2):
        rest = np.setdiff1d(all_cards, [flop, turn])
        ranks = np.array([strength(np.array([one, flop, turn], np.int8), 3, 4) for one in rest])
        sums = np.sign(np.subtract.outer(ranks, ranks)).sum(1)
        won[rest, flop, turn] = won[rest, turn, flop] = sums
    deals = deck * 51 * 50 * 49
    by_street = [won.sum((1, 2)), won.sum(2), won]
    best = sum(
        size * np.maximum(each, 0).sum() / deals
        for size, each in zip(RHODE_ISLAND.raise_sizes, by_street, strict=True)
    )
    found = AskedTree(RHODE_ISLAND, merge=True).measure(loader(RHODE_ISLAND)("call"))
    np.testing.assert_allclose(found.best, best, atol=1e-9)
    assert found.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("player", "nash_conv"), [("fold", 2), ("raise", 10.220040), ("uniform", 11.399091)]
)
def test_the_figures_of_rhode_island_holdem_that_the_documentation_has(player, nash_conv):
    found = AskedTree(RHODE_ISLAND, merge=True).measure(loader(RHODE_ISLAND)(player))
    assert found.gains.sum() / RHODE_ISLAND.ante == pytest.approx(nash_conv, abs=1e-6)


def test_every_row_is_a_table_that_its_player_may_see():
    """The cards of each are different, its own hand and the board those that it stands for."""
    tree = AskedTree(FLOP, merge=True)
    holdings = tree.asking.holdings(tree.some_board())
    tables = tree.asking.tables(tree.streets[-1].tables, holdings)
    cards = tables["deck"][:, :7]
    assert (np.diff(np.sort(cards, 1), axis=1) > 0).all()
    assert (tables["street"] == 1).all()
    assert len(np.unique(cards[:, 4:], axis=0)) == 1
    assert tree.rows() == 8 * 169 + 7 * 8 * 1_286_792


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("limit_holdem", "about 1.3e.13 .*flop_holdem"),
        ("limit_holdem_3p", "for two players"),
        ("limit_holdem_2to9", "for two players"),
        ("big2", "for two players"),
        ("nolimit_holdem", "more than 200,000 betting lines"),
    ],
)
def test_what_cannot_be_walked_is_refused(name, why):
    with pytest.raises(Refused, match=why):
        AskedTree(game(name), merge=True)
