"""Monte Carlo counterfactual regret minimization (MCCFR) with external sampling.

Lanctot et al. 2009. In an iteration each seat in turn is the traverser of `traversals` random
hands: one in the published algorithm, many in Deep CFR (arXiv:1811.00164):

    the traverser's decisions   play every action a, then  R(a) += v(a) - sum_b policy(b) v(b)
    other seats' decisions      average += policy, then sample one action from the policy
    policy                      in proportion to the positive part of R, uniform if R has none

In a large tree, hands are divided among threads by the traverser's cards. Only the traverser's
regrets change, and hands with different cards of the traverser reach different information sets, so
threads never write to the same entries. The average of another seat is updated later, before that
seat is the traverser, by threads that divide the hands by its cards. Every traversal has its own
random numbers, so the result does not depend on the number of threads.

Differences: with three or more seats, each traversal updates the averages of all other seats.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.config.validation import PositiveInt, SolverIterationCount
from poker_rl.games.game import Game, jit, random_bits
from poker_rl.games.game_tree import get_tree
from poker_rl.games.sequence_form import compute_mean_regret
from poker_rl.learning.memory_checks import check_tabular_memory
from poker_rl.players.player import Player
from poker_rl.players.tabular_player import TabularPlayer

# Random state for `games.game.random_bits`. Tables have these fields in another order; otherwise
# numba would take a table for a subtype of this state, and warn.
RANDOM_STATE_DTYPE = np.dtype([("draws", "u8"), ("key", "u8")])
MIN_PARALLEL_NODES = 100_000  # with fewer nodes in a traverser's hands, one thread is faster


@dataclass(kw_only=True)
class MCCFR:
    """MCCFR solver, for any number of seats; the average policy only converges with two."""

    iterations_per_step: SolverIterationCount
    traversals: PositiveInt
    game: InitVar[Game]
    seed: InitVar[int]

    def __post_init__(self, game: Game, seed: int) -> None:
        self.progress = Progress()
        self._game, self._tree = game, get_tree(game)
        check_tabular_memory(self._tree, 2)
        self._regrets = np.zeros(self._tree.legal_mask.shape)  # chips [I, A]
        self._policy_sums = np.zeros(self._tree.legal_mask.shape)  # [I, A]
        self._random_states = np.zeros(self.traversals, RANDOM_STATE_DTYPE)
        keys = np.random.SeedSequence(seed).generate_state(self.traversals, np.uint64)
        self._random_states["key"] = keys

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations.

        The metric is the mean over information sets of the largest regret, divided by the number of
        traversals per seat so far.
        """
        tree = self._tree
        nodes = tree.seat, tree.infoset, tree.first_child, tree.node_payoffs
        tree_arrays = tree.deal_count, *nodes, tree.legal_mask
        arrays = self._regrets, self._policy_sums
        nodes_per_deal = len(tree.seat) // tree.deal_count
        if tree.thread_count == 1 or self.traversals * nodes_per_deal < MIN_PARALLEL_NODES:
            decisions = _run_iterations(
                tree_arrays, arrays, self._random_states, self.iterations_per_step
            )
        else:
            decisions = self._run_iterations_in_threads(tree_arrays)
        traversals = self.iterations_per_step * self.traversals * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += traversals
        self.progress.hands += traversals
        self.progress.decisions += decisions
        traversals_so_far = self.progress.iterations * self.traversals
        return {"regret/positive": compute_mean_regret(self._regrets) / traversals_so_far}

    def _run_iterations_in_threads(self, tree_arrays: Any) -> int:
        """Run `iterations_per_step` iterations by threads; return the number of decisions."""
        tree, seats, threads = self._tree, range(self._game.seats), range(self._tree.thread_count)
        arrays = self._regrets, self._policy_sums
        thread_of = np.stack([_assign_threads(parts, len(threads)) for parts in tree.part_of_deal])
        # For each seat, traversed hands whose decisions its average does not include yet.
        pending_averages: list[list[Any]] = [[] for _ in seats]
        decisions = 0

        def add_to_averages(seat: int, thread: int) -> None:
            seat_infosets = *tree.first_infoset_of_seat[seat : seat + 2].tolist(), tree.legal_mask
            for deals, visited_infosets, spans in pending_averages[seat]:
                hands = np.flatnonzero(thread_of[seat, deals] == thread)
                _add_to_averages(hands, seat_infosets, arrays, visited_infosets, spans)

        def traverse_hands(thread: int) -> tuple[int, np.ndarray]:
            add_to_averages(traverser, thread)
            hand_arrays = deals, self._random_states, spans
            result: tuple[int, np.ndarray] = _traverse_hands(
                hands_of_thread[thread], traverser, tree_arrays, arrays, hand_arrays
            )
            return result

        with ThreadPoolExecutor(tree.thread_count) as pool:
            for _ in range(self.iterations_per_step):
                for traverser in seats:
                    deals = np.empty(self.traversals, np.int64)
                    spans = np.empty((self.traversals, 2), np.int64)
                    _sample_deals(self._random_states, tree.deal_count, deals)
                    hands_of_thread = [
                        np.flatnonzero(thread_of[traverser, deals] == t) for t in threads
                    ]
                    decision_counts, visited_infosets = zip(
                        *pool.map(traverse_hands, threads), strict=True
                    )
                    decisions += sum(decision_counts)
                    for thread in threads[1:]:
                        spans[hands_of_thread[thread]] += sum(map(len, visited_infosets[:thread]))
                    pending_averages[traverser].clear()
                    visits = deals, np.concatenate(visited_infosets), spans
                    for seat in set(seats) - {traverser}:
                        pending_averages[seat].append(visits)
            for seat in seats:
                list(pool.map(add_to_averages, [seat] * len(threads), threads))
        return decisions

    def players(self) -> dict[str, Player]:
        """Return the average policy, which converges with two seats, and the current one."""
        tree = self._tree
        return {
            "average": TabularPlayer(self._game, tree.normalize_policy(self._policy_sums)),
            "current": TabularPlayer(self._game, tree.normalize_policy(self._regrets.clip(0))),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return regrets, policy sums, random states and counters."""
        random_states = [self._random_states["key"], self._random_states["draws"]]
        return {
            "regrets": torch.from_numpy(self._regrets.copy()),
            "sums": torch.from_numpy(self._policy_sums.copy()),
            "random": np.stack(random_states, 1).ravel().tolist(),
            "progress": self.progress.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._regrets[:] = state["regrets"].numpy()
        self._policy_sums[:] = state["sums"].numpy()
        random_states = np.array(state["random"], np.uint64).reshape(-1, 2)
        self._random_states["key"], self._random_states["draws"] = random_states.T
        self.progress.load_state_dict(state["progress"])


def _assign_threads(part_of_deal: np.ndarray, threads: int) -> np.ndarray:
    """Return the thread of each deal, [D]; deals with common information sets share a thread."""
    _, part, deals_per_part = np.unique(part_of_deal, return_inverse=True, return_counts=True)
    part_middle = deals_per_part.cumsum() - deals_per_part / 2
    thread: np.ndarray = (part_middle * threads / len(part_of_deal)).astype(np.int64)[part]
    return thread


@jit
def _run_iterations(tree_arrays, arrays, generators, iterations):  # type: ignore[no-untyped-def]
    """Run iterations with B traversals for each seat; return the number of decisions visited.

    `arrays` are regrets and policy sums [I, A], which change in place; `generators` are B random
    states.
    """
    deals, seat, infoset, _, payoffs, legal = tree_arrays
    scratch = _allocate_scratch(tree_arrays)
    visited, _, _, policy = scratch
    decisions = 0
    for _ in range(iterations):
        for traverser in range(payoffs.shape[1]):
            for b in range(len(generators)):
                generator = generators[b : b + 1]
                deal = int(_sample_uniform(generator) * deals)
                count = _traverse_hand(deal, traverser, generator, tree_arrays, arrays[0], scratch)
                for position in range(count):
                    node = visited[position]
                    decisions += seat[node] >= 0
                    if seat[node] >= 0 and seat[node] != traverser:
                        for a in range(legal.shape[1]):
                            arrays[1][infoset[node], a] += policy[position, a]
    return decisions


@jit
def _sample_deals(generators, deals, out):  # type: ignore[no-untyped-def]
    """Sample a deal with each of B random generators; write the deals into `out` [B]."""
    for b in range(len(generators)):
        out[b] = int(_sample_uniform(generators[b : b + 1]) * deals)


@jit
def _traverse_hands(hand_indices, traverser, tree_arrays, arrays, hand_arrays):  # type: ignore[no-untyped-def]
    """Traverse some of a batch of B hands, without updating the averages of the other seats.

    Args:
        hand_arrays: deals [B] and generators [B] of the batch, and the output `spans` [B, 2]: start
            and end of each hand in the returned array.

    Returns:
        the number of decisions, and the information sets where other seats decided, hand by hand.
    """
    deals, generators, spans = hand_arrays
    _, seat, infoset, _, _, _ = tree_arrays
    scratch = _allocate_scratch(tree_arrays)
    visited, _, _, _ = scratch
    visited_infosets = np.empty(2 * len(visited), np.uint32)
    decisions = 0
    visit_count = 0
    for b in hand_indices:
        if visit_count + len(visited) > len(visited_infosets):
            visited_infosets = np.append(visited_infosets, np.empty_like(visited_infosets))
        spans[b, 0] = visit_count
        generator = generators[b : b + 1]
        count = _traverse_hand(deals[b], traverser, generator, tree_arrays, arrays[0], scratch)
        for position in range(count):
            node = visited[position]
            decisions += seat[node] >= 0
            if seat[node] >= 0 and seat[node] != traverser:
                visited_infosets[visit_count] = infoset[node]
                visit_count += 1
        spans[b, 1] = visit_count
    return decisions, visited_infosets[:visit_count].copy()


@jit
def _add_to_averages(hand_indices, seat_infosets, arrays, visited_infosets, spans):  # type: ignore[no-untyped-def]
    """Add a seat's policy to its average at the information sets visited in some hands.

    Args:
        seat_infosets: the seat's first information set, one past its last, and legal mask [I, A].
        visited_infosets: visited information sets of several seats, hand by hand.
        spans: start and end of each hand in `visited_infosets`, [B, 2].
    """
    first_infoset, stop_infoset, legal = seat_infosets
    regrets, policy_sums = arrays
    policy = np.empty(legal.shape[1])
    for b in hand_indices:
        for visit in range(spans[b, 0], spans[b, 1]):
            i = visited_infosets[visit]
            if first_infoset <= i and i < stop_infoset:
                _fill_policy_from_regrets(regrets[i], legal[i], policy)
                for a in range(len(policy)):
                    policy_sums[i, a] += policy[a]


@jit
def _allocate_scratch(tree_arrays):  # type: ignore[no-untyped-def]
    """Allocate arrays for the visited nodes of a hand: node, first child, value and policy."""
    deals, seat, _, _, _, legal = tree_arrays
    max_nodes = len(seat) // deals  # nodes below one deal
    visited, first_child = np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64)
    return visited, first_child, np.empty(max_nodes), np.empty((max_nodes, legal.shape[1]))


@jit
def _traverse_hand(deal, traverser, generator, tree_arrays, regrets, scratch):  # type: ignore[no-untyped-def]
    """Traverse a hand and update the traverser's regrets; return the number of visited nodes.

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
            _fill_policy_from_regrets(regrets[i], legal[i], policy[position])
            first_child[position] = count
            if seat[node] == traverser:
                for a in range(actions):
                    if legal[i, a]:
                        visited[count] = child[node] + count - first_child[position]
                        count += 1
            else:
                legal_index = _sample_legal_index(policy[position], legal[i], generator)
                visited[count] = child[node] + legal_index
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


@jit
def _fill_policy_from_regrets(regrets, legal, policy):  # type: ignore[no-untyped-def]
    """Write into `policy` [A] the positive regrets, normalized; uniform if none is positive."""
    total = 0.0
    legal_count = 0
    for a in range(len(regrets)):
        policy[a] = max(regrets[a], 0.0)
        total += policy[a]
        legal_count += legal[a]
    for a in range(len(regrets)):
        if total > 0:
            policy[a] /= total
        elif legal[a]:
            policy[a] = 1 / legal_count


@jit
def _sample_legal_index(policy, legal, generator):  # type: ignore[no-untyped-def]
    """Sample an action from the policy [A]; return its index among the legal actions."""
    remaining = _sample_uniform(generator)
    legal_index = -1
    for a in range(len(policy)):
        if legal[a]:
            legal_index += 1
            remaining -= policy[a]
            if remaining < 0:
                break
    return legal_index


@jit
def _sample_uniform(generator):  # type: ignore[no-untyped-def]
    return float(random_bits(generator[0]) >> np.uint64(11)) * 2.0**-53
