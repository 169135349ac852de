"""The exact value of every table of a game that can be enumerated, as `luck.py` takes values."""

from __future__ import annotations

import numpy as np

from poker_rl.evaluation.equity import UNDEALT
from poker_rl.games.tree import Tree


class TreeValue:
    """What the nodes of a tree are worth, looked up by the actions so far and the cards known.

    Args:
        worth: of each node to each seat, [N, seats]; `expected` gives what policies make of it.
    """

    def __init__(self, tree: Tree, worth: np.ndarray) -> None:
        self._game = tree.game
        definition = tree.game.record[0]
        self._first = int(definition["seats"]) * int(definition["hole"])
        streets = definition["shown"][: definition["streets"]].astype(int)
        self._groups = [int(definition["hole"])] * int(definition["seats"])
        self._groups += np.diff(streets, prepend=0).tolist()
        lines, deal = _lines(tree)
        cards = tree.game.deals()[deal]  # [N, dealt]
        self._width = lines.shape[1]
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for shown in {UNDEALT, *streets.tolist()}:
            keys, place = np.unique(self._keys(lines, cards, shown), return_inverse=True)
            count = np.bincount(place)
            means = [np.bincount(place, column) / count for column in worth.T]
            self._known[shown] = keys, np.stack(means, axis=1)

    def values(self, records: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Tables [B] of which only so many board cards [B] are known -> chips [B, seats, 1]."""
        out = np.empty((len(records), self._game.seats))
        dealt = sum(self._groups)
        for many in np.unique(shown):
            mine = np.flatnonzero(shown == many)
            part = records[mine]
            line = part["line"][:, : self._width].astype(np.int16)
            line[np.arange(self._width) >= part["moves"][:, None]] = -1
            keys, means = self._known[int(many)]
            wanted = self._keys(line, part["deck"][:, :dealt], int(many))
            out[mine] = means[np.searchsorted(keys, wanted)]
        return out[:, :, None]

    def _keys(self, lines: np.ndarray, cards: np.ndarray, shown: int) -> np.ndarray:
        """Actions [B, L] and the first cards of the deck [B, dealt], as far as known, as bytes."""
        known = 0 if shown == UNDEALT else self._first + shown
        parts, at = [lines.astype(np.int16)], 0
        for size in self._groups:  # cards that come together have no order
            if at + size <= known and size:
                parts.append(np.sort(cards[:, at : at + size], axis=1).astype(np.int16))
            at += size
        key = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return key.view(np.dtype((np.void, key.shape[1] * key.itemsize)))[:, 0]


def expected(tree: Tree, policy: np.ndarray) -> np.ndarray:
    """What each seat wins on average from every node on, if all play `policy` [I, A]: [N, seats].

    All cards of the deal count as known, those that nobody has seen yet too.
    """
    worth = tree.payoffs.copy()
    for depth in range(len(tree.levels) - 2, 0, -1):
        first, end = tree.levels[depth : depth + 2]
        chance = policy.ravel()[tree.edge[first:end]]
        np.add.at(worth, tree.parent[first:end], chance[:, None] * worth[first:end])
    return worth


def counterfactual(
    tree: Tree, policy: np.ndarray, traverser: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a hand in which all play `policy` [I, A], without the chances of the traverser's actions.

    Returns:
        the regrets of his actions [I, A], how often each infoset is met [I], and what he wins from
        his own on, times how often they are met [I]; in chips.
    """
    actions = tree.legal.shape[1]
    edge = tree.edge.astype(np.int64)
    reach = np.full(len(tree.parent), 1 / tree.deals)
    worth = tree.payoffs[:, traverser].copy()
    q = np.zeros((len(worth), actions))
    for node in range(tree.deals, len(worth)):
        above = tree.parent[node]
        chance = 1.0 if tree.seat[above] == traverser else policy.flat[edge[node]]
        reach[node] = reach[above] * chance
    for node in reversed(range(tree.deals, len(worth))):
        above, action = tree.parent[node], edge[node] % actions
        q[above, action] = worth[node]
        worth[above] += policy.flat[edge[node]] * worth[node]
    regrets, met, won = np.zeros(tree.legal.shape), np.zeros(tree.size), np.zeros(tree.size)
    for node in np.flatnonzero(tree.seat >= 0):
        i = tree.infoset[node]
        if tree.seat[node] == traverser:
            regrets[i] += reach[node] * (q[node] - worth[node]) * tree.legal[i]
            won[i] += reach[node] * worth[node]
        met[i] += reach[node]
    return regrets, met, won


def _lines(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """The actions that lead to each node, -1 from its last one on, [N, L]; and its deal [N]."""
    lines = np.full((len(tree.parent), max(len(tree.levels) - 2, 1)), -1, np.int16)
    deal = np.arange(len(tree.parent))
    for depth in range(1, len(tree.levels) - 1):
        rows = np.arange(tree.levels[depth], tree.levels[depth + 1])
        above = tree.parent[rows]
        deal[rows] = deal[above]
        lines[rows] = lines[above]
        lines[rows, depth - 1] = tree.edge[rows] % tree.game.actions
    return lines, deal
