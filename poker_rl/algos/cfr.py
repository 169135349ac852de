"""Counterfactual regret minimisation over the whole tree, in the variants of one equation.

After Zinkevich et al. 2007; discounts in the notation of Brown and Sandholm (arXiv:1809.04040). In
iteration t each seat in turn, knowing the moves the seats before it have just made, does at each of
its information sets

    r_t      = counterfactual regrets of its actions under the present policies
    R_t      = R_(t-1) + r_t, then positive ones times d(alpha), negative ones times d(beta)
    policy   ~ positive part of R_t, or with prediction of R_t + r_t; uniform if there is none
    average += t^gamma * reach of the policy that was played * that policy

with d(x) = t^x / (t^x + 1); d(inf) = 1 and d(-inf) = 0.

                 alpha  beta  gamma  predictive
    CFR          inf    inf   0      no          Zinkevich et al. 2007
    CFR+         inf    -inf  1      no          arXiv:1407.5042
    linear CFR   1      1     1      no          arXiv:1809.04040
    DCFR         1.5    0     2      no          arXiv:1809.04040
    PCFR+        inf    -inf  2      yes         arXiv:2007.14358
    PDCFR+       2.3    -inf  5      yes         arXiv:2404.13891

In a large tree threads take the parts of a seat's information sets that have no edge in common; the
result does not depend on how many threads there are.

Deviations: CFR as published updates all seats at once. PDCFR+ discounts before it adds, in the next
iteration by the same factor, and predicts from discounted regrets, so both orders play the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from itertools import pairwise, repeat
from math import inf
from typing import Annotated, Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.settings import Range, Sweeps
from poker_rl.games.game import Game, rule
from poker_rl.games.sequences import collect, mean_regret, multiply_out, shares
from poker_rl.games.tree import tree_of
from poker_rl.learning.room import demand_tables
from poker_rl.players.player import Player
from poker_rl.players.table import TablePlayer

Gamma = Annotated[float, Range(0, 10)]  # of larger ones t^gamma soon is no number any more


@dataclass(kw_only=True)
class CFR:
    """The solver; for any number of seats, though only with two does the average converge.

    Raises:
        Refused: if the game is too large to enumerate.
    """

    alpha: float
    beta: float
    gamma: Gamma
    predictive: bool
    iterations_per_step: Sweeps
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self.progress = Progress()
        self._game, self._tree = game, tree_of(game)
        demand_tables(self._tree, 3)
        self._regrets = np.zeros(self._tree.legal.shape)  # [I, A] chips
        self._sums = np.zeros(self._tree.legal.shape)  # of the average
        self._policy = self._tree.uniform()
        edges = self._tree.legal.size + game.seats
        self._reach = np.ones(edges)  # of each edge, see `_sweep_part`
        self._earned = np.zeros(edges)  # room for a sweep
        self._renew_reach()

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations."""
        tree = self._tree
        tables = self._reach, self._earned, self._regrets, self._sums, self._policy
        variant = self.alpha, self.beta, self.gamma, self.predictive
        start = self.progress.iterations + 1
        stop = start + self.iterations_per_step
        sequences = tree.sequences
        if tree.threads == 1:
            _iterate(sequences, tables, variant, start, stop)
        else:
            with ThreadPoolExecutor(tree.threads) as pool:
                for t in range(start, stop):
                    for parts in pairwise(sequences.seat_parts.tolist()):
                        same = [repeat(one) for one in (sequences, tables, variant, t)]
                        list(pool.map(_sweep, *shares(*parts, tree.threads), *same))
        self.progress.iterations += self.iterations_per_step
        sweeps = self.iterations_per_step * self._game.seats
        self.progress.updates += sweeps
        self.progress.hands += sweeps * tree.deals
        self.progress.decisions += sweeps * int((tree.seat >= 0).sum())
        return {"regret/positive": mean_regret(self._regrets) / self.progress.iterations}

    def players(self) -> dict[str, Player]:
        """The average policy, which converges, and the last one."""
        return {
            "average": TablePlayer(self._game, self._tree.normalise(self._sums)),
            "current": TablePlayer(self._game, self._policy.copy()),
        }

    def state_dict(self) -> dict[str, Any]:
        """Regrets, sums, the last policy and the counters."""
        tables = {"regrets": self._regrets, "sums": self._sums, "policy": self._policy}
        copies = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
        return {**copies, "progress": self.progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._regrets[:] = state["regrets"].numpy()
        self._sums[:] = state["sums"].numpy()
        self._policy[:] = state["policy"].numpy()
        self._renew_reach()
        self.progress.load_state_dict(state["progress"])

    def _renew_reach(self) -> None:
        """The reach of all edges under the present policy, which each sweep keeps up to date."""
        for part in range(len(self._tree.sequences.parts) - 1):
            multiply_out(self._tree.sequences, part, self._policy, self._reach)


@rule
def _iterate(tree, tables, variant, start, stop):  # type: ignore[no-untyped-def]
    """Run iterations `start` to `stop` - 1; arguments as of `_sweep`."""
    for t in range(start, stop):
        _sweep(0, len(tree.parts) - 1, tree, tables, variant, t)  # the first seat's come first


@rule
def _sweep(first, last, tree, tables, variant, t):  # type: ignore[no-untyped-def]
    """Iteration t in the parts from `first` to `last` - 1, arguments as of `_sweep_part`."""
    for part in range(first, last):
        _sweep_part(tree, part, tables, variant, t)


@rule
def _sweep_part(tree, part, tables, variant, t):  # type: ignore[no-untyped-def]
    """Iteration t in a part of a seat's information sets.

    Args:
        tree: the tree's `sequences`.
        part: which part.
        tables: changed in place; reach and what is earned, [size * A + seats], then regrets, sums
            of the average and policy, [I, A].
        variant: alpha, beta, gamma and whether it predicts.
    """
    reach, earned, regrets, sums, policy = tables
    alpha, beta, gamma, predictive = variant
    actions = policy.shape[1]
    keep, cut, weight = discount(t, alpha), discount(t, beta), float(t) ** gamma
    collect(tree, part, reach, earned)
    for run in range(tree.parts[part + 1] - 1, tree.parts[part] - 1, -1):
        for i in range(tree.end[run] - 1, tree.begin[run] - 1, -1):
            value = 0.0
            for a in range(actions):
                value += policy[i, a] * earned[i * actions + a]
            if tree.previous[i] < tree.legal.size:
                earned[tree.previous[i]] += value
            total = 0.0
            choices = 0
            for a in range(actions):
                if tree.legal[i, a]:
                    edge = i * actions + a
                    regret = earned[edge] - value
                    kept = regrets[i, a] + regret
                    kept *= keep if kept > 0 else cut
                    regrets[i, a] = kept
                    sums[i, a] += weight * reach[edge]
                    policy[i, a] = max(kept + regret if predictive else kept, 0.0)
                    total += policy[i, a]
                    choices += 1
            for a in range(actions):
                if total > 0:
                    policy[i, a] /= total
                elif tree.legal[i, a]:
                    policy[i, a] = 1 / choices
    multiply_out(tree, part, policy, reach)


@rule
def discount(t, exponent):  # type: ignore[no-untyped-def]
    if abs(exponent) == inf:
        return 1.0 if exponent > 0 else 0.0
    return 1 / (1 + float(t) ** -exponent)  # t^x / (t^x + 1), and no overflow
