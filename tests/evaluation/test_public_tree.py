"""Exact exploitability by the public tree: known values, and equality with other methods."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from evaluations import (
    FLOP,
    NINE,
    THREE_STREETS,
    Policies,
    build_network_player,
    loader,
    random_policies,
)
from learner_contexts import mlp
from random_games import deal_tables, game
from toy_games import kuhn, leduc, numba_threads, two_cores

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation import compute_best_response_values, compute_seat_values
from poker_rl.evaluation.exact.public_tree_evaluator import PublicTreeEvaluator
from poker_rl.games import get_tree
from poker_rl.games.hand_evaluator import evaluate_hand
from poker_rl.games.public.ranges import (
    PrivateHands,
    compute_showdown_values,
    fill_compatible_reach_of_rows,
)
from poker_rl.games.public.tree import BoardEnumerator
from poker_rl.nets.observation_encoders import ObservationEncoder
from poker_rl.players import range_policy
from poker_rl.players.network_player import GreedyNetworkPlayer, NetworkPlayer, RegretMatchingPlayer
from poker_rl.players.range_policy import has_separable_features

TWELVE = replace(FLOP, name="twelve", ranks="QKA", max_raises=[0, 1])
RHODE_ISLAND = game("rhode_island")
SHORT_RHODE_ISLAND = replace(
    RHODE_ISLAND, name="short_rhode_island", ranks="JQKA", suits="cdh", max_raises=[0, 1, 1]
)
BOARD_AT_ONCE = replace(leduc(), name="at_once", board_cards=[1, 1])
ENUMERATED = [kuhn(), leduc(), game("leduc_5"), game("nolimit_leduc"), NINE, TWELVE]
ENUMERATED += [THREE_STREETS, BOARD_AT_ONCE, SHORT_RHODE_ISLAND]


@pytest.mark.parametrize("definition", ENUMERATED, ids=lambda game: game.name)
def test_public_tree_matches_enumerated_tree_for_random_policies(definition):
    """Rounding errors are at most 4e-15 in the small games and 2e-14 with twelve cards."""
    tree = get_tree(definition)
    (policy,) = random_policies(definition, seed=3)
    evaluator = PublicTreeEvaluator(definition, merge_suits=False)
    values = evaluator.evaluate_player(Policies(definition, [policy]))
    assert values[1] == pytest.approx(compute_seat_values(tree, policy)[0], abs=1e-12)
    np.testing.assert_allclose(values[0], compute_best_response_values(tree, policy), atol=1e-12)


@pytest.mark.parametrize(
    "definition", [NINE, THREE_STREETS, SHORT_RHODE_ISLAND], ids=lambda game: game.name
)
def test_merging_suits_does_not_change_values(definition):
    """The network ignores suits. Its float32 outputs differ by rounding; sums are in float64."""
    player = build_network_player(definition, "sorted_suits")
    assert player.is_suit_invariant
    merged, whole = (PublicTreeEvaluator(definition, merge) for merge in (True, False))
    assert merged.count_queries() < whole.count_queries()
    query_counts = []
    less, full = merged.evaluate_player(player, query_counts.append), whole.evaluate_player(player)
    assert sum(query_counts) == merged.count_queries()
    assert less[1] == pytest.approx(full[1], abs=1e-6)
    np.testing.assert_allclose(less[0], full[0], atol=1e-6)
    tree = get_tree(definition)
    policy = player.action_probs(tree.infoset_records)
    np.testing.assert_allclose(full[0], compute_best_response_values(tree, policy), atol=1e-6)


@pytest.mark.parametrize(
    "name", ["all_in", "call", "chen", "fold", "raise", "rules", "sklansky", "tight", "uniform"]
)
def test_bots_of_holdem_are_suit_invariant(name):
    bot, tables = loader(FLOP)(name), deal_tables(FLOP, 1000)
    for action in (1, 1, 2):  # both call before the flop; a bet on the flop
        tables.step(np.full(1000, action))
        probs = bot.action_probs(tables.records)
        renamed = RenamedSuits(bot, [2, 0, 3, 1]).action_probs(tables.records)
        np.testing.assert_array_equal(renamed, probs)
    assert bot.is_suit_invariant


class RenamedSuits:
    """Player that acts as another player would if the suits were permuted."""

    instance_count = 1

    def __init__(self, player, names):
        self.player, self.names = player, np.array(names)

    def action_probs(self, records):
        records = records.copy()
        rank, suit = np.divmod(records["deck"], len(self.names))
        records["deck"] = rank * len(self.names) + self.names[suit]
        return self.player.action_probs(records)


def compute_best_winnings_from_caller(definition):
    """Return each seat's best winnings in chips from a player that always calls, by pairs of hands.

    The caller never raises, so a street has at most one raise. The stake is 2 chips or, after a
    raise before the flop, 4. Hands that win more often than they lose add 2 by a bet on the flop.
    """
    cards, suits = range(definition.deck_size), len(definition.suits)
    hands = list(combinations(cards, 2))
    disjoint = np.array([[not set(a) & set(b) for b in hands] for a in hands])
    mean, bet = np.zeros(len(hands)), np.zeros(len(hands))
    for flop in combinations(cards, 3):
        ranks = [evaluate_hand(np.array([*hand, *flop, 0, 0], np.int8), 5, suits) for hand in hands]
        possible = np.array([not set(hand) & set(flop) for hand in hands])
        won = np.sign(np.subtract.outer(ranks, ranks)) * disjoint * np.outer(possible, possible)
        mean += won.sum(1)
        bet += np.maximum(won.sum(1), 0)
    others, flops = disjoint.sum(1), comb(definition.deck_size - 4, 3)
    mean, bet = mean / others / flops, bet / others / flops
    best = np.maximum(2 * mean, 4 * mean) + 2 * bet
    return [best.mean(), np.maximum(best, -1).mean()]  # folding the small blind costs 1


def test_best_response_values_against_a_caller_match_pair_counts():
    short = replace(FLOP, name="short", ranks="9TJQKA", suits="cdh")
    values = PublicTreeEvaluator(short, merge_suits=True).evaluate_player(loader(short)("call"))
    np.testing.assert_allclose(values[0], compute_best_winnings_from_caller(short), atol=1e-9)
    assert values[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("player", "nash_conv"), [("fold", 2), ("raise", 10.220040), ("uniform", 11.399091)]
)
def test_nash_convs_of_rhode_island_holdem_match_the_documentation(player, nash_conv):
    evaluator = PublicTreeEvaluator(RHODE_ISLAND, merge_suits=True)
    values = evaluator.evaluate_player(loader(RHODE_ISLAND)(player))
    assert values[0].sum() / RHODE_ISLAND.ante == pytest.approx(nash_conv, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("limit_holdem", "about 1.3e.13 .*; games of fewer raises"),
        ("limit_holdem_3p", "for two players"),
        ("nolimit_holdem", "more than 200,000 betting lines"),
    ],
)
def test_public_tree_refuses_large_and_multiplayer_games(name, why):
    with pytest.raises(ConfigError, match=why):
        PublicTreeEvaluator(game(name), merge_suits=True)


NO_LIMIT = game("nolimit_leduc")


class OpaquePlayer:
    """Player that acts like another one, but hides its class, so it is queried by table."""

    instance_count = 1

    def __init__(self, player):
        self.action_probs = player.action_probs


def query_policies(player, definition, street):
    """Return the policy of all hands in S states of up to 7 boards, [boards, S, hands, A]."""
    tree = PublicTreeEvaluator(definition, merge_suits=False)
    board = tree.boards.root
    for i in range(street):
        board = tree.boards.list_next_boards(board, i)[-1]
    boards = tree.boards.list_next_boards(board, street)[:7]
    arguments = player, tree.streets[street].decision_records, boards, lambda rows: None
    groups = tree.range_policy.iterate_board_policy_batches(*arguments)
    policies = [policy for group in groups for policy in group]
    assert [policy.board for policy in policies] == boards
    rows = [policy.hands.representative_of_hand for policy in policies]
    return np.stack([p.probs[:, row[row >= 0]] for p, row in zip(policies, rows, strict=True)])


BOARD_AT_START = replace(leduc(), name="at_first", board_cards=[1, 1])
LSTM, AMOUNTS = (build(load_option("net", name), "net") for name in ("lstm", "amounts"))
PLAYERS = {  # arguments of `build_network_player`
    "no hidden layer": (NINE, mlp(features="sorted_suits")),
    "one hidden layer": (NINE, "observation"),
    "two networks": (NINE, mlp(16, 16, features="sorted_suits"), "per_seat"),
    "one network per betting node": (leduc(), "observation", "per_betting_node"),
    "rank": (kuhn(), mlp(7, features="rank")),
    "chips": (NO_LIMIT, "observation"),
    "table": (THREE_STREETS, "table"),
    "hand strength": (game("flop_holdem"), mlp(16, features="hand_strength")),
    "board card at the start": (BOARD_AT_START, "sorted_suits"),
    "LSTM": (THREE_STREETS, LSTM, "per_seat"),
    "amounts": (NO_LIMIT, AMOUNTS),
    "greedy": (NINE, "sorted_suits", "shared", GreedyNetworkPlayer),
    "regrets": (NINE, "observation", "shared", RegretMatchingPlayer),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_policies_from_states_and_hands_match_those_from_tables(name, monkeypatch):
    """They are equal up to float32 rounding. Queries have several boards and several blocks."""
    monkeypatch.setattr(range_policy, "CPU_BLOCK_ROWS", 50)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 500)
    player = build_network_player(*PLAYERS[name])
    assert has_separable_features(player)
    for street in range(len(player.game.board_cards)):
        expected = query_policies(OpaquePlayer(player), player.game, street)
        actual = query_policies(player, player.game, street)
        np.testing.assert_allclose(actual, expected, atol=2e-6)


class PluginFeatures:
    """Feature encoder of a plug-in, whose structure is unknown."""

    def encode(self, definition, records):
        return ObservationEncoder(definition, "observation")(records)


class OverridingPlayer(NetworkPlayer):
    """Network player of a plug-in with its own `action_probs`."""

    def action_probs(self, records):
        return super().action_probs(records)


def test_networks_with_unknown_features_are_queried_by_table():
    own_features = build_network_player(NINE, mlp(16, features=PluginFeatures()))
    own_player = build_network_player(NINE, "observation", "shared", OverridingPlayer)
    infosets = build_network_player(leduc(), "infoset")
    assert not any(map(has_separable_features, (own_features, own_player, infosets)))
    expected = query_policies(own_player, NINE, 1)
    np.testing.assert_array_equal(query_policies(own_features, NINE, 1), expected)
    assert not build_network_player(FLOP, "observation").is_suit_invariant
    assert not build_network_player(BOARD_AT_ONCE, "sorted_suits").is_suit_invariant


@two_cores
def test_number_of_threads_does_not_change_values():
    player, tree = build_network_player(NINE, "sorted_suits"), PublicTreeEvaluator(NINE, True)
    results = []
    for threads in (1, 2):
        with numba_threads(threads):
            values, value = tree.evaluate_player(player)
            results.append((values.tolist(), value))
    assert results[0] == results[1]


HOLDEM = game("limit_holdem")
SHORT = replace(HOLDEM, ranks="6789TJ")
LEDUC = game("leduc_13")


def compute_pair_by_pair(private_hands, board, reach, suits):
    """Return each hand's winnings from a range at a showdown and if the range folds."""
    hands = [set(hand.tolist()) for hand in private_hands.hands]
    cards = [[*hand.tolist(), *board.tolist()] for hand in private_hands.hands]
    ranks = [evaluate_hand(np.array([*each, 0, 0, 0], np.int8), len(each), suits) for each in cards]
    showdown, by_fold = np.zeros(len(hands)), np.zeros(len(hands))
    for own in range(len(hands)):
        for other in range(len(hands)):
            if not hands[own] & hands[other]:
                by_fold[own] += reach[other]
                showdown[own] += reach[other] * (int(ranks[own] > ranks[other]) * 2 - 1)
                showdown[own] += reach[other] * (ranks[own] == ranks[other])
    possible = np.array([not hand & set(board.tolist()) for hand in hands])
    return showdown * possible, by_fold


