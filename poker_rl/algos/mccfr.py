"""External-sampling Monte Carlo counterfactual regret minimisation (Lanctot et al. 2009).

In an iteration each seat in turn is the traverser of `traversals` hands, one as published, many as
in Brown et al., "Deep counterfactual regret minimization" (arXiv:1811.00164), with cards drawn by
chance:

    at its own information sets   try every action a, then  R(a) += v(a) - sum_b policy(b) v(b)
    at another seat's             average += policy, then sample one action from it
    policy                        ~ positive part of R, uniform if there is none

While a seat traverses, the other seats' regrets stand still, and hands that it can tell apart have
no information set of its own in common. So in a large tree threads share its hands by what it
holds, and then by what each of the others holds to add to their averages. Every traversal of an
iteration has random numbers of its own, and the result does not depend on how many threads there
are.

Deviation: with three seats or more, the averages of all the other seats grow in each traversal, so
that no seat's average waits for a certain traverser.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from itertools import repeat
from typing import Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.settings import Count, Sweeps
from poker_rl.games.game import Game, random, rule
from poker_rl.games.sequences import mean_regret
from poker_rl.games.tree import tree_of
from poker_rl.players.player import Player
from poker_rl.players.table import TablePlayer

# The random state of games.game.random. In the order of a table's first fields numba would take a
# table for one of these with more fields, and warn of it.
RANDOM = np.dtype([("draws", "u8"), ("key", "u8")])
PARALLEL_NODES = 100_000  # below the deals that are shared at a time, from which on it pays
MOST_SHARED = 1000  # traversals at a time: what they pass by is kept until all have ended


@dataclass(kw_only=True)
class MCCFR:
    """The solver; for any number of seats, though only with two does the average converge.

    Raises:
        Refused: if the game is too large to enumerate.
    """

    iterations_per_step: Sweeps
    traversals: Count
    game: InitVar[Game]
    seed: InitVar[int]

    def __post_init__(self, game: Game, seed: int) -> None:
        self.progress = Progress()
        self._game, self._tree = game, tree_of(game)
        self._regrets = np.zeros(self._tree.legal.shape)  # [I, A] chips
        self._sums = np.zeros(self._tree.legal.shape)  # of the average
        self._random = np.zeros(self.traversals, RANDOM)
        keys = np.random.SeedSequence(seed).generate_state(self.traversals, np.uint64)
        self._random["key"] = keys

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations."""
        tree = self._tree
        nodes = tree.deals, tree.seat, tree.infoset, tree.child, tree.payoffs, tree.legal
        tables = self._regrets, self._sums
        below_a_deal = len(tree.seat) // tree.deals
        if tree.threads == 1 or self.traversals * below_a_deal < PARALLEL_NODES:
            decisions = _iterate(nodes, tables, self._random, self.iterations_per_step)
        else:
            with ThreadPoolExecutor(tree.threads) as pool:
                decisions = sum(
                    self._share(pool, traverser, self._random[first : first + MOST_SHARED], nodes)
                    for _ in range(self.iterations_per_step)
                    for traverser in range(self._game.seats)
                    for first in range(0, self.traversals, MOST_SHARED)
                )
        traversals = self.iterations_per_step * self.traversals * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += traversals
        self.progress.hands += traversals
        self.progress.decisions += decisions
        traversed = self.progress.iterations * self.traversals
        return {"regret/positive": mean_regret(self._regrets) / traversed}

    def _share(
        self, pool: ThreadPoolExecutor, traverser: int, generators: np.ndarray, nodes: Any
    ) -> int:
        """Traverse a hand with each of the generators [B]; returns the decisions visited."""
        tree, tables = self._tree, (self._regrets, self._sums)
        deals, met = np.empty(len(generators), np.int64), np.empty(len(generators), np.int64)
        _draw(generators, tree.deals, deals)
        infosets = np.empty((len(generators), len(tree.seat) // tree.deals), np.uint32)
        hands = deals, generators, infosets, met
        together = _alike(tree.part_of_deal[traverser, deals], tree.threads)
        same = map(repeat, (traverser, nodes, tables, hands))
        decisions: int = sum(pool.map(_traverse_all, together, *same))
        for seat in set(range(self._game.seats)) - {traverser}:
            together = _alike(tree.part_of_deal[seat, deals], tree.threads)
            own = *tree.first[seat : seat + 2].tolist(), tree.legal
            list(pool.map(_average, together, *map(repeat, (own, tables, infosets, met))))
        return decisions

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
            "random": np.stack([self._random["key"], self._random["draws"]], 1).ravel().tolist(),
            "progress": self.progress.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._regrets[:] = state["regrets"].numpy()
        self._sums[:] = state["sums"].numpy()
        drawn = np.array(state["random"], np.uint64).reshape(-1, 2)
        self._random["key"], self._random["draws"] = drawn.T
        self.progress.load_state_dict(state["progress"])


def _alike(parts: np.ndarray, threads: int) -> list[np.ndarray]:
    """About as many places in `parts` [B] for each thread, all of one part for the same thread."""
    order = np.argsort(parts, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(parts[order])) + 1, len(parts))
    wanted = np.arange(1, threads) * len(parts) / threads
    return np.split(order, ends[abs(ends[:, None] - wanted).argmin(0)])


@rule
def _iterate(nodes, tables, generators, iterations):  # type: ignore[no-untyped-def]
    """Run iterations, a traversal with each of the generators [B] for each seat.

    The tables, regrets and sums [I, A], change in place. Returns the decisions visited.
    """
    deals, seat, infoset, _, payoffs, legal = nodes
    room = _room(nodes)
    visited, _, _, policy = room
    decisions = 0
    for _ in range(iterations):
        for traverser in range(payoffs.shape[1]):
            for b in range(len(generators)):
                generator = generators[b : b + 1]
                deal = int(_uniform(generator) * deals)
                count = _traverse(deal, traverser, generator, nodes, tables[0], room)
                for at in range(count):
                    node = visited[at]
                    decisions += seat[node] >= 0
                    if seat[node] >= 0 and seat[node] != traverser:
                        for a in range(legal.shape[1]):
                            tables[1][infoset[node], a] += policy[at, a]
    return decisions


@rule
def _draw(generators, deals, out):  # type: ignore[no-untyped-def]
    """Write a deal drawn with each of the generators [B]."""
    for b in range(len(generators)):
        out[b] = int(_uniform(generators[b : b + 1]) * deals)


@rule
def _traverse_all(which, traverser, nodes, tables, hands):  # type: ignore[no-untyped-def]
    """Traverse hands; of those who are met on the way tell the information sets instead.

    Args:
        which: the hands, places among all of a batch.
        hands: their deals [B], generators [B], the information sets met [B, N], how many [B].

    Returns:
        the decisions visited.
    """
    deals, generators, infosets, met = hands
    _, seat, infoset, _, _, _ = nodes
    room = _room(nodes)
    visited, _, _, _ = room
    decisions = 0
    for b in which:
        generator = generators[b : b + 1]
        count = _traverse(deals[b], traverser, generator, nodes, tables[0], room)
        met[b] = 0
        for at in range(count):
            node = visited[at]
            decisions += seat[node] >= 0
            if seat[node] >= 0 and seat[node] != traverser:
                infosets[b, met[b]] = infoset[node]
                met[b] += 1
    return decisions


@rule
def _average(which, own, tables, infosets, met):  # type: ignore[no-untyped-def]
    """Add a seat's policy to its average where it was met in some of a batch of hands.

    Args:
        own: the seat's first information set, one past its last, and legal [I, A].
    """
    first, last, legal = own
    regrets, sums = tables
    policy = np.empty(legal.shape[1])
    for b in which:
        for place in range(met[b]):
            i = infosets[b, place]
            if first <= i and i < last:
                _match(regrets[i], legal[i], policy)
                for a in range(len(policy)):
                    sums[i, a] += policy[a]


@rule
def _room(nodes):  # type: ignore[no-untyped-def]
    """Room for a traversal: nodes visited, the place of each one's first child, values, policy."""
    deals, seat, _, _, _, legal = nodes
    longest = len(seat) // deals  # nodes below one deal
    places, below = np.empty(longest, np.int64), np.empty(longest, np.int64)
    return places, below, np.empty(longest), np.empty((longest, legal.shape[1]))


@rule
def _traverse(deal, traverser, generator, nodes, regrets, room):  # type: ignore[no-untyped-def]
    """Traverse a hand; the traverser's regrets [I, A] change in place.

    It keeps the nodes it visits in a list, each one's children side by side after it: values then
    come back in one loop from the end. Returns how many there are.
    """
    _, seat, infoset, child, payoffs, legal = nodes
    visited, below, values, policy = room
    actions = legal.shape[1]
    visited[0] = deal
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
                visited[count] = child[node] + _sample(policy[at], legal[i], generator)
                count += 1
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
    return count


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
