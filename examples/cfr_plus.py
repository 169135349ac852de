"""CFR+ on Leduc hold'em in one file: `python examples/cfr_plus.py --iterations 200`.

CFR+ (Tammelin, arXiv:1407.5042) with alternating updates. It works on arrays of the game tree
with a row for each of N nodes: parent, edge, seat to act, information set and payoffs. There are I
information sets and A actions. The edge of a node is an index into a flattened array [I, A]: that
of the parent's information set and of the action that leads to the node.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np

from poker_rl.evaluation import exploitability
from poker_rl.games import GameTree, get_tree, load_game


def match_regrets(regrets: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """Return a policy proportional to `regrets` [I, A]; uniform if all of an infoset are 0."""
    weights = np.where(regrets.sum(1, keepdims=True) > 0, regrets, legal_mask)
    return weights / weights.sum(1, keepdims=True)


def compute_reach(tree: GameTree, policy: np.ndarray, seat: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two factors [N] of reach probabilities: the seat's, and that of others and chance."""
    own, others = np.ones(len(tree.parent)), np.full(len(tree.parent), 1 / tree.deal_count)
    for start, stop in pairwise(tree.level_starts[1:]):
        parent, prob = tree.parent[start:stop], policy.ravel()[tree.edge[start:stop]]
        is_own = tree.seat[parent] == seat
        own[start:stop] = own[parent] * np.where(is_own, prob, 1)
        others[start:stop] = others[parent] * np.where(is_own, 1, prob)
    return own, others


def compute_values(tree: GameTree, policy: np.ndarray, seat: int) -> np.ndarray:
    """Return the seat's expected payoff at each node, [N]."""
    values = tree.node_payoffs[:, seat].copy()  # 0 at inner nodes; the loop adds their children
    for start, stop in reversed(list(pairwise(tree.level_starts[1:]))):
        prob = policy.ravel()[tree.edge[start:stop]]
        values += np.bincount(tree.parent[start:stop], prob * values[start:stop], len(values))
    return values


def update_seat(
    tree: GameTree,
    seat: int,
    iteration: int,
    policy: np.ndarray,
    regrets: np.ndarray,
    policy_sums: np.ndarray,
) -> None:
    """Run one iteration of CFR+: update a seat's rows of the arrays [I, A] in place."""
    own_reach, others_reach = compute_reach(tree, policy, seat)
    values = compute_values(tree, policy, seat)
    children = np.flatnonzero((tree.parent >= 0) & (tree.seat[tree.parent] == seat))
    parent = tree.parent[children]
    gains = others_reach[parent] * (values[children] - values[parent])
    regrets += np.bincount(tree.edge[children], gains, regrets.size).reshape(regrets.shape)
    np.maximum(regrets, 0, out=regrets)  # the "+": negative regrets are forgotten
    nodes = np.flatnonzero(tree.seat == seat)
    infosets = tree.infoset[nodes]
    infoset_reach = np.zeros(tree.infoset_count)
    infoset_reach[infosets] = own_reach[nodes]  # the same at all nodes of an information set
    policy_sums += iteration * infoset_reach[:, None] * policy
    own_infosets = tree.infoset_seat == seat
    policy[own_infosets] = match_regrets(regrets, tree.legal_mask)[own_infosets]


def main() -> None:
    """Solve the game and print the exploitability of the average policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="leduc")
    parser.add_argument("--iterations", type=int, default=200)
    arguments = parser.parse_args()
    tree = get_tree(load_game(arguments.game))
    policy = tree.build_uniform_policy()
    regrets, policy_sums = np.zeros(policy.shape), np.zeros(policy.shape)
    print(f"iteration 0: exploitability {exploitability(tree, policy):.5f} chips a hand")
    for iteration in range(1, arguments.iterations + 1):
        for seat in range(tree.game.seats):
            update_seat(tree, seat, iteration, policy, regrets, policy_sums)
        if iteration % max(1, arguments.iterations // 10) == 0:
            average = match_regrets(policy_sums, tree.legal_mask)
            distance = exploitability(tree, average)
            print(f"iteration {iteration}: exploitability {distance:.5f} chips a hand")


if __name__ == "__main__":
    main()
