"""Networks that are queried by states and hands give the policy that they give table by table."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
from evaluations import NINE, THREE_STREETS, build_network_player
from random_games import game
from toy_games import kuhn, leduc
from two_cores import two_cores

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation.exact import network_query, range_policy
from poker_rl.evaluation.exact.network_query import has_separable_features
from poker_rl.evaluation.exact.public_tree import EvaluatedPublicTree
from poker_rl.games.game import Game
from poker_rl.nets.dense import MLPConfig
from poker_rl.nets.encoders import ObservationEncoder
from poker_rl.players.network_player import (
    GreedyNetworkPlayer,
    NetworkPlayer,
    RegretMatchingPlayer,
)

NO_LIMIT = game("nolimit_leduc")


def mlp(features, hidden_sizes):
    return MLPConfig(hidden_sizes=hidden_sizes, activation="relu", init="torch", features=features)


class ByTable:
    """Plays as a network, and is not known to be one."""

    instance_count = 1

    def __init__(self, player):
        self.action_probs = player.action_probs


def policies(player, definition, street):
    """The policy of all possible hands at all states of some boards, [boards, S, possible, A]."""
    tree = EvaluatedPublicTree(definition, merge_suits=False)
    board = tree.boards.root
    for i in range(street):
        board = tree.boards.list_next_boards(board, i)[-1]
    boards = tree.boards.list_next_boards(board, street)[:7]
    query = player, tree.streets[street].decision_records, boards, lambda rows: None
    groups = tree.range_policy.iterate_board_policies(*query)
    found = [policy for group in groups for policy in group]
    assert [policy.board for policy in found] == boards
    rows = [policy.row_of_hand[policy.row_of_hand >= 0] for policy in found]
    return np.stack([policy.probs[:, row] for policy, row in zip(found, rows, strict=True)])


AT_FIRST = replace(leduc(), name="at_first", board_cards=[1, 1])
LSTM, AMOUNTS = (build(load_option("net", name), "net") for name in ("lstm", "amounts"))
PLAYERS = {  # arguments of `build_network_player`
    "no hidden layer": (NINE, mlp("sorted_suits", [])),
    "one hidden layer": (NINE, "observation"),
    "two networks": (NINE, mlp("sorted_suits", [16, 16]), "per_seat"),
    "one network a node": (leduc(), "observation", "per_betting_node"),
    "rank": (kuhn(), mlp("rank", [7])),
    "chips": (NO_LIMIT, "observation"),
    "table": (THREE_STREETS, "table"),
    "board at first": (AT_FIRST, "sorted_suits"),
    "LSTM": (THREE_STREETS, LSTM, "per_seat"),
    "amounts": (NO_LIMIT, AMOUNTS),
    "greedy": (NINE, "sorted_suits", "shared", GreedyNetworkPlayer),
    "regrets": (NINE, "observation", "shared", RegretMatchingPlayer),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_states_and_hands_give_what_tables_give(name, monkeypatch):
    """Apart by rounding of 32 bits; several boards are queried at once, in several blocks."""
    monkeypatch.setattr(network_query, "CPU_BLOCK_ROWS", 50)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 500)
    player = build_network_player(*PLAYERS[name])
    assert has_separable_features(player)
    for street in range(len(player.game.board_cards)):
        expected = policies(ByTable(player), player.game, street)
        found = policies(player, player.game, street)
        np.testing.assert_allclose(found, expected, atol=2e-6)


class OwnFeatures:
    """Features of a plug-in, of which nothing is known."""

    def encode(self, definition: Game, records: np.ndarray) -> np.ndarray:
        return ObservationEncoder(definition, "observation")(records)


class OwnPlayer(NetworkPlayer):
    """Plays not quite as its network says."""

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        return super().action_probs(records)


def test_networks_of_plugins_are_queried_by_tables():
    own_features = build_network_player(NINE, mlp(OwnFeatures(), [16]))
    own_player = build_network_player(NINE, "observation", "shared", OwnPlayer)
    infosets = build_network_player(leduc(), "infoset")
    assert not any(map(has_separable_features, (own_features, own_player, infosets)))
    expected = policies(own_player, NINE, 1)
    np.testing.assert_array_equal(policies(own_features, NINE, 1), expected)


@two_cores
def test_threads_change_nothing():
    tree, found = EvaluatedPublicTree(NINE, True), []
    player = build_network_player(NINE, "sorted_suits")
    for threads in (1, 2):
        numba.set_num_threads(threads)
        found.append(tree.evaluate_player(player))
    numba.set_num_threads(1)
    assert found[0][1] == found[1][1]
    assert found[0][0].tolist() == found[1][0].tolist()