@pytest.mark.parametrize(("definition", "cards"), [(SHORT, 3), (SHORT, 5), (LEDUC, 1)])
def test_range_showdown_matches_a_loop_over_all_pairs(definition, cards):
    generator, hands = np.random.default_rng(0), PrivateHands(definition)
    board = generator.choice(definition.deck_size, cards, replace=False)
    reach = generator.random(len(hands.hands)) * hands.mask_compatible_hands(board)
    reach[generator.random(len(reach)) < 0.3] = 0
    showdown, by_fold = compute_pair_by_pair(hands, board, reach, len(definition.suits))
    scale = np.arange(80.0)[:, None]  # factor of each row's reach; only odd rows are filled
    rows, out = np.arange(1, 80, 2), np.zeros((80, len(reach)))
    compute_showdown_values(hands.hands, *hands.sort_by_strength(board), scale * reach, rows, out)
    np.testing.assert_allclose(out, scale * (scale % 2) * showdown, atol=1e-10)
    fill_compatible_reach_of_rows(hands.hands, scale * reach, rows, out)
    np.testing.assert_allclose(out, scale * (scale % 2) * by_fold, atol=1e-10)


def test_counts_of_suit_isomorphic_flops_and_hands_match_literature():
    """1,755 flops; 1,286,792 flops with a hand (K. Waugh, 2013); 169 hands before the flop."""
    hands = PrivateHands(HOLDEM)
    boards = BoardEnumerator(HOLDEM, hands, merge_suits=True)
    (first,) = boards.list_next_boards(boards.root, 0)
    flops = boards.list_next_boards(first, 1)
    assert len(flops) == 1755
    assert sum(flop.multiplicity for flop in flops) == 22_100

    def count_hands(board):
        canonical = hands.permuted_hands[board.suit_permutations].min(0)
        return len(np.unique(canonical[hands.mask_compatible_hands(board.cards)]))

    assert count_hands(first) == 169
    assert sum(count_hands(flop) for flop in flops) == 1_286_792
    all_boards = BoardEnumerator(HOLDEM, hands, merge_suits=False)
    (first,) = all_boards.list_next_boards(all_boards.root, 0)
    assert len(all_boards.list_next_boards(first, 1)) == 22_100
