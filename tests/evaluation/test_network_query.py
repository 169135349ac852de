"""Networks that are queried by states and hands give the policy that they give table by table."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
import torch
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
from poker_rl.nets.net_config import NetDimensions
from poker_rl.players.network_player import (
    GreedyNetworkPlayer,
    NetworkPlayer,
    RegretMatchingPlayer,
    count_networks,
)

FLOP = game("flop_holdem")
NINE = replace(FLOP, name="nine", ranks="QKA", suits="cdh", max_raises=[1, 1], raise_sizes=[2, 4])
THREE_STREETS = replace(
    leduc(),
    name="three_streets",
    board_cards=[0, 1, 1],
    openers=[0, 0, 1],
    raise_sizes=[2, 4, 4],
    max_raises=[1, 1, 1],
)
NO_LIMIT = game("nolimit_leduc")


def network(definition, net, sharing="shared", player_class=NetworkPlayer):
    encoder, networks = ObservationEncoder(definition, net.features), count_networks
    dimensions = NetDimensions(
        inputs=encoder.size,
        outputs=definition.action_count,
        replicas=networks(definition, sharing),
        output_init_scale=20.0,
        history_shape=encoder.history_shape,
    )
    module = net.build_module(dimensions, torch.Generator().manual_seed(0))
    return player_class(definition, net, module, sharing)


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
    groups = list(
        tree.range_policy.iterate_board_policies(
            player, tree.streets[street].decision_records, boards, lambda rows: None
        )
    )
    found = [policy for group in groups for policy in group]
    assert [policy.board for policy in found] == boards
    return len(groups), np.stack(
        [policy.probs[:, policy.row_of_hand[policy.row_of_hand >= 0]] for policy in found]
    )


PLAYERS = {
    "no hidden layer": lambda: network(NINE, mlp("sorted_suits", [])),
    "one hidden layer": lambda: network(NINE, mlp("observation", [16])),
    "two networks": lambda: network(NINE, mlp("sorted_suits", [16, 16]), "per_seat"),
    "one network a node": lambda: network(leduc(), mlp("observation", [16]), "per_betting_node"),
    "rank": lambda: network(kuhn(), mlp("rank", [7])),
    "chips": lambda: network(NO_LIMIT, mlp("observation", [16])),
    "table": lambda: network(THREE_STREETS, mlp("table", [16])),
    "board at first": lambda: network(
        replace(leduc(), name="at_first", board_cards=[1, 1]), mlp("sorted_suits", [16])
    ),
    "LSTM": lambda: network(THREE_STREETS, build(load_option("net", "lstm"), "net"), "per_seat"),
    "amounts": lambda: network(NO_LIMIT, build(load_option("net", "amounts"), "net")),
    "greedy": lambda: network(NINE, mlp("sorted_suits", [16]), "shared", GreedyNetworkPlayer),
    "regrets": lambda: network(NINE, mlp("observation", [16]), "shared", RegretMatchingPlayer),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_states_and_hands_give_what_tables_give(name, monkeypatch):
    """Apart by rounding of 32 bits; several boards are queried at once, in several blocks."""
    monkeypatch.setattr(network_query, "CPU_BLOCK_ROWS", 50)
    monkeypatch.setattr(range_policy, "MIN_ROWS_PER_QUERY", 500)
    player = PLAYERS[name]()
    assert has_separable_features(player)
    for street in range(len(player.game.board_cards)):
        _, expected = policies(ByTable(player), player.game, street)
        _, found = policies(player, player.game, street)
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
    own_features = network(NINE, mlp(OwnFeatures(), [16]))
    own_player = network(NINE, mlp("observation", [16]), "shared", OwnPlayer)
    infosets = network(leduc(), mlp("infoset", [16]))
    assert not any(map(has_separable_features, (own_features, own_player, infosets)))
    _, expected = policies(own_player, NINE, 1)
    np.testing.assert_array_equal(policies(own_features, NINE, 1)[1], expected)


@two_cores
def test_threads_change_nothing():
    player, tree = network(NINE, mlp("sorted_suits", [16])), EvaluatedPublicTree(NINE, True)
    found = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        found.append(tree.evaluate_player(player))
    numba.set_num_threads(1)
    assert found[0][1] == found[1][1]
    assert found[0][0].tolist() == found[1][0].tolist()
