"""The sequence form of a tree (von Stengel 1996) and compiled passes over it.

The owner of an information set is the seat that acts there. An edge is the pair of an information
set i and an action a. It has the index i * A + a and stands for the sequence of the owner's moves
up to and including a. The empty sequences of the seats are called roots and have the last indices,
so an array over edges has I * A + seats entries. Parents come before children: one forward loop
computes reach probabilities, and one backward loop computes values.

The information sets of a seat are divided into parts, such as one for each private hand. All moves
of the seat before an information set are in the same part. Passes over different parts write to
different entries and may run in parallel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poker_rl.games.game import jit


class SequenceForm(NamedTuple):
    """The arrays of a tree with I information sets, A actions, L leaves, P parts and R runs.

    A run is a range of adjacent information sets of one part. A leaf combines all terminal nodes
    that have the same last edge of every seat. The leaf arrays have a column for each leaf and
    seat. Columns are grouped by the part of this seat's last edge; those in which the seat has not
    moved follow, grouped by seat.

    Attributes:
        previous_edge: the owner's last edge before each information set, or its root, [I] uint32
        legal_mask: action mask of each information set, [I, A] bool
        first_part_of_seat: first part of each seat, then P, [seats + 1]
        run_start: first information set of each run, [R], by part and from parents to children
        run_end: 1 + the last information set of each run, [R]
        first_run_of_part: first run of each part, then R, [P + 1]
        leaf_edge: last edge of the column's seat, then of the seats to its left, as
            [seats, seats * L] uint32
        leaf_payoff: chips won by the column's seat, times the probability of the deals, [seats * L]
        first_leaf_of_group: first column of each group, then seats * L, [P + seats + 1]
    """

    previous_edge: np.ndarray
    legal_mask: np.ndarray
    first_part_of_seat: np.ndarray
    run_start: np.ndarray
    run_end: np.ndarray
    first_run_of_part: np.ndarray
    leaf_edge: np.ndarray
    leaf_payoff: np.ndarray
    first_leaf_of_group: np.ndarray


def split_parts_among_threads(
    first_part: int, stop_part: int, thread_count: int
) -> tuple[list[int], list[int]]:
    """Divide the parts of a tree evenly among threads; return each thread's first and stop part."""
    bounds = np.linspace(first_part, stop_part, thread_count + 1).astype(int).tolist()
    return bounds[:-1], bounds[1:]


@jit
def compute_reach(sequences, part, policy, reach):  # type: ignore[no-untyped-def]
    """Write for each edge of a part the probability that its owner makes all moves up to this edge.

    In the output `reach` [I * A + seats] float64, the entry of the owner's root must already be 1.
    """
    actions = policy.shape[1]
    for infoset_run in range(
        sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]
    ):
        for i in range(sequences.run_start[infoset_run], sequences.run_end[infoset_run]):
            parent_reach = reach[sequences.previous_edge[i]]
            for a in range(actions):
                reach[i * actions + a] = parent_reach * policy[i, a]


@jit
def collect_leaf_values(sequences, part, reach, counterfactual_values):  # type: ignore[no-untyped-def]
    """Write each edge's counterfactual value from hands in which it is the owner's last move.

    The edges are those of a part. Payoffs are weighted with the probability of the deal and of the
    moves of all other seats.

    Args:
        reach: the result of `compute_reach` for the parts of the other seats, [I * A + seats].
        counterfactual_values: output, [I * A + seats] float64, chips per hand.
    """
    actions = sequences.legal_mask.shape[1]
    for infoset_run in range(
        sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]
    ):
        for edge in range(
            sequences.run_start[infoset_run] * actions, sequences.run_end[infoset_run] * actions
        ):
            counterfactual_values[edge] = 0
    add_leaf_values(sequences, part, reach, counterfactual_values)


@jit
def collect_root_leaf_values(sequences, seat, reach, counterfactual_values):  # type: ignore[no-untyped-def]
    """Write the counterfactual value of a seat's root from hands that end before the seat acts."""
    counterfactual_values[sequences.legal_mask.size + seat] = 0
    add_leaf_values(
        sequences, len(sequences.first_run_of_part) - 1 + seat, reach, counterfactual_values
    )


@jit
def add_leaf_values(sequences, group, reach, counterfactual_values):  # type: ignore[no-untyped-def]
    """Add the payoff of each leaf of a group, weighted by reach, to the value of its first edge."""
    first_leaf = sequences.first_leaf_of_group[group]
    stop_leaf = sequences.first_leaf_of_group[group + 1]
    edges = sequences.leaf_edge[:, first_leaf:stop_leaf]
    payoffs = sequences.leaf_payoff[first_leaf:stop_leaf]
    own_edge, first_opponent_edge = edges[0], edges[1]
    # The loop counts from 0, so the compiler knows that no index is negative and leaves out a test.
    for leaf in range(len(payoffs)):
        value = payoffs[leaf] * reach[first_opponent_edge[leaf]]
        for opponent in range(2, len(edges)):
            value *= reach[edges[opponent, leaf]]
        counterfactual_values[own_edge[leaf]] += value


@jit
def compute_best_response(sequences, part, counterfactual_values):  # type: ignore[no-untyped-def]
    """Propagate the values of a seat's best response from its last moves to its first.

    In `counterfactual_values` [I * A + seats], the result of `collect_leaf_values`, the best value
    at each information set of the part is added to the owner's previous edge. Return the total of
    the best values that have no previous edge but the root, in chips per hand.
    """
    actions = sequences.legal_mask.shape[1]
    root_value = 0.0
    for infoset_run in range(
        sequences.first_run_of_part[part + 1] - 1, sequences.first_run_of_part[part] - 1, -1
    ):
        for i in range(
            sequences.run_end[infoset_run] - 1, sequences.run_start[infoset_run] - 1, -1
        ):
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
def compute_mean_regret(regrets):  # type: ignore[no-untyped-def]
    """Return the mean over information sets of the largest positive regret in regrets [I, A]."""
    total = 0.0
    for i in range(len(regrets)):
        max_regret = 0.0
        for a in range(regrets.shape[1]):
            max_regret = max(max_regret, regrets[i, a])
        total += max_regret
    return total / len(regrets)
