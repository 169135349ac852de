"""AIVAT: luck-adjusted results have the same mean as the raw ones, and narrower intervals."""

from itertools import combinations

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN_3P, LEDUC, Policies, loader, random_policies
from random_games import deal_tables, play
from tree_values import TreeValue, compute_expected_values

from poker_rl.evaluation.matches.duplicate_match import compute_half_width, play_deals
from poker_rl.evaluation.variance_reduction.aivat import (
    ALL_IN_COLUMN,
    compute_aivat_terms,
    compute_luck_adjusted_payoff,
)
from poker_rl.evaluation.variance_reduction.pot_equity_value import (
    compute_expected_chips_and_equity,
)
from poker_rl.games import get_tree, load_game
from poker_rl.games.hand_history import hand_history_from_record
from poker_rl.games.tables import tables_from_records


def enumerate_hands(game, players):
    """Return the final tables of all H ways to play a hand, [H], and their probabilities, [H]."""
    tables = deal_tables(game, game.count_deals(), decks=game.list_deals())
    prob = np.full(game.count_deals(), 1 / game.count_deals())
    ends, probs = [], []
    while len(tables.records):
        over = tables.records["over"] != 0
        ends.append(tables.records[over])
        probs.append(prob[over])
        live = tables.records[~over]
        policy = np.zeros((len(live), game.action_count))
        for seat, player in enumerate(players):
            mine = live["to_act"] == seat
            policy[mine] = player.action_probs(live[mine])
        row, action = np.nonzero(policy)
        prob = prob[~over][row] * policy[row, action]
        tables = tables_from_records(game, live[row])
        tables.step(action)
    return np.concatenate(ends), np.concatenate(probs)


@pytest.mark.parametrize("value", ["random", "equity"])
@pytest.mark.parametrize("unknown", [None, 0], ids=["all known", "seat 0 unknown"])
@pytest.mark.parametrize("game", [KUHN_3P, LEDUC], ids=lambda game: game.name)
def test_every_aivat_term_is_zero_on_average(game, unknown, value):
    players = [Policies(game, random_policies(game, seed=seed)) for seed in range(game.seats)]
    ends, prob = enumerate_hands(game, players)
    tree = get_tree(game)
    values = np.random.default_rng(3).normal(size=(len(tree.parent), game.seats))
    values = TreeValue(tree, values).compute_values if value == "random" else None
    known = [None if seat == unknown else player for seat, player in enumerate(players)]
    lineup = np.tile(np.arange(game.seats), (len(ends), 1))
    for seat in range(game.seats):
        terms = compute_aivat_terms(game, ends, np.full(len(ends), seat), known, lineup, values)
        assert np.abs(terms).max() > 0.1
        np.testing.assert_allclose(np.tensordot(prob, terms, 1), 0, atol=1e-9)


@pytest.mark.parametrize("game", [KUHN_3P, LEDUC], ids=lambda game: game.name)
def test_exact_values_and_known_policies_remove_all_luck(game):
    players = [Policies(game, random_policies(game, seed=seed)) for seed in range(game.seats)]
    tree = get_tree(game)
    policy = np.choose(tree.infoset_seat[:, None], [player.policies[0] for player in players])
    ends, prob = enumerate_hands(game, players)
    tables = tables_from_records(game, ends)
    lineup = np.tile(np.arange(game.seats), (len(ends), 1))
    value = TreeValue(tree, compute_expected_values(tree, policy)).compute_values
    for seat in range(game.seats):
        won = tables.payoffs()[:, seat]
        terms = compute_aivat_terms(game, ends, np.full(len(ends), seat), players, lineup, value)
        np.testing.assert_allclose(won + terms[:, :, 0].sum(1), prob @ won, atol=1e-9)


