"""Builder of the sequence form of a tree, in an order that allows fast and parallel passes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.sequence_form import SequenceForm
from poker_rl.games.tree_nodes import TreeNodes

MIN_PARALLEL_LEAVES = 1_000_000  # with fewer leaves threads cost more than they save


def build_sequence_form(tree: TreeNodes) -> tuple[SequenceForm, np.ndarray]:
    """Return the sequence form of a tree, and the part of each seat in each deal, [seats, D].

    A small tree has one part (see `sequence_form`) for each seat, a large tree one for each private
    hand of each seat.
    """
    seats, actions = tree.game.seats, tree.game.action_count
    last_own_edge = np.empty((len(tree.parent), seats), np.uint32)
    last_own_edge[: tree.deal_count] = tree.legal_mask.size + np.arange(seats)
    _fill_last_own_edges(tree.parent, tree.edge, tree.seat, last_own_edge)
    decision_nodes, terminal_nodes = np.flatnonzero(tree.seat >= 0), np.flatnonzero(tree.seat < 0)
    previous_edge = np.empty(tree.infoset_count, np.uint32)
    previous_edge[tree.infoset[decision_nodes]] = last_own_edge[
        decision_nodes, tree.seat[decision_nodes]
    ]

    leaf_edge, payoff = _merge_equal_leaves(
        last_own_edge[terminal_nodes], tree.node_payoffs[terminal_nodes] / tree.deal_count
    )
    is_large = len(payoff) >= MIN_PARALLEL_LEAVES
    part_of_deal = (
        _assign_parts(tree, previous_edge) if is_large else np.arange(seats).repeat(tree.deal_count)
    )
    part_of_deal = part_of_deal.reshape(seats, tree.deal_count)
    part_of_infoset = np.empty(tree.infoset_count, np.int64)
    part_of_infoset[tree.infoset[decision_nodes]] = part_of_deal[
        tree.seat[decision_nodes], _find_deal_of_node(tree)[decision_nodes]
    ]
    first_part_of_seat = np.append(part_of_deal.min(1), part_of_deal.max() + 1)
    run_start = np.flatnonzero(np.diff(part_of_infoset, prepend=-1))
    run_end = np.append(run_start[1:], tree.infoset_count)
    runs_by_part = np.argsort(part_of_infoset[run_start], kind="stable")
    first_run_of_part = np.searchsorted(
        part_of_infoset[run_start][runs_by_part], np.arange(first_part_of_seat[-1] + 1)
    )

    edges = np.concatenate([np.roll(leaf_edge, -seat, axis=1) for seat in range(seats)])
    # An edge from I * A on is a root, which belongs to no information set.
    infoset, action = np.divmod(edges[:, 0].astype(np.int64), actions)
    before_first_move = np.flatnonzero(infoset >= tree.infoset_count)
    infoset[before_first_move] = 0
    leaf_group = part_of_infoset[infoset]
    leaf_group[before_first_move] = (
        first_part_of_seat[-1] + edges[before_first_move, 0] - tree.legal_mask.size
    )
    sort_key = leaf_group * len(leaf_edge)
    if is_large:  # sort by betting line, so that the edges of a line fit into a CPU cache
        betting_node = tree.betting_node[infoset]
        betting_node[before_first_move] = 0
        sort_key = (
            leaf_group * (tree.betting_node_count * actions) + betting_node * actions + action
        )
    leaf_order = np.argsort(sort_key, kind="stable")
    first_leaf_of_group = np.searchsorted(
        leaf_group[leaf_order], np.arange(first_part_of_seat[-1] + seats + 1)
    )
    return SequenceForm(
        previous_edge=previous_edge,
        legal_mask=tree.legal_mask,
        first_part_of_seat=first_part_of_seat,
        run_start=run_start[runs_by_part],
        run_end=run_end[runs_by_part],
        first_run_of_part=first_run_of_part,
        leaf_edge=np.ascontiguousarray(edges[leaf_order].T),
        leaf_payoff=payoff.T.ravel()[leaf_order],
        first_leaf_of_group=first_leaf_of_group,
    ), part_of_deal


def _assign_parts(tree: TreeNodes, previous_edge: np.ndarray) -> np.ndarray:
    """Return the part of each seat in each deal, [seats, D]; each private hand has its own part."""
    deal_of_node, part_count = _find_deal_of_node(tree), 0
    part_of_deal = np.empty((tree.game.seats, tree.deal_count), np.int64)
    for seat in range(tree.game.seats):
        nodes = np.flatnonzero(tree.seat == seat)
        first_decision_nodes = nodes[previous_edge[tree.infoset[nodes]] >= tree.legal_mask.size]
        representative_deal = _find_first_connected_deals(
            deal_of_node[first_decision_nodes],
            tree.infoset[first_decision_nodes],
            tree.deal_count,
            tree.infoset_count,
        )
        representatives, part_of_deal[seat] = np.unique(representative_deal, return_inverse=True)
        part_of_deal[seat] += part_count
        part_count += len(representatives)
    return part_of_deal


def _find_deal_of_node(tree: TreeNodes) -> np.ndarray:
    deal = np.arange(len(tree.parent))
    for start, end in pairwise(tree.level_starts[1:].tolist()):
        deal[start:end] = deal[tree.parent[start:end]]
    return deal


def _find_first_connected_deals(
    pair_deals: np.ndarray, pair_infosets: np.ndarray, deal_count: int, infoset_count: int
) -> np.ndarray:
    """Return the first deal of each deal's connected component, [D].

    Deals that lead to the same information set are connected; the deal `pair_deals[n]` leads to the
    information set `pair_infosets[n]`.
    """
    representative = np.arange(deal_count)
    while True:
        min_of_infoset = np.full(infoset_count, deal_count)
        np.minimum.at(min_of_infoset, pair_infosets, representative[pair_deals])
        previous_representative = representative.copy()
        np.minimum.at(representative, pair_deals, min_of_infoset[pair_infosets])
        if (representative == previous_representative).all():
            return representative


@jit
def _fill_last_own_edges(parent, edge, seat, last_own_edge):  # type: ignore[no-untyped-def]
    """Write each seat's last edge before each node, [N, seats]; rows of roots are filled before."""
    for i in range(len(parent)):
        if parent[i] >= 0:
            # A loop, because a copy of the row as a slice takes seconds to compile.
            for seat_index in range(last_own_edge.shape[1]):
                last_own_edge[i, seat_index] = last_own_edge[parent[i], seat_index]
            last_own_edge[i, seat[parent[i]]] = edge[i]


def _merge_equal_leaves(edges: np.ndarray, payoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge leaves with equal edges [L, seats] and sum their payoffs [L, seats]; keep the order."""
    row_class = np.zeros(len(edges), np.int64)
    for column in edges.T.astype(np.int64):
        row_class = np.unique(row_class * (column.max() + 1) + column, return_inverse=True)[1]
    first_row = np.unique(row_class, return_index=True)[1]
    order = np.argsort(first_row)
    payoff_sums = [np.bincount(row_class, column)[order] for column in payoffs.T]
    return edges[first_row[order]], np.stack(payoff_sums, axis=1)
