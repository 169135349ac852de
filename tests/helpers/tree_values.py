"""Exact value of every table of a game that can be enumerated, as a value function of AIVAT."""

import numpy as np

from poker_rl.evaluation.variance_reduction.pot_equity_value import HOLE_CARDS_UNKNOWN


class TreeValue:
    """Value function that looks nodes of a tree up by their actions and known cards.

    Args:
        worth: value of each node to each seat, [N, seats], as from `expected`.
    """

    def __init__(self, tree, worth):
        self._game = tree.game
        definition = tree.game.definitions[0]
        self._first = int(definition["seats"]) * int(definition["hole"])
        streets = definition["shown"][: definition["streets"]].astype(int)
        self._groups = [int(definition["hole"])] * int(definition["seats"])
        self._groups += np.diff(streets, prepend=0).tolist()
        lines, deal = _lines(tree)
        cards = tree.game.list_deals()[deal]  # [N, dealt]
        self._width = lines.shape[1]
        self._known = {}
        for shown in {HOLE_CARDS_UNKNOWN, *streets.tolist()}:
            keys, key_index = np.unique(self._keys(lines, cards, shown), return_inverse=True)
            count = np.bincount(key_index)
            means = [np.bincount(key_index, column) / count for column in worth.T]
            self._known[shown] = keys, np.stack(means, axis=1)

    def compute_values(self, records, board_cards_known):
        """Return the values of tables [B] with known board cards [B], [B, seats, 1] chips."""
        out = np.empty((len(records), self._game.seats))
        dealt = sum(self._groups)
        for many in np.unique(board_cards_known):
            mine = np.flatnonzero(board_cards_known == many)
            part = records[mine]
            line = part["line"][:, : self._width].astype(np.int16)
            line[np.arange(self._width) >= part["moves"][:, None]] = -1
            keys, means = self._known[int(many)]
            wanted_keys = self._keys(line, part["deck"][:, :dealt], int(many))
            out[mine] = means[np.searchsorted(keys, wanted_keys)]
        return out[:, :, None]

    def _keys(self, lines, cards, shown):
        """Return actions [B, L] and the known cards of decks [B, dealt] as bytes."""
        known = 0 if shown == HOLE_CARDS_UNKNOWN else self._first + shown
        parts, at = [lines.astype(np.int16)], 0
        for size in self._groups:  # cards that come together have no order
            if at + size <= known and size:
                parts.append(np.sort(cards[:, at : at + size], axis=1).astype(np.int16))
            at += size
        key = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return key.view(np.dtype((np.void, key.shape[1] * key.itemsize)))[:, 0]


def any_policy(tree, seed):
    """Return a random policy, [I, A]."""
    weights = np.random.default_rng(seed).random(tree.legal_mask.shape)
    return tree.normalize_policy(weights * tree.legal_mask)


def compute_expected_values(tree, policy):
    """Return the value of every node to each seat if all play `policy` [I, A], [N, seats].

    All cards of the deal count as known.
    """
    worth = tree.node_payoffs.copy()
    for depth in range(len(tree.level_starts) - 2, 0, -1):
        first, end = tree.level_starts[depth : depth + 2]
        prob = policy.ravel()[tree.edge[first:end]]
        np.add.at(worth, tree.parent[first:end], prob[:, None] * worth[first:end])
    return worth


def compute_counterfactual_values(tree, policy, traverser):
    """Return counterfactual quantities of a traverser if all play `policy` [I, A], in chips.

    Returns:
        The regrets of the traverser's actions [I, A], the counterfactual reach of each information
        set [I], and the counterfactual values of the traverser's own [I].
    """
    actions = tree.legal_mask.shape[1]
    edge = tree.edge.astype(np.int64)
    reach = np.full(len(tree.parent), 1 / tree.deal_count)
    worth = tree.node_payoffs[:, traverser].copy()
    q = np.zeros((len(worth), actions))
    for node in range(tree.deal_count, len(worth)):
        above = tree.parent[node]
        prob = 1.0 if tree.seat[above] == traverser else policy.flat[edge[node]]
        reach[node] = reach[above] * prob
    for node in reversed(range(tree.deal_count, len(worth))):
        above, action = tree.parent[node], edge[node] % actions
        q[above, action] = worth[node]
        worth[above] += policy.flat[edge[node]] * worth[node]
    regrets = np.zeros(tree.legal_mask.shape)
    met, won = np.zeros((2, tree.infoset_count))
    for node in np.flatnonzero(tree.seat >= 0):
        i = tree.infoset[node]
        if tree.seat[node] == traverser:
            regrets[i] += reach[node] * (q[node] - worth[node]) * tree.legal_mask[i]
            won[i] += reach[node] * worth[node]
        met[i] += reach[node]
    return regrets, met, won


def _lines(tree):
    """Return the actions that lead to each node, padded with -1, [N, L], and its deal [N]."""
    lines = np.full((len(tree.parent), max(len(tree.level_starts) - 2, 1)), -1, np.int16)
    deal = np.arange(len(tree.parent))
    for depth in range(1, len(tree.level_starts) - 1):
        rows = np.arange(tree.level_starts[depth], tree.level_starts[depth + 1])
        above = tree.parent[rows]
        deal[rows] = deal[above]
        lines[rows] = lines[above]
        lines[rows, depth - 1] = tree.edge[rows] % tree.game.action_count
    return lines, deal