@pytest.mark.parametrize("game", [LEDUC, HOLDEM], ids=lambda game: game.name)
def test_aivat_with_an_unknown_policy_keeps_mean_and_narrows_interval(game):
    """The uniform player stands for a person, whose policy is unknown; the bot's is known."""
    bot, observed = loader(game)("call"), []
    observers = [lambda tables, seats: observed.append((tables, seats))]
    play_deals(game, [loader(game)("uniform"), bot], 1000, seed=0, observers=observers)
    ((tables, seats),) = observed
    won = tables.payoffs()[np.arange(2000), seats]
    lineup = np.where(np.arange(2) == seats[:, None], 0, 1)
    luck = compute_aivat_terms(game, tables.records, seats, [None, bot], lineup)[:, :, 0].sum(1)
    assert abs(luck.mean()) < 1.5 * compute_half_width(luck)  # three standard errors
    assert compute_half_width(won + luck) < 0.75 * compute_half_width(won)
    for i in range(40):  # one hand at a time, as on the play page
        record, seat = tables.records[i], int(seats[i])
        line = tuple(record["line"][: record["moves"]].tolist())
        hand = hand_history_from_record(game, record, line)
        players = [None if other == seat else bot for other in range(2)]
        adjusted = compute_luck_adjusted_payoff(game, hand, seat, players)
        assert adjusted == pytest.approx(won[i] + luck[i], abs=1e-9)


def test_equity_equals_the_mean_over_all_boards():
    game = load_game("limit_holdem")
    tables = deal_tables(game, seed=7, actions=[1, 1])  # both call, so the flop is dealt
    deck = tables.records["deck"][0]
    remaining = [card for card in range(52) if card not in deck[:7]]
    shares = []
    for runout in combinations(remaining, 2):
        shown = deal_tables(game, actions=[1] * 8, decks=np.array([[*deck[:7], *runout]], np.int8))
        shares.append(shown.payoffs()[0] / 4 + 0.5)  # share of the pot: (payoff + 2) / 4
    equities = compute_expected_chips_and_equity(game, tables.records, np.array([3]))[:, :, 0]
    np.testing.assert_allclose(equities, [np.mean(shares, axis=0) * 4 - 2], atol=1e-12)


def play_all_in(game, decks, actions):
    """Return tables with these decks after the actions, which end the hand."""
    tables = deal_tables(game, len(decks), actions=actions, decks=decks)
    assert tables.records["over"].all()
    return tables


HEADS_UP = ["game.seats=2", "game.stacks=[60,25]", "game.blinds=[2,1]", "game.openers=[1,0,0,0]"]
THREE = ["game.seats=3", "game.stacks=[10,25,41]", "game.blinds=[1,2,0]", "game.openers=[2,0,0,0]"]


@pytest.mark.parametrize(
    ("overrides", "actions"), [(HEADS_UP, [1, 1, 60, 1]), (THREE, [1, 1, 1, 10, 25, 1])]
)
def test_all_in_is_adjusted_to_the_mean_over_all_boards(overrides, actions):
    game = load_game("nolimit_holdem_6p", *overrides)
    first = 2 * game.seats
    deck = np.random.default_rng(4).permutation(52)[: first + 5].astype(np.int8)
    tables = play_all_in(game, deck[None], actions)
    rest = [card for card in range(52) if card not in deck[: first + 3]]
    boards = np.array([[*deck[: first + 3], *runout] for runout in combinations(rest, 2)], np.int8)
    mean = play_all_in(game, boards, actions).payoffs().mean(0)
    assert len(np.unique(mean)) == game.seats
    lineup, known = np.arange(game.seats)[None], [None] * game.seats
    for seat in range(game.seats):
        terms = compute_aivat_terms(game, tables.records, np.array([seat]), known, lineup)
        assert tables.payoffs()[0, seat] + terms[0, ALL_IN_COLUMN, 0] == pytest.approx(mean[seat])


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("nolimit_short_deck_6p", ["game.stacks=6", "game.ante=[1,2,0,1,0,3]"]),
        ("limit_holdem_3p", ["game.stacks=[5,9,30]", "game.ante=[0,2,1]"]),
        ("limit_holdem_3p", ["game.ante=[0,2,1]"]),
    ],
)
def test_equity_with_the_full_board_equals_the_payoff(name, overrides):
    """Equity takes short-deck ranking, antes that differ by seat, and stacks into account."""
    game = load_game(name, *overrides)
    tables, _ = play(game, 60, seed=4)
    known = np.full(60, sum(game.board_cards))
    values = compute_expected_chips_and_equity(game, tables.records, known)
    assert (values[:, :, 0] == tables.payoffs()).all()
