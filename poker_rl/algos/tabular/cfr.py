"""Counterfactual regret minimization (CFR) over the whole game tree, with its variants.

Zinkevich et al. 2007; discounts in the notation of Brown and Sandholm (arXiv:1809.04040). In
iteration t each seat in turn (alternating updates) computes at each of its information sets

    r_t      = counterfactual regrets of its actions under the current policies
    R_t      = R_(t-1) + r_t, then multiplied by d(alpha) if positive, by d(beta) if negative
    policy   = in proportion to the positive part of R_t (if predictive: of R_t + r_t); uniform if
               no regret is positive
    average += t^gamma * the seat's own reach probability * policy, both as before this update

with the discount d(x) = t^x / (t^x + 1); d(inf) = 1 and d(-inf) = 0. docs/algorithms.md has a table
of the variants.

In a large tree, threads process independent parts of a seat's information sets (see
`poker_rl.games.sequence_form`); the result does not depend on the number of threads. In shapes, A
counts actions, and I information sets.

Differences: published CFR updates all seats simultaneously. Published PDCFR+ applies the discount
of R_t at the start of iteration t + 1, by the same factor, so the policies are the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from itertools import pairwise, repeat
from math import inf
from typing import Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.input_checks import AveragingExponent, SolverIterationCount
from poker_rl.games.game import Game, jit
from poker_rl.games.game_tree import get_tree
from poker_rl.games.sequence_form import (
    compute_mean_max_regret,
    compute_reach,
    fill_regret_matching,
    split_parts_among_threads,
    write_leaf_counterfactual_values,
)
from poker_rl.learning.memory_checks import check_tabular_memory
from poker_rl.players.player import Player
from poker_rl.players.tabular_player import TabularPlayer


class TabularSolver:
    """Base class of the solvers: regrets, policy sums, and the state in checkpoints.

    Checkpoints store the arrays in `_state_arrays`; `load_state_dict` writes into these arrays.
    """

    def initialize_state(self, game: Game, row_count: int, dtype: type[np.floating[Any]]) -> None:
        """Set the progress to 0, and the regrets and policy sums to zeros, [row_count, A]."""
        self.progress, self._game = Progress(), game
        self._regrets = np.zeros((row_count, game.action_count), dtype)  # chips
        self._policy_sums = np.zeros(self._regrets.shape, dtype)
        self._state_arrays = {"regrets": self._regrets, "sums": self._policy_sums}

    def state_dict(self) -> dict[str, Any]:
        """Return tensors that are views of the state arrays, and the progress."""
        views = {name: torch.from_numpy(array) for name, array in self._state_arrays.items()}
        return {**views, "progress": self.progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, array in self._state_arrays.items():
            array[:] = state[name].numpy()
        self.progress.load_state_dict(state["progress"])


@dataclass(kw_only=True)
class CFR(TabularSolver):
    """CFR solver for any number of seats; with more than two, convergence is not proven."""

    alpha: float
    beta: float
    gamma: AveragingExponent
    predictive: bool
    iterations_per_step: SolverIterationCount
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self._tree = get_tree(game)
        check_tabular_memory(self._tree, 3)
        self.initialize_state(game, self._tree.infoset_count, np.float64)
        self._policy = self._state_arrays["policy"] = self._tree.build_uniform_policy()
        edge_count = self._tree.legal_mask.size + game.seats  # see `games.sequence_form`
        self._reach = np.ones(edge_count)  # probability of a seat's moves up to each edge
        self._counterfactual_values = np.zeros(edge_count)  # scratch of `_update_part_of_infosets`
        self._compute_all_reach()

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations; return the metric `regret/positive`.

        It is the mean over information sets of the largest positive regret, divided by the number
        of iterations so far.
        """
        tree = self._tree
        scratch = self._reach, self._counterfactual_values
        arrays = *scratch, self._regrets, self._policy_sums, self._policy
        variant = self.alpha, self.beta, self.gamma, self.predictive
        start = self.progress.iterations + 1
        stop = start + self.iterations_per_step
        sequences = tree.sequence_form
        if tree.thread_count == 1:
            part_count = int(sequences.first_part_of_seat[-1])  # parts are ordered by seat
            _run_iterations_on_parts(0, part_count, sequences, arrays, variant, start, stop)
        else:
            with ThreadPoolExecutor(tree.thread_count) as pool:
                for t in range(start, stop):
                    for parts in pairwise(sequences.first_part_of_seat.tolist()):
                        ranges = split_parts_among_threads(*parts, tree.thread_count)
                        shared = map(repeat, (sequences, arrays, variant, t, t + 1))
                        list(pool.map(_run_iterations_on_parts, *ranges, *shared))
        self.progress.iterations += self.iterations_per_step
        seat_updates = self.iterations_per_step * self._game.seats
        self.progress.updates += seat_updates
        self.progress.hands += seat_updates * tree.deal_count
        self.progress.decisions += seat_updates * int((tree.seat >= 0).sum())
        return {
            "regret/positive": compute_mean_max_regret(self._regrets) / self.progress.iterations
        }

    def players(self) -> dict[str, Player]:
        """Return "average", which with two seats converges to an equilibrium, and "current"."""
        return {
            "average": TabularPlayer(self._game, self._tree.normalize_policy(self._policy_sums)),
            "current": TabularPlayer(self._game, self._policy.copy()),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._compute_all_reach()

    def _compute_all_reach(self) -> None:
        """Compute the reach of all edges, which `_update_part_of_infosets` then updates."""
        for part in range(len(self._tree.sequence_form.first_run_of_part) - 1):
            compute_reach(self._tree.sequence_form, part, self._policy, self._reach)


@jit
def _run_iterations_on_parts(first_part, stop_part, sequences, arrays, variant, start, stop):
    """Run iterations [start, stop) on the parts [first_part, stop_part)."""
    for t in range(start, stop):
        for part in range(first_part, stop_part):
            _update_part_of_infosets(sequences, part, arrays, variant, t)


@jit
def _update_part_of_infosets(sequences, part, arrays, variant, t):
    """Run iteration t on one part of a seat's information sets; parts are independent.

    Args:
        arrays: reach probability and counterfactual value of each edge, [I * A + seats]; regrets,
            policy sums and policy, [I, A]. All change in place. Edges are the A actions at each of
            I information sets, then a root for each seat.
        variant: alpha, beta, gamma and predictive.
    """
    reach, counterfactual_values, regrets, policy_sums, policy = arrays
    alpha, beta, gamma, predictive = variant
    actions = policy.shape[1]
    positive_discount, negative_discount = compute_discount(t, alpha), compute_discount(t, beta)
    weight = float(t) ** gamma
    write_leaf_counterfactual_values(sequences, part, reach, counterfactual_values)
    first_run, stop_run = sequences.first_run_of_part[part], sequences.first_run_of_part[part + 1]
    for run in range(stop_run - 1, first_run - 1, -1):
        for i in range(sequences.run_end[run] - 1, sequences.run_start[run] - 1, -1):
            value = 0.0
            for a in range(actions):
                value += policy[i, a] * counterfactual_values[i * actions + a]
            if sequences.previous_edge[i] < sequences.legal_mask.size:
                counterfactual_values[sequences.previous_edge[i]] += value
            for a in range(actions):
                if sequences.legal_mask[i, a]:
                    edge = i * actions + a
                    regret = counterfactual_values[edge] - value
                    cumulative_regret = regrets[i, a] + regret
                    discount = positive_discount if cumulative_regret > 0 else negative_discount
                    regrets[i, a] = cumulative_regret * discount
                    policy_sums[i, a] += weight * reach[edge]
                    policy[i, a] = regrets[i, a] + regret if predictive else regrets[i, a]
            fill_regret_matching(policy[i], sequences.legal_mask[i], policy[i])
    compute_reach(sequences, part, policy, reach)


@jit
def compute_discount(t, exponent):
    """Return the discount t^x / (t^x + 1) of iteration t for the exponent x."""
    if abs(exponent) == inf:
        return 1.0 if exponent > 0 else 0.0
    return 1 / (1 + float(t) ** -exponent)  # in this form t^x cannot overflow
