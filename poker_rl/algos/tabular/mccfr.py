"""Monte Carlo counterfactual regret minimization (MCCFR) with external sampling.

Lanctot et al. 2009. In an iteration each seat in turn is the traverser of `traversals` random
hands: one in the published algorithm, many in Deep CFR (arXiv:1811.00164):

    the traverser's decisions   play every action a, then  R(a) += v(a) - sum_b policy(b) v(b)
    other seats' decisions      average += policy, then sample one action from the policy
    policy                      in proportion to the positive part of R, uniform if R has none

Difference: with three or more seats, each traversal updates the averages of all other seats.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass

import numpy as np

from poker_rl.algos.tabular.cfr import TabularSolver
from poker_rl.config.input_checks import PositiveInt, SolverIterationCount
from poker_rl.games.game import Game, jit, random_uniform
from poker_rl.games.game_tree import get_tree
from poker_rl.games.sequence_form import compute_mean_max_regret, fill_regret_matching
from poker_rl.learning.memory_checks import check_tabular_memory
from poker_rl.players.player import Player
from poker_rl.players.tabular_player import TabularPlayer

# Random state for `games.game.random_uniform`. Tables have these fields too, in another order: with
# the same order, numba would treat a table as a subtype of this record, and warn.
RANDOM_STATE_DTYPE = np.dtype([("draws", "u8"), ("key", "u8")])


@dataclass(kw_only=True)
class MCCFR(TabularSolver):
    """MCCFR solver for any number of seats; with more than two, convergence is not proven."""

    iterations_per_step: SolverIterationCount
    traversals: PositiveInt
    game: InitVar[Game]
    seed: InitVar[int]

    def __post_init__(self, game: Game, seed: int) -> None:
        self._tree = get_tree(game)
        check_tabular_memory(self._tree, 2)
        self.initialize_state(game, self._tree.infoset_count, np.float64)
        self._random_states = np.zeros(self.traversals, RANDOM_STATE_DTYPE)
        keys = np.random.SeedSequence(seed).generate_state(self.traversals, np.uint64)
        self._random_states["key"] = keys
        self._state_arrays["random"] = self._random_states.view(np.int64)

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations; return the metric `regret/positive`.

        It is the mean over information sets of the largest positive regret, divided by the number
        of traversals per seat so far.
        """
        tree = self._tree
        nodes = tree.seat, tree.infoset, tree.first_child, tree.node_payoffs
        decisions = _run_iterations(
            (tree.deal_count, *nodes, tree.legal_mask),
            self._regrets,
            self._policy_sums,
            self._random_states,
            self.iterations_per_step,
        )
        traversals = self.iterations_per_step * self.traversals * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += traversals
        self.progress.hands += traversals
        self.progress.decisions += decisions
        traversals_so_far = self.progress.iterations * self.traversals
        return {"regret/positive": compute_mean_max_regret(self._regrets) / traversals_so_far}

    def players(self) -> dict[str, Player]:
        """Return "average", which with two seats converges to an equilibrium, and "current"."""
        tree = self._tree
        return {
            "average": TabularPlayer(self._game, tree.normalize_policy(self._policy_sums)),
            "current": TabularPlayer(self._game, tree.normalize_policy(self._regrets.clip(0))),
        }


@jit
def _run_iterations(tree_arrays, regrets, policy_sums, generators, iterations):
    """Run iterations with B traversals for each seat; return the number of decisions visited.

    Regrets and policy sums [I, A], of I information sets and A actions, change in place.
    `generators` are B random states.
    """
    deals, seat, infoset, _, payoffs, legal = tree_arrays
    max_nodes = len(seat) // deals  # nodes below one deal
    visited, first_child = np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64)
    policy = np.empty((max_nodes, legal.shape[1]))
    scratch = visited, first_child, np.empty(max_nodes), policy
    decisions = 0
    for _ in range(iterations):
        for traverser in range(payoffs.shape[1]):
            for b in range(len(generators)):
                generator = generators[b]
                deal = int(random_uniform(generator) * deals)
                count = _traverse_hand(deal, traverser, generator, tree_arrays, regrets, scratch)
                for position in range(count):
                    node = visited[position]
                    decisions += seat[node] >= 0
                    if seat[node] >= 0 and seat[node] != traverser:
                        for a in range(legal.shape[1]):
                            policy_sums[infoset[node], a] += policy[position, a]
    return decisions


@jit
def _traverse_hand(deal, traverser, generator, tree_arrays, regrets, scratch):
    """Traverse one deal and update the traverser's regrets; return the number of visited nodes.

    Visited nodes are in breadth-first order, so one backward loop can compute their values.
    """
    _, seat, infoset, child, payoffs, legal = tree_arrays
    visited, first_child, values, policy = scratch
    actions = legal.shape[1]
    visited[0] = deal
    count = 1
    position = 0
    while position < count:
        node = visited[position]
        if seat[node] >= 0:
            i = infoset[node]
            fill_regret_matching(regrets[i], legal[i], policy[position])
            first_child[position] = count
            if seat[node] == traverser:
                for a in range(actions):
                    if legal[i, a]:
                        visited[count] = child[node] + count - first_child[position]
                        count += 1
            else:
                remaining, visited[count] = random_uniform(generator), child[node] - 1
                for a in range(actions):
                    if legal[i, a]:
                        visited[count] += 1
                        remaining -= policy[position, a]
                        if remaining < 0:
                            break
                count += 1
        position += 1
    for position in range(count - 1, -1, -1):
        node = visited[position]
        if seat[node] < 0:
            values[position] = payoffs[node, traverser]
        elif seat[node] != traverser:
            values[position] = values[first_child[position]]
        else:
            i = infoset[node]
            value = 0.0
            child_position = first_child[position]
            for a in range(actions):
                if legal[i, a]:
                    value += policy[position, a] * values[child_position]
                    child_position += 1
            values[position] = value
            child_position = first_child[position]
            for a in range(actions):
                if legal[i, a]:
                    regrets[i, a] += values[child_position] - value
                    child_position += 1
    return count
