"""How the sequences of a tree are laid out, so that passes over them are fast and can be shared."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from poker_rl.games.game import rule
from poker_rl.games.sequences import Sequences

if TYPE_CHECKING:
    from poker_rl.games.tree import Tree

PARALLEL_LEAVES = 1_000_000  # from so many on, a pass is worth sharing out among threads


def laid_out(tree: Tree) -> tuple[Sequences, np.ndarray]:
    """The sequences of a tree of which all else is there, and the part of each deal [seats, D].

    A seat is one part in a small tree, whose passes then go through memory in the order of nodes.
    In a large tree it is one for each hand that it can hold.
    """
    seats, actions = tree.game.seats, tree.game.actions
    last = np.empty((len(tree.parent), seats), np.uint32)
    last[: tree.deals] = tree.legal.size + np.arange(seats)
    _own_edges(tree.parent, tree.edge, tree.seat, last)
    live, over = np.flatnonzero(tree.seat >= 0), np.flatnonzero(tree.seat < 0)
    previous = np.empty(tree.size, np.uint32)
    previous[tree.infoset[live]] = last[live, tree.seat[live]]

    leaf_edge, payoff = _leaves(last[over], tree.payoffs[over] / tree.deals)
    large = len(payoff) >= PARALLEL_LEAVES
    part_of_deal = _parts(tree, previous) if large else np.arange(seats).repeat(tree.deals)
    part_of_deal = part_of_deal.reshape(seats, tree.deals)
    part = np.empty(tree.size, np.int64)
    part[tree.infoset[live]] = part_of_deal[tree.seat[live], _deals(tree)[live]]
    seat_parts = np.append(part_of_deal.min(1), part_of_deal.max() + 1)
    begin = np.flatnonzero(np.diff(part, prepend=-1))
    end = np.append(begin[1:], tree.size)
    runs = np.argsort(part[begin], kind="stable")
    parts = np.searchsorted(part[begin][runs], np.arange(seat_parts[-1] + 1))

    edges = np.concatenate([np.roll(leaf_edge, -seat, axis=1) for seat in range(seats)])
    # The edges before the seats' first moves are of no information set; their numbers are the last.
    above, action = np.divmod(edges[:, 0].astype(np.int64), actions)
    none = np.flatnonzero(above >= tree.size)
    above[none] = 0
    group = part[above]
    group[none] = seat_parts[-1] + edges[none, 0] - tree.legal.size
    place = group * len(leaf_edge)
    if large:  # one line of actions after another, the edges of each of which fit into a cache
        line = tree.node[above]
        line[none] = 0
        place = group * (tree.node_count * actions) + line * actions + action
    in_groups = np.argsort(place, kind="stable")
    part_leaves = np.searchsorted(group[in_groups], np.arange(seat_parts[-1] + seats + 1))
    return Sequences(
        *(previous, tree.legal, seat_parts, begin[runs], end[runs], parts),
        leaf_edge=np.ascontiguousarray(edges[in_groups].T),
        leaf_payoff=payoff.T.ravel()[in_groups],
        part_leaves=part_leaves,
    ), part_of_deal


def _parts(tree: Tree, previous: np.ndarray) -> np.ndarray:
    """The part in which each seat is with each deal, [seats, D].

    Deals that a seat can't tell apart at some information set belong to the same part, and with
    them all information sets that they lead to.
    """
    deal, parts, count = _deals(tree), np.empty((tree.game.seats, tree.deals), np.int64), 0
    for seat in range(tree.game.seats):
        nodes = np.flatnonzero(tree.seat == seat)
        first = nodes[previous[tree.infoset[nodes]] >= tree.legal.size]  # where the seat acts first
        same = _connected(deal[first], tree.infoset[first], tree.deals, tree.size)
        numbers, parts[seat] = np.unique(same, return_inverse=True)
        parts[seat] += count
        count += len(numbers)
    return parts


def _deals(tree: Tree) -> np.ndarray:
    """The deal of each node, [N]."""
    deal = np.arange(len(tree.parent))
    for begin, end in pairwise(tree.levels[1:].tolist()):
        deal[begin:end] = deal[tree.parent[begin:end]]
    return deal


def _connected(deal: np.ndarray, infoset: np.ndarray, deals: int, size: int) -> np.ndarray:
    """The first of the deals that each deal [D] is connected with, by pairs of both [N]."""
    found = np.arange(deals)
    while True:
        least = np.full(size, deals)
        np.minimum.at(least, infoset, found[deal])
        before = found.copy()
        np.minimum.at(found, deal, least[infoset])
        if (found == before).all():
            return found


@rule
def _own_edges(parent, edge, seat, last):  # type: ignore[no-untyped-def]
    """Fill `last` [N, seats], each seat's last own edge on the way to a node, below the roots."""
    for i in range(len(parent)):
        if parent[i] >= 0:
            for other in range(last.shape[1]):  # copying a row whole takes seconds to compile
                last[i, other] = last[parent[i], other]
            last[i, seat[parent[i]]] = edge[i]


def _leaves(edges: np.ndarray, payoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the payoffs of equal rows of edges: leaves [L, seats], in the order first seen."""
    kind = np.zeros(len(edges), np.int64)
    for column in edges.T.astype(np.int64):
        kind = np.unique(kind * (column.max() + 1) + column, return_inverse=True)[1]
    first = np.unique(kind, return_index=True)[1]
    order = np.argsort(first)
    sums = [np.bincount(kind, column)[order] for column in payoffs.T]
    return edges[first[order]], np.stack(sums, axis=1)
