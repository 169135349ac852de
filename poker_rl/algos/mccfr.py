"""External-sampling Monte Carlo counterfactual regret minimisation (Lanctot et al. 2009).

In an iteration each seat in turn is the traverser of `traversals` hands, one as published, many as
in Brown et al., "Deep counterfactual regret minimization" (arXiv:1811.00164), with cards drawn by
chance:

    at its own information sets   try every action a, then  R(a) += v(a) - sum_b policy(b) v(b)
    at another seat's             average += policy, then sample one action from it
    policy                        ~ positive part of R, uniform if there is none

While a seat traverses, the other seats' regrets stand still, and hands that it can tell apart have
no information set of its own in common. So in a large tree each thread takes the hands in which it
holds certain cards. What the others pass by is added to their averages later, by the threads that
share the hands by the others' cards: as late as each one's own turn to traverse. Every traversal of
an iteration has random numbers of its own, and the result does not depend on how many threads there
are.

Deviation: with three seats or more, the averages of all the other seats grow in each traversal, so
that no seat's average waits for a certain traverser.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.settings import Count, Sweeps
from poker_rl.games.game import Game, random, rule
from poker_rl.games.sequences import mean_regret
from poker_rl.games.tree import tree_of
from poker_rl.learning.room import demand_tables
from poker_rl.players.player import Player
from poker_rl.players.table import TablePlayer

# The random state of games.game.random. In the order of a table's first fields numba would take a
# table for one of these with more fields, and warn of it.
RANDOM = np.dtype([("draws", "u8"), ("key", "u8")])
PARALLEL_NODES = 100_000  # below the deals that are shared at a time, from which on it pays


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
        demand_tables(self._tree, 2)
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
            decisions = self._share(nodes)
        traversals = self.iterations_per_step * self.traversals * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += traversals
        self.progress.hands += traversals
        self.progress.decisions += decisions
        traversed = self.progress.iterations * self.traversals
        return {"regret/positive": mean_regret(self._regrets) / traversed}

    def _share(self, nodes: Any) -> int:
        """Run the iterations of a step by several threads; returns the decisions visited."""
        tree, tables, seats = self._tree, (self._regrets, self._sums), range(self._game.seats)
        threads = range(tree.threads)
        thread_of = np.stack([_threads(parts, tree.threads) for parts in tree.part_of_deal])
        passed: list[list[Any]] = [[] for _ in seats]  # of each seat, by those who traversed since
        decisions = 0

        def average(seat: int, thread: int) -> None:
            own = *tree.first[seat : seat + 2].tolist(), tree.legal
            for deals, met, spans in passed[seat]:
                which = np.flatnonzero(thread_of[seat, deals] == thread)
                _average(which, own, tables, met, spans)

        def traverse(thread: int) -> tuple[int, np.ndarray]:
            average(traverser, thread)
            result: tuple[int, np.ndarray] = _traverse_all(
                hands[thread], traverser, nodes, tables, (deals, self._random, spans)
            )
            return result

        with ThreadPoolExecutor(tree.threads) as pool:
            for _ in range(self.iterations_per_step):
                for traverser in seats:
                    deals = np.empty(self.traversals, np.int64)
                    spans = np.empty((self.traversals, 2), np.int64)
                    _draw(self._random, tree.deals, deals)
                    hands = [np.flatnonzero(thread_of[traverser, deals] == t) for t in threads]
                    visited, met = zip(*pool.map(traverse, threads), strict=True)
                    decisions += sum(visited)
                    for thread in threads[1:]:
                        spans[hands[thread]] += sum(map(len, met[:thread]))
                    passed[traverser].clear()
                    for seat in set(seats) - {traverser}:
                        passed[seat].append((deals, np.concatenate(met), spans))
            for seat in seats:
                list(pool.map(average, [seat] * len(threads), threads))
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


def _threads(parts: np.ndarray, threads: int) -> np.ndarray:
    """A thread for each deal [D], about as many for each, and one for all deals of a part [D]."""
    _, part, deals = np.unique(parts, return_inverse=True, return_counts=True)
    middle = deals.cumsum() - deals / 2
    thread: np.ndarray = (middle * threads / len(parts)).astype(np.int64)[part]
    return thread


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
        which: the hands, places among all of a batch [B].
        hands: the deals [B] and generators [B] of the batch, and where to write the span of each
            hand among the information sets met, its first place and one past its last [B, 2].

    Returns:
        the decisions visited and the information sets met, hand by hand.
    """
    deals, generators, spans = hands
    _, seat, infoset, _, _, _ = nodes
    room = _room(nodes)
    visited, _, _, _ = room
    met = np.empty(2 * len(visited), np.uint32)
    decisions = 0
    place = 0
    for b in which:
        if place + len(visited) > len(met):
            met = np.append(met, np.empty_like(met))
        spans[b, 0] = place
        generator = generators[b : b + 1]
        count = _traverse(deals[b], traverser, generator, nodes, tables[0], room)
        for at in range(count):
            node = visited[at]
            decisions += seat[node] >= 0
            if seat[node] >= 0 and seat[node] != traverser:
                met[place] = infoset[node]
                place += 1
        spans[b, 1] = place
    return decisions, met[:place].copy()


@rule
def _average(which, own, tables, met, spans):  # type: ignore[no-untyped-def]
    """Add a seat's policy to its average where it was met in some of a batch of hands.

    Args:
        which: the hands, places among all of a batch [B].
        own: the seat's first information set, one past its last, and legal [I, A].
        met: the information sets that were met, hand by hand.
        spans: the first place of each hand among them, and one past its last [B, 2].
    """
    first, last, legal = own
    regrets, sums = tables
    policy = np.empty(legal.shape[1])
    for b in which:
        for place in range(spans[b, 0], spans[b, 1]):
            i = met[place]
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
