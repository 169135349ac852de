"""Compiled passes over a tree's sequences, shared by evaluation and solvers.

An edge (information set, action) stands for all of its owner's moves up to it (von Stengel 1996).
Arrays over edges have size * A + seats entries; the last ones are the roots of the seats' moves.
Parents come before children, so reach goes forward in one loop and values come back in one.

A seat's information sets fall into parts that have no edge in common, such as one for each hand
that it can hold. Passes over different parts may run at the same time; what they write does not
depend on which comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poker_rl.games.game import rule


class Sequences(NamedTuple):
    """What the passes read of a tree with I information sets, A actions and L leaves.

    A leaf is the ends of hands that no seat can tell apart by its own cards and moves; where every
    seat has acted and knows all its cards, a terminal history.

    Attributes:
        previous: edge of the owner's last own action on the way, or, if there was none,
            size * A + owner, the root of that seat's own moves, [I] uint32.
        legal: [I, A] bool.
        seat_parts: first of the P parts of each seat, and P, [seats + 1].
        begin, end: runs of information sets that stand one after the other and are of one part,
            part by part, parents before children, [R].
        parts: which run each part begins with, and R, [P + 1].
        leaf_edge: the last edge of each seat at a leaf, [seats, seats * L] uint32. Each leaf is
            there once for every seat, whose own edge stands first, then those from its left on.
        leaf_payoff: what that seat wins there times the chance of its deals, [seats * L] chips.
        part_leaves: where the leaves begin to which the edges of each part lead, then of each
            seat those before it acts, and seats * L, [P + seats + 1].
    """

    previous: np.ndarray
    legal: np.ndarray
    seat_parts: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    parts: np.ndarray
    leaf_edge: np.ndarray
    leaf_payoff: np.ndarray
    part_leaves: np.ndarray


def shares(first: int, last: int, threads: int) -> tuple[list[int], list[int]]:
    """The parts from `first` to `last` - 1 in a row for each thread, as many for each: bounds."""
    cuts = np.linspace(first, last, threads + 1).astype(int).tolist()
    return cuts[:-1], cuts[1:]


@rule
def multiply_out(tree, part, policy, reach):  # type: ignore[no-untyped-def]
    """Write the chance that a seat makes the moves up to each edge of a part.

    Args:
        tree: the tree's `sequences`.
        part: which part.
        policy: probabilities of actions, [I, A].
        reach: written here, [size * A + seats] float64; at the seat's root it has to be 1 already.
    """
    actions = policy.shape[1]
    for run in range(tree.parts[part], tree.parts[part + 1]):
        for i in range(tree.begin[run], tree.end[run]):
            above = reach[tree.previous[i]]
            for a in range(actions):
                reach[i * actions + a] = above * policy[i, a]


@rule
def collect(tree, part, reach, earned):  # type: ignore[no-untyped-def]
    """Write what each edge of a part earns at leaves it is the last to lead to, in chips.

    A payoff counts with the chance of the deal and of the others' moves, not with the owner's own.

    Args:
        tree: the tree's `sequences`.
        part: which part.
        reach: what `multiply_out` wrote for every other seat, [size * A + seats].
        earned: written here, [size * A + seats] float64 chips a hand.
    """
    actions = tree.legal.shape[1]
    for run in range(tree.parts[part], tree.parts[part + 1]):
        for edge in range(tree.begin[run] * actions, tree.end[run] * actions):
            earned[edge] = 0
    collect_leaves(tree, part, reach, earned)


@rule
def collect_before(tree, seat, reach, earned):  # type: ignore[no-untyped-def]
    """Write what a seat's root earns in hands that end before the seat acts, as `collect` does."""
    earned[tree.legal.size + seat] = 0
    collect_leaves(tree, len(tree.parts) - 1 + seat, reach, earned)


@rule
def collect_leaves(tree, group, reach, earned):  # type: ignore[no-untyped-def]
    """Add the payoffs of a group of leaves, numbered as in `part_leaves`, to their edges."""
    first, last = tree.part_leaves[group], tree.part_leaves[group + 1]
    edges, payoffs = tree.leaf_edge[:, first:last], tree.leaf_payoff[first:last]
    mine, theirs = edges[0], edges[1]
    for leaf in range(len(payoffs)):  # from 0: an index below it would have to be tested for
        amount = payoffs[leaf] * reach[theirs[leaf]]
        for other in range(2, len(edges)):
            amount *= reach[edges[other, leaf]]
        earned[mine[leaf]] += amount


@rule
def respond(tree, part, earned):  # type: ignore[no-untyped-def]
    """Add up the result of `collect` for a seat's best response, from its last moves to its first.

    Args:
        tree: the tree's `sequences`.
        part: which part.
        earned: what `collect` wrote, [size * A + seats]; the best result at an information set is
            added to the edge that leads there, but not to the seat's root.

    Returns:
        what the best response wins from the information sets of the part, chips a hand.
    """
    actions = tree.legal.shape[1]
    won = 0.0
    for run in range(tree.parts[part + 1] - 1, tree.parts[part] - 1, -1):
        for i in range(tree.end[run] - 1, tree.begin[run] - 1, -1):
            best = -np.inf
            for a in range(actions):
                if tree.legal[i, a]:
                    best = max(best, earned[i * actions + a])
            if tree.previous[i] < tree.legal.size:
                earned[tree.previous[i]] += best
            else:
                won += best
    return won


@rule
def mean_regret(regrets):  # type: ignore[no-untyped-def]
    """The mean over information sets of the largest regret [I, A], at least 0."""
    total = 0.0
    for i in range(len(regrets)):
        largest = 0.0
        for a in range(regrets.shape[1]):
            largest = max(largest, regrets[i, a])
        total += largest
    return total / len(regrets)
