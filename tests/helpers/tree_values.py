"""Exact value of every table of a game that can be enumerated, as a value function of AIVAT."""

import numpy as np

from poker_rl.evaluation.variance_reduction.pot_equity_value import HOLE_CARDS_UNKNOWN


class TreeValue:
    """Value function: the mean over tree nodes with the same actions and known cards.

    Args:
        node_values: value of each node to each seat, [N, seats], from `compute_expected_values`.
    """

    def __init__(self, tree, node_values):
        self._game = tree.game
        definition = tree.game.definitions[0]
        self._first = int(definition["seats"]) * int(definition["hole"])
        streets = definition["shown"][: definition["streets"]].astype(int)
        self._groups = [int(definition["hole"])] * int(definition["seats"])
        self._groups += np.diff(streets, prepend=0).tolist()
        lines, deal = _list_lines(tree)
        cards = tree.game.list_deals()[deal]  # [N, dealt]
        self._width = lines.shape[1]
        self._known = {}
        for shown in {HOLE_CARDS_UNKNOWN, *streets.tolist()}:
            keys, key_index = np.unique(self._keys(lines, cards, shown), return_inverse=True)
            count = np.bincount(key_index)
            means = [np.bincount(key_index, column) / count for column in node_values.T]
            self._known[shown] = keys, np.stack(means, axis=1)

    def compute_values(self, records, board_cards_known):
        """Return the values of tables [B] in chips, [B, seats, 1], from their known cards."""
        out = np.empty((len(records), self._game.seats))
        dealt = sum(self._groups)
        for board_count in np.unique(board_cards_known):
            indices = np.flatnonzero(board_cards_known == board_count)
            part = records[indices]
            line = part["line"][:, : self._width].astype(np.int16)
            line[np.arange(self._width) >= part["moves"][:, None]] = -1
            keys, means = self._known[int(board_count)]
            wanted_keys = self._keys(line, part["deck"][:, :dealt], int(board_count))
            out[indices] = means[np.searchsorted(keys, wanted_keys)]
        return out[:, :, None]

    def _keys(self, lines, cards, shown):
        """Return keys of bytes [B]: the actions [B, L] and the known cards of decks [B, dealt]."""
        known = 0 if shown == HOLE_CARDS_UNKNOWN else self._first + shown
        parts, position = [lines.astype(np.int16)], 0
        for size in self._groups:  # sorted: the order of cards dealt together has no meaning
            if position + size <= known and size:
                parts.append(np.sort(cards[:, position : position + size], axis=1).astype(np.int16))
            position += size
        key = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return key.view(np.dtype((np.void, key.shape[1] * key.itemsize)))[:, 0]


def random_policy(tree, seed):
    """Return a random policy, [I, A]."""
    weights = np.random.default_rng(seed).random(tree.legal_mask.shape)
    return tree.normalize_policy(weights * tree.legal_mask)


def compute_expected_values(tree, policy):
    """Return the value of each of N nodes to each seat, [N, seats], if all play `policy` [I, A].

    A node is a deal and the actions so far, so all cards of the deal count as known.
    """
    node_values = tree.node_payoffs.copy()
    for depth in range(len(tree.level_starts) - 2, 0, -1):
        first, end = tree.level_starts[depth : depth + 2]
        prob = policy.ravel()[tree.edge[first:end]]
        np.add.at(node_values, tree.parent[first:end], prob[:, None] * node_values[first:end])
    return node_values


def compute_counterfactual_values(tree, policy, traverser):
    """Return counterfactual quantities of the seat `traverser` if all play `policy` [I, A].

    Returns:
        The regrets of the traverser's actions in chips [I, A], the counterfactual reach of each
        information set [I], and the counterfactual values of the traverser's sets in chips [I].
    """
    actions = tree.legal_mask.shape[1]
    edge = tree.edge.astype(np.int64)
    reach = np.full(len(tree.parent), 1 / tree.deal_count)
    node_values = tree.node_payoffs[:, traverser].copy()
    q = np.zeros((len(node_values), actions))
    for node in range(tree.deal_count, len(node_values)):
        parent = tree.parent[node]
        prob = 1.0 if tree.seat[parent] == traverser else policy.flat[edge[node]]
        reach[node] = reach[parent] * prob
    for node in reversed(range(tree.deal_count, len(node_values))):
        parent, action = tree.parent[node], edge[node] % actions
        q[parent, action] = node_values[node]
        node_values[parent] += policy.flat[edge[node]] * node_values[node]
    regrets = np.zeros(tree.legal_mask.shape)
    infoset_reach, infoset_values = np.zeros((2, tree.infoset_count))
    for node in np.flatnonzero(tree.seat >= 0):
        i = tree.infoset[node]
        if tree.seat[node] == traverser:
            regrets[i] += reach[node] * (q[node] - node_values[node]) * tree.legal_mask[i]
            infoset_values[i] += reach[node] * node_values[node]
        infoset_reach[i] += reach[node]
    return regrets, infoset_reach, infoset_values


def _list_lines(tree):
    """Return the actions that lead to each node, padded with -1, [N, L], and its deal [N]."""
    lines = np.full((len(tree.parent), max(len(tree.level_starts) - 2, 1)), -1, np.int16)
    deal = np.arange(len(tree.parent))
    for depth in range(1, len(tree.level_starts) - 1):
        rows = np.arange(tree.level_starts[depth], tree.level_starts[depth + 1])
        parent = tree.parent[rows]
        deal[rows] = deal[parent]
        lines[rows] = lines[parent]
        lines[rows, depth - 1] = tree.edge[rows] % tree.game.action_count
    return lines, deal
