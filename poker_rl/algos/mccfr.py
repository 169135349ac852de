"""External-sampling Monte Carlo counterfactual regret minimisation (Lanctot et al. 2009).

In an iteration each seat in turn is the traverser of one hand, with cards drawn by chance:

    at its own information sets   try every action a, then  R(a) += v(a) - sum_b policy(b) v(b)
    at another seat's             average += policy, then sample one action from it
    policy                        ~ positive part of R, uniform if there is none

Deviation: with three seats or more, the averages of all the other seats grow in each traversal, so
that no seat's average waits for a certain traverser.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.settings import Sweeps
from poker_rl.games.game import Game, random, rule
from poker_rl.games.tree import tree_of
from poker_rl.players.player import Player
from poker_rl.players.table import TablePlayer

# The random state of games.game.random. In the order of a table's first fields numba would take a
# table for one of these with more fields, and warn of it.
RANDOM = np.dtype([("draws", "u8"), ("key", "u8")])


@dataclass(kw_only=True)
class MCCFR:
    """The solver; for any number of seats, though only with two does the average converge.

    Raises:
        Refused: if the game is too large to enumerate.
    """

    iterations_per_step: Sweeps
    game: InitVar[Game]
    seed: InitVar[int]

    def __post_init__(self, game: Game, seed: int) -> None:
        self.progress = Progress()
        self._game, self._tree = game, tree_of(game)
        self._regrets = np.zeros(self._tree.legal.shape)  # [I, A] chips
        self._sums = np.zeros(self._tree.legal.shape)  # of the average
        self._random = np.zeros(1, RANDOM)
        self._random["key"] = np.random.SeedSequence(seed).generate_state(1, np.uint64)

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations."""
        tree = self._tree
        decisions = _iterate(
            *(tree.deals, tree.seat, tree.infoset, tree.child, tree.payoffs, tree.legal),
            *(self._regrets, self._sums, self._random, self.iterations_per_step),
        )
        traversals = self.iterations_per_step * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += traversals
        self.progress.hands += traversals
        self.progress.decisions += decisions
        mean = self._regrets.max(1).clip(0).mean() / self.progress.iterations
        return {"regret/positive": float(mean)}

    def players(self) -> dict[str, Player]:
        """The average policy, which converges, and the present one."""
        tree = self._tree
        return {
            "average": TablePlayer(self._game, tree.normalise(self._sums)),
            "current": TablePlayer(self._game, tree.normalise(self._regrets.clip(0))),
        }

    def state_dict(self) -> dict[str, Any]:
        """Regrets, sums, the random state and the counters."""
        return {
            "regrets": torch.from_numpy(self._regrets.copy()),
            "sums": torch.from_numpy(self._sums.copy()),
            "random": [int(self._random[0]["key"]), int(self._random[0]["draws"])],
            "progress": self.progress.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._regrets[:] = state["regrets"].numpy()
        self._sums[:] = state["sums"].numpy()
        self._random["key"], self._random["draws"] = state["random"]
        self.progress.load_state_dict(state["progress"])


@rule
def _iterate(  # type: ignore[no-untyped-def]
    deals, seat, infoset, child, payoffs, legal, regrets, sums, generator, iterations
):
    """Run iterations; regrets and sums [I, A] change in place. Returns the decisions visited.

    A traversal keeps the nodes it visits in a list, each one's children side by side after it:
    values then come back in one loop from the end.
    """
    seats, actions = payoffs.shape[1], legal.shape[1]
    longest = len(seat) // deals  # nodes below one deal
    visited = np.empty(longest, np.int64)
    below = np.empty(longest, np.int64)  # place of a node's first visited child
    values = np.empty(longest)
    policy = np.empty((longest, actions))
    decisions = 0
    for traversal in range(iterations * seats):
        traverser = traversal % seats
        visited[0] = int(_uniform(generator) * deals)
        count = 1
        at = 0
        while at < count:
            node = visited[at]
            if seat[node] >= 0:
                i = infoset[node]
                _match(regrets[i], legal[i], policy[at])
                below[at] = count
                if seat[node] == traverser:
                    for a in range(actions):
                        if legal[i, a]:
                            visited[count] = child[node] + count - below[at]
                            count += 1
                else:
                    sums[i] += policy[at]
                    visited[count] = child[node] + _sample(policy[at], legal[i], generator)
                    count += 1
                decisions += 1
            at += 1
        for at in range(count - 1, -1, -1):
            node = visited[at]
            if seat[node] < 0:
                values[at] = payoffs[node, traverser]
            elif seat[node] != traverser:
                values[at] = values[below[at]]
            else:
                i = infoset[node]
                value = 0.0
                place = below[at]
                for a in range(actions):
                    if legal[i, a]:
                        value += policy[at, a] * values[place]
                        place += 1
                values[at] = value
                place = below[at]
                for a in range(actions):
                    if legal[i, a]:
                        regrets[i, a] += values[place] - value
                        place += 1
    return decisions


@rule
def _match(regrets, legal, policy):  # type: ignore[no-untyped-def]
    """Write the policy in proportion to positive regrets [A], uniform if there are none."""
    total = 0.0
    choices = 0
    for a in range(len(regrets)):
        policy[a] = max(regrets[a], 0.0)
        total += policy[a]
        choices += legal[a]
    for a in range(len(regrets)):
        if total > 0:
            policy[a] /= total
        elif legal[a]:
            policy[a] = 1 / choices


@rule
def _sample(policy, legal, generator):  # type: ignore[no-untyped-def]
    """How many legal actions come before one drawn from the policy [A]."""
    left = _uniform(generator)
    place = -1
    for a in range(len(policy)):
        if legal[a]:
            place += 1
            left -= policy[a]
            if left < 0:
                break
    return place


@rule
def _uniform(generator):  # type: ignore[no-untyped-def]
    """A number drawn from [0, 1)."""
    return float(random(generator[0]) >> np.uint64(11)) * 2.0**-53
