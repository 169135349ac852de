"""Counterfactual regret minimization over the public tree, for two-player poker of medium size.

The update and its variants are those of `cfr.py`, without the predictive ones. A node of the public
tree is a board with a betting line (a sequence of betting actions). At each node all hands of a
seat are updated at once, from the reach probabilities of all hands of the other seat (Johanson et
al., "Accelerating best response calculation in large extensive games", 2011; Bowling et al. solved
limit hold'em in this way, 2015). In iteration t, for each seat in turn:

    propagate the reach probability of each hand of both seats down the tree,
    propagate the counterfactual value of each of the seat's hands up the tree,
    and update regrets, policy and average where the seat decides, as in `cfr.py`.

Boards and hands that differ only by a permutation of suits are merged without loss. On the first
street that has several boards, threads process the boards in parallel; the number of threads does
not change the result. Regrets and policy sums are float32, not float64 as in `cfr.py`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from functools import partial

import numba
import numpy as np
import torch

from poker_rl.algos.tabular.cfr import TabularSolver, compute_discount
from poker_rl.config.input_checks import AveragingExponent, SolverIterationCount
from poker_rl.games.game import Game
from poker_rl.games.public.betting_lines import (
    fill_reach,
    fill_terminal_values,
    normalize_positive_weights,
    pack_line_arrays,
    pack_terminal_arrays,
    propagate_policy_values,
    update_regrets_and_policy_sums,
)
from poker_rl.games.public.infoset_index import BoardNode
from poker_rl.games.sequence_form import compute_mean_max_regret
from poker_rl.learning.memory_checks import check_memory
from poker_rl.players.player import Player
from poker_rl.players.tabular_player import PublicTabularPlayer, get_or_build_infoset_index

# Bytes per action of an information set: regret and policy sum, player's policy, temporary arrays.
BYTES_PER_ACTION = 8 + 2 + 8


@dataclass(kw_only=True)
class PublicCFR(TabularSolver):
    """CFR solver over the public tree.

    In shapes, L are the betting lines with which a street begins, and H the hands of a seat. The
    rows of a node in `_regrets` and `_policy_sums` hold its values in the order [D, A, R]: D lines
    after which a seat decides, A actions, and R hands, one of each class of hands that differ only
    by a permutation of suits.
    """

    alpha: float
    beta: float
    gamma: AveragingExponent
    iterations_per_step: SolverIterationCount
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self._infoset_index = get_or_build_infoset_index(game)
        self._tree, row_count = self._infoset_index.tree, self._infoset_index.row_count
        needed_bytes = row_count * game.action_count * BYTES_PER_ACTION
        check_memory(f"game: {row_count:,} information sets", needed_bytes, torch.device("cpu"))
        self.initialize_state(game, row_count, np.float32)

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations; return the metric `regret/first_street`.

        It is the mean over the first street's information sets of the largest positive regret, in
        chips per hand, divided by the number of iterations so far.
        """
        for _ in range(self.iterations_per_step):
            self.progress.iterations += 1
            t = self.progress.iterations
            discounts = compute_discount(t, self.alpha), compute_discount(t, self.beta)
            self._weights = *discounts, float(t) ** self.gamma
            for seat in range(self._game.seats):
                self._seat = seat
                reach = np.ones((1, 2, len(self._tree.private_hands.hands)))
                threads = numba.get_num_threads()
                self._update_next_boards(self._infoset_index.nodes[0], reach, threads)
        seat_updates = self.iterations_per_step * self._game.seats
        self.progress.updates += seat_updates
        self.progress.hands += seat_updates * self._game.count_deals()
        self.progress.decisions += seat_updates * self._infoset_index.row_count
        mean_regret = self._compute_first_street_max_regret()
        return {"regret/first_street": mean_regret / self.progress.iterations}

    def _compute_first_street_max_regret(self) -> float:
        """Return the largest positive regret in chips/hand, averaged over first-street infosets."""
        nodes, tree = self._infoset_index.nodes[0].children, self._tree
        shape = *tree.streets[0].legal_mask.shape, -1
        by_node = [self._regrets[node.rows].reshape(shape).transpose(0, 2, 1) for node in nodes]
        means = [compute_mean_max_regret(each.reshape(-1, each.shape[2])) for each in by_node]
        mean = np.average(means, weights=[node.board.multiplicity for node in nodes])
        return float(mean) / tree.hand_pair_count / tree.boards.count_ways_to_deal_street(0)

    def players(self) -> dict[str, Player]:
        """Return "average", the policy that converges to an equilibrium."""
        policy = np.empty(self._policy_sums.shape, np.float16)
        for node in self._infoset_index.nodes[1:]:
            rows = node.rows
            legal = self._tree.streets[node.street].legal_mask
            sums = self._policy_sums[rows].reshape(*legal.shape, -1)
            probs = np.empty(sums.shape)
            normalize_positive_weights(sums, legal, probs)
            policy[rows] = probs.transpose(0, 2, 1).reshape(-1, legal.shape[1])
        return {"average": PublicTabularPlayer(self._game, policy)}

    def _update_next_boards(self, node: BoardNode, reach: np.ndarray, threads: int) -> np.ndarray:
        """Update every board that can follow the node's board; return the mean of their values.

        Args:
            reach: reach probability of each seat's hands at each line that enters the next street,
                [L, 2, H].

        Returns:
            counterfactual value of each hand of the updated seat at each entering line, [L, H].
        """
        if threads > 1 and len(node.children) > 1:
            with ThreadPoolExecutor(threads) as pool:
                update = partial(self._update_board, reach=reach, threads=1)
                child_values = list(pool.map(update, node.children))
        else:
            child_values = [self._update_board(child, reach, threads) for child in node.children]
        renamings = node.board.suit_permutations
        hand_values = np.zeros((len(reach), reach.shape[2]))
        for child, values_of_child in zip(node.children, child_values, strict=True):
            hand_values += child.board.multiplicity / len(renamings) * values_of_child
        if len(renamings) > 1:
            mappings = self._tree.private_hands.permuted_hands[renamings]
            hand_values = np.sum([hand_values[:, mapping] for mapping in mappings], 0)
        return hand_values / self._tree.boards.count_ways_to_deal_street(node.street + 1)

    def _update_board(self, node: BoardNode, reach: np.ndarray, threads: int) -> np.ndarray:
        """Update a board and the boards after it; return the values at its entering lines, [L, H].

        `_update_next_boards` explains the arguments and the values.
        """
        street, rows = self._tree.streets[node.street], node.rows
        legal_mask = street.legal_mask
        shape = *legal_mask.shape, len(node.representatives)  # [D, A, R]
        regrets, policy_sums = (
            array[rows].reshape(shape) for array in (self._regrets, self._policy_sums)
        )
        policy = np.empty(shape)
        normalize_positive_weights(regrets, legal_mask, policy)
        lines, is_possible = pack_line_arrays(street), node.representative_of_hand >= 0
        hand_policy = policy.take(np.maximum(node.representative_of_hand, 0), axis=2)  # [D, A, H]
        all_reach = np.empty((len(street.parent_line), 2, reach.shape[2]))
        all_reach[: street.entering_count] = reach * is_possible
        fill_reach(lines, hand_policy, all_reach)
        hand_values = np.zeros((len(street.parent_line), reach.shape[2]))
        terminal_arrays = pack_terminal_arrays(street, self._tree.private_hands, node.board.cards)
        fill_terminal_values(terminal_arrays, self._seat, all_reach, hand_values)
        if len(street.continuing_lines):
            hand_values[street.continuing_lines] = self._update_next_boards(
                node, all_reach[street.continuing_lines], threads
            )
        propagate_policy_values(lines, hand_policy, self._seat, hand_values)
        own_reach, own_values = (
            array.take(node.representatives, axis=1)
            for array in (all_reach[:, self._seat], hand_values)
        )
        arrays = own_reach, own_values, regrets, policy_sums
        update_regrets_and_policy_sums(lines, policy, self._seat, self._weights, *arrays)
        return hand_values[: street.entering_count] * is_possible
