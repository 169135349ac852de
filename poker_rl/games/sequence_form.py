"""The sequence form of a tree (von Stengel 1996) and compiled passes over it.

The owner of an information set is the seat that acts there. The I information sets are numbered
so that each follows all those at which its owner acted before. An edge is the pair of information
set i and one of the A actions, a. It has the index i * A + a and stands for the sequence of the
owner's moves up to and including a. The empty sequences of the seats are called roots and have the
last indices, so an array over edges has I * A + seats entries.

The information sets of a seat are divided into parts, such as one for each private hand. The moves
of the seat before an information set belong to the same part as the set. Passes over different
parts write to different entries and may run in parallel. A pass gets the tree's `SequenceForm` as
`sequences`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poker_rl.games.game import jit

if TYPE_CHECKING:
    from poker_rl.games.game_tree import GameTree

MIN_PARALLEL_LEAVES = 1_000_000  # with fewer leaves threads cost more than they save


class SequenceForm(NamedTuple):
    """The arrays of a tree with I information sets, A actions, L leaves, P parts and R runs.

    A run is a range of adjacent information sets of one part. A leaf combines all terminal nodes
    that have the same last edge of every seat. The leaf arrays have a column for each pair of a
    leaf and a seat, seats * L in all, sorted into P + seats groups. Group p < P has the columns
    whose seat makes its last move before the leaf in part p. Group P + s has the columns of seat s
    in which s makes no move before the leaf.
    """

    previous_edge: np.ndarray  # owner's last edge before each infoset (root if none), [I] uint32
    legal_mask: np.ndarray  # action mask of each information set, [I, A] bool
    first_part_of_seat: np.ndarray  # first part of each seat, and at the end P, [seats + 1]
    run_start: np.ndarray  # first information set of each run, ordered by part, then by depth, [R]
    run_end: np.ndarray  # 1 + the last information set of each run, [R]
    first_run_of_part: np.ndarray  # first run of each part, and at the end R, [P + 1]
    # The last edges before the leaf of each column. Row 0 has the edge of the column's seat, row k
    # that of the k-th seat after it in turn order, [seats, seats * L].
    leaf_edge: np.ndarray
    # For each column, the chips won by its seat times the probability of the deal, as a sum over
    # the terminal nodes of its leaf, [seats * L].
    leaf_payoff: np.ndarray
    # First column of each group, and at the end the number of columns, [P + seats + 1].
    first_column_of_group: np.ndarray


def build_sequence_form(tree: GameTree) -> SequenceForm:
    """Return the sequence form of a tree.

    In a small tree all information sets of a seat are one part. In a large tree each private hand
    is a part, so that threads can work on several parts in parallel.
    """
    seats, actions = tree.game.seats, tree.game.action_count
    last_own_edge = _compute_last_own_edges(tree)
    decision_nodes, terminal_nodes = np.flatnonzero(tree.seat >= 0), np.flatnonzero(tree.seat < 0)
    previous_edge = np.empty(tree.infoset_count, np.uint32)
    seat_to_act = tree.seat[decision_nodes]
    previous_edge[tree.infoset[decision_nodes]] = last_own_edge[decision_nodes, seat_to_act]
    leaf_edge, payoff = _merge_equal_leaves(
        last_own_edge[terminal_nodes], tree.node_payoffs[terminal_nodes] / tree.deal_count
    )
    is_large = len(payoff) >= MIN_PARALLEL_LEAVES
    part_of_infoset = tree.infoset_seat.astype(np.int64)
    first_part_of_seat = np.arange(seats + 1)
    if is_large:
        part_of_infoset, first_part_of_seat = _divide_infosets_by_hand(tree, decision_nodes)
    part_count = first_part_of_seat[-1]
    run_start = np.flatnonzero(np.diff(part_of_infoset, prepend=-1))
    run_end = np.append(run_start[1:], tree.infoset_count)
    part_of_run = part_of_infoset[run_start]
    runs_by_part = np.argsort(part_of_run, kind="stable")
    first_run_of_part = np.searchsorted(part_of_run[runs_by_part], np.arange(part_count + 1))

    edges = np.concatenate([np.roll(leaf_edge, -seat, axis=1) for seat in range(seats)])
    # Edges with an index of at least I * A are roots, which belong to no information set.
    infoset, action = np.divmod(edges[:, 0].astype(np.int64), actions)
    before_first_move = np.flatnonzero(infoset >= tree.infoset_count)
    infoset[before_first_move] = 0
    leaf_group = part_of_infoset[infoset]
    leaf_group[before_first_move] = part_count + edges[before_first_move, 0] - tree.legal_mask.size
    sort_key = leaf_group
    if is_large:  # sort by betting node, so that the edges of a node fit into a CPU cache
        betting_node = tree.betting_node[infoset]
        betting_node[before_first_move] = 0
        sort_key = (leaf_group * tree.betting_node_count + betting_node) * actions + action
    leaf_order = np.argsort(sort_key, kind="stable")
    groups = np.arange(part_count + seats + 1)
    first_column_of_group = np.searchsorted(leaf_group[leaf_order], groups)
    return SequenceForm(
        previous_edge=previous_edge,
        legal_mask=tree.legal_mask,
        first_part_of_seat=first_part_of_seat,
        run_start=run_start[runs_by_part],
        run_end=run_end[runs_by_part],
        first_run_of_part=first_run_of_part,
        leaf_edge=np.ascontiguousarray(edges[leaf_order].T),
        leaf_payoff=payoff.T.ravel()[leaf_order],
        first_column_of_group=first_column_of_group,
    )


def _divide_infosets_by_hand(
    tree: GameTree, decision_nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Divide the information sets of each seat into parts, one for each private hand.

    Two deals give a seat the same hand if both lead to one information set of the seat, or if a
    chain of such pairs connects them. Return the part of each information set, [I], and the index
    of each seat's first part and, at the end, the number of parts, [seats + 1].
    """
    level_sizes = np.diff(tree.level_starts)  # levels are sorted by deal, equally many nodes each
    deal = np.concatenate([np.arange(n) // (n // tree.deal_count) for n in level_sizes])
    hand = tree.seat[decision_nodes].astype(np.int64) * tree.deal_count + deal[decision_nodes]
    infoset = tree.infoset[decision_nodes]
    first_connected_hand = np.arange(tree.game.seats * tree.deal_count)
    while True:
        first_hand_of_infoset = np.full(tree.infoset_count, len(first_connected_hand))
        np.minimum.at(first_hand_of_infoset, infoset, first_connected_hand[hand])
        previous = first_connected_hand.copy()
        np.minimum.at(first_connected_hand, hand, first_hand_of_infoset[infoset])
        if (first_connected_hand == previous).all():
            break
    parts = np.unique(first_connected_hand)
    first_hand_of_seat = np.arange(tree.game.seats + 1) * tree.deal_count
    return np.searchsorted(parts, first_hand_of_infoset), np.searchsorted(parts, first_hand_of_seat)


def _compute_last_own_edges(tree: GameTree) -> np.ndarray:
    """Return each seat's last edge before each node, or the seat's root, [nodes, seats] uint32."""
    last_own_edge = np.empty((len(tree.parent), tree.game.seats), np.uint32)
    last_own_edge[: tree.deal_count] = tree.legal_mask.size + np.arange(tree.game.seats)
    for start, end in pairwise(tree.level_starts[1:].tolist()):
        parent = tree.parent[start:end]
        last_own_edge[start:end] = last_own_edge[parent]
        last_own_edge[np.arange(start, end), tree.seat[parent]] = tree.edge[start:end]
    return last_own_edge


def _merge_equal_leaves(edges: np.ndarray, payoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge terminal nodes into one leaf if the last edge of every seat is the same at all of them.

    `edges` [T, seats] are the last edges at T terminal nodes. The `payoffs` [T, seats] of merged
    nodes are added up. Return the edges and payoffs of the L leaves, both [L, seats]; leaves are in
    the order of their first nodes.
    """
    row_class = np.zeros(len(edges), np.int64)
    for column in edges.T.astype(np.int64):
        row_class = np.unique(row_class * (column.max() + 1) + column, return_inverse=True)[1]
    first_row = np.unique(row_class, return_index=True)[1]
    order = np.argsort(first_row)
    payoff_sums = [np.bincount(row_class, column)[order] for column in payoffs.T]
    return edges[first_row[order]], np.stack(payoff_sums, axis=1)


def split_parts_among_threads(
    first_part: int, stop_part: int, thread_count: int
) -> tuple[list[int], list[int]]:
    """Divide parts evenly among threads; return each thread's first part and 1 + its last part."""
    bounds = np.linspace(first_part, stop_part, thread_count + 1).astype(int).tolist()
    return bounds[:-1], bounds[1:]


@jit
def compute_reach(sequences, part, policy, reach):
    """Write for each edge of a part the probability that its owner makes all moves up to this edge.

    The owner plays `policy` [I, A]. In the output `reach` [I * A + seats] float64, the entry of the
    owner's root must already be 1.
    """
    actions = policy.shape[1]
    for run in range(sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]):
        for i in range(sequences.run_start[run], sequences.run_end[run]):
            parent_reach = reach[sequences.previous_edge[i]]
            for a in range(actions):
                reach[i * actions + a] = parent_reach * policy[i, a]


@jit
def write_leaf_counterfactual_values(sequences, part, reach, counterfactual_values):
    """Write for each edge of a part the value of hands in which the owner's last move is this edge.

    A value is the sum of the owner's payoffs in chips, weighted with the probability of the deal
    and of the moves of all other seats. `reach` is the result of `compute_reach` for all seats.
    """
    actions = sequences.legal_mask.shape[1]
    for run in range(sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]):
        first_edge = sequences.run_start[run] * actions
        for edge in range(first_edge, sequences.run_end[run] * actions):
            counterfactual_values[edge] = 0
    add_leaf_values(sequences, part, reach, counterfactual_values)


@jit
def write_leaf_values_of_root(sequences, seat, reach, counterfactual_values):
    """Write the counterfactual value of a seat's root, from hands that end before the seat acts."""
    counterfactual_values[sequences.legal_mask.size + seat] = 0
    group = len(sequences.first_run_of_part) - 1 + seat
    add_leaf_values(sequences, group, reach, counterfactual_values)


@jit
def add_leaf_values(sequences, group, reach, counterfactual_values):
    """Add the counterfactual value of each column of a group to the last edge of its own seat.

    A column of the leaf arrays is a pair of a leaf and a seat, see `SequenceForm`. Its value is the
    seat's payoff times the reach of the other seats' last edges, `leaf_edge[1:]`. It is added to
    the seat's own last edge, `leaf_edge[0]`.
    """
    first_column = sequences.first_column_of_group[group]
    stop_column = sequences.first_column_of_group[group + 1]
    edges = sequences.leaf_edge[:, first_column:stop_column]
    payoffs = sequences.leaf_payoff[first_column:stop_column]
    own_edge, first_opponent_edge = edges[0], edges[1]
    # The loop counts from 0, so that the compiler leaves out the test for negative indices.
    for leaf in range(len(payoffs)):
        value = payoffs[leaf] * reach[first_opponent_edge[leaf]]
        for opponent in range(2, len(edges)):
            value *= reach[edges[opponent, leaf]]
        counterfactual_values[own_edge[leaf]] += value


@jit
def propagate_best_response(sequences, part, counterfactual_values):
    """Propagate the values of a seat's best response from its last moves to its first.

    `counterfactual_values` is the result of `write_leaf_counterfactual_values`. The best value at
    each information set of the part is added in place to the owner's previous edge. Return the sum
    of the best values at information sets where the owner moves first, in chips per hand.
    """
    actions = sequences.legal_mask.shape[1]
    root_value = 0.0
    first_run, stop_run = sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]
    for run in range(stop_run - 1, first_run - 1, -1):
        for i in range(sequences.run_end[run] - 1, sequences.run_start[run] - 1, -1):
            best_value = -np.inf
            for a in range(actions):
                if sequences.legal_mask[i, a]:
                    best_value = max(best_value, counterfactual_values[i * actions + a])
            if sequences.previous_edge[i] < sequences.legal_mask.size:
                counterfactual_values[sequences.previous_edge[i]] += best_value
            else:
                root_value += best_value
    return root_value


@jit
def fill_regret_matching(regrets, legal, policy_out):
    """Write the policy [A] proportional to positive regrets, or uniform if there are none."""
    total, legal_count = 0.0, 0
    for a in range(len(regrets)):
        total += max(regrets[a], 0.0)
        legal_count += legal[a]
    for a in range(len(regrets)):
        if total > 0:
            policy_out[a] = max(regrets[a], 0.0) / total
        else:
            policy_out[a] = legal[a] / legal_count


@jit
def compute_mean_max_regret(regrets):
    """Return the mean over information sets of max(0, the largest regret), for regrets [I, A]."""
    total = 0.0
    for i in range(len(regrets)):
        max_regret = 0.0
        for a in range(regrets.shape[1]):
            max_regret = max(max_regret, regrets[i, a])
        total += max_regret
    return total / len(regrets)
