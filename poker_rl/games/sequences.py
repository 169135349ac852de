"""Compiled passes over a tree's sequences, shared by evaluation and solvers.

An edge (information set, action) stands for all of its owner's moves up to it (von Stengel 1996).
Arrays over edges have size * A + seats entries; the last ones are the roots of the seats' moves.
Parents come before children, so reach goes forward in one loop and values come back in one; `begin`
and `end` bound a seat's information sets.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import rule


@rule
def multiply_out(begin, end, previous, policy, reach):  # type: ignore[no-untyped-def]
    """Write the chance that a seat makes the moves up to each of its edges.

    Args:
        begin: the seat's first information set, `tree.first[seat]`.
        end: one past its last.
        previous: `tree.previous`, [I].
        policy: probabilities of actions, [I, A].
        reach: written here, [size * A + seats] float64; at the seat's root it has to be 1 already.
    """
    actions = policy.shape[1]
    for i in range(begin, end):
        above = reach[previous[i]]
        for a in range(actions):
            reach[i * actions + a] = above * policy[i, a]


@rule
def collect(seat, leaf_edge, leaf_payoffs, reach, earned):  # type: ignore[no-untyped-def]
    """Write what each of a seat's edges earns at leaves it is the last to lead to, in chips.

    A payoff counts with the chance of the deal and of the others' moves, not with the seat's own.

    Args:
        seat: whose edges these are.
        leaf_edge: `tree.leaf_edge`, [seats, L].
        leaf_payoffs: `tree.leaf_payoffs`, [seats, L] chips.
        reach: what `multiply_out` wrote for every other seat, [size * A + seats].
        earned: written here, [size * A + seats] float64 chips a hand; 0 at all other edges.
    """
    seats = len(leaf_edge)
    mine, theirs, payoffs = leaf_edge[seat], leaf_edge[(seat + 1) % seats], leaf_payoffs[seat]
    earned[:] = 0
    for leaf in range(len(payoffs)):
        amount = payoffs[leaf] * reach[theirs[leaf]]
        for other in range(2, seats):
            amount *= reach[leaf_edge[(seat + other) % seats, leaf]]
        earned[mine[leaf]] += amount


@rule
def respond(begin, end, previous, legal, earned):  # type: ignore[no-untyped-def]
    """Add up the result of `collect` for a seat's best response, from its last moves to its root.

    Args:
        begin: the seat's first information set, `tree.first[seat]`.
        end: one past its last.
        previous: `tree.previous`, [I].
        legal: `tree.legal`, [I, A] bool.
        earned: what `collect` wrote, [size * A + seats]; the best result at an information set is
            added to the edge that leads there. The seat's root is then what it wins, chips a hand.
    """
    actions = legal.shape[1]
    for i in range(end - 1, begin - 1, -1):
        best = -np.inf
        for a in range(actions):
            if legal[i, a]:
                best = max(best, earned[i * actions + a])
        earned[previous[i]] += best
