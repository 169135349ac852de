"""Exact exploitability on the public tree, whose states are pairs of a board and a betting line.

At each public state, the reach probabilities of each seat with each hand are passed down the tree,
and the values of each hand are passed up (Johanson et al., "Accelerating best response calculation
in large extensive games", 2011). For a player whose policy does not depend on how suits are named,
boards and hands that differ only by a permutation of the suits are evaluated once.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numba
import numpy as np

from poker_rl.games.game import Game, jit
from poker_rl.games.public.betting_lines import (
    fill_reach,
    fill_terminal_values,
    pack_line_arrays,
    pack_terminal_arrays,
    propagate_best_response_values,
)
from poker_rl.games.public.tree import Board, PublicTree
from poker_rl.players.player import Player
from poker_rl.players.range_policy import BoardPolicy, RangePolicyQuery
from poker_rl.storage.terminal_printing import create_progress_bar


def evaluate_on_public_tree(game: Game, player: Player) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate a player, whose `instance_count` must be 1, exactly, in chips a hand.

    Returns:
        gains, [2]: how much more each seat wins with a best response than with the policy.
        seat_values, [2]: what each seat wins if both seats play the policy.
    """
    tree = PublicTreeEvaluator(game, player.is_suit_invariant)
    bar_options = {"desc": "exact", "unit_scale": True, "leave": False}
    with create_progress_bar(tree.count_queries(), "hands", **bar_options) as bar:
        best_values, value = tree.evaluate_player(player, bar.update)
    seat_values = np.array([value, -value])
    return best_values - seat_values, seat_values


class PublicTreeEvaluator(PublicTree):
    """Public tree with an exact evaluation of players."""

    def __init__(self, game: Game, merge_suits: bool) -> None:
        super().__init__(game, merge_suits)
        self.range_policy = RangePolicyQuery(game, self.private_hands, self.boards)

    def count_queries(self) -> int:
        """Return the number of policy queries: pairs of a public state and a hand."""

        def count_from_street(street_index: int, previous_board: Board) -> int:
            count, states = 0, len(self.streets[street_index].decision_lines)
            for board in self.boards.list_next_boards(previous_board, street_index):
                count += states * len(self.boards.find_hand_representatives(board)[0])
                if street_index + 1 < len(self.streets):
                    count += count_from_street(street_index + 1, board)
            return count

        return count_from_street(0, self.boards.root)

    def evaluate_player(
        self, player: Player, on_progress: Callable[[int], object] = lambda rows: None
    ) -> tuple[np.ndarray, float]:
        """Return each seat's best-response value, [2], and the policy's value for the first seat.

        Values are in chips a hand. The player's `instance_count` must be 1. `on_progress` is called
        after each batch of policy queries with the size of the batch.
        """
        reach = np.ones((2, 1, len(self.private_hands.hands)))
        with ThreadPoolExecutor(numba.get_num_threads()) as threads:
            walk = _PublicTreeWalk(self, player, on_progress, threads)
            best_response_values, value = walk.average_over_boards(0, self.boards.root, reach)
        best_values: np.ndarray = best_response_values.sum((1, 2)) / self.hand_pair_count
        return best_values, value / self.hand_pair_count


@dataclass(frozen=True)
class _PublicTreeWalk:
    """Evaluation of one player by a walk of the public tree."""

    tree: PublicTreeEvaluator
    player: Player
    on_progress: Callable[[int], object]
    threads: ThreadPoolExecutor

    def average_over_boards(
        self, street_index: int, previous_board: Board, reach: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Evaluate the player from a street on, as the mean over boards after `previous_board`.

        L betting lines lead to this street; `reach` [2, L, H] is the probability that each seat
        plays each line with each of H hands. The first result [2, L, H] is each hand's
        counterfactual value if its seat plays a best response. The second is what the first seat
        wins if both seats play the policy, summed over lines and pairs of hands weighted by reach.
        """
        best_response_values, value = np.zeros(reach.shape), 0.0
        boards = self.tree.boards.list_next_boards(previous_board, street_index)
        policies = self.tree.range_policy.iterate_board_policy_batches(
            self.player, self.tree.streets[street_index].decision_records, boards, self.on_progress
        )
        # Only boards of the last street are evaluated in threads. A thread with an earlier board
        # would wait for the boards of the next street.
        is_last_street = street_index + 1 == len(self.tree.streets)
        run_each = self.threads.map if is_last_street and numba.get_num_threads() > 1 else map
        evaluate_board = partial(self._evaluate_from_board, street_index, reach)
        values_of_boards = chain.from_iterable(run_each(evaluate_board, each) for each in policies)
        for board, (board_values, board_value) in zip(boards, values_of_boards, strict=True):
            board_share = board.multiplicity / len(previous_board.suit_permutations)
            best_response_values += board_share * board_values
            value += board.multiplicity * board_value
        if len(previous_board.suit_permutations) > 1:
            renamed_hands = self.tree.private_hands.permuted_hands[previous_board.suit_permutations]
            renamed_values = [best_response_values[:, :, renaming] for renaming in renamed_hands]
            best_response_values = np.sum(renamed_values, axis=0)
        board_count = self.tree.boards.count_ways_to_deal_street(street_index)
        return best_response_values / board_count, value / board_count

    def _evaluate_from_board(
        self, street_index: int, reach: np.ndarray, policy: BoardPolicy
    ) -> tuple[np.ndarray, float]:
        """Return the two results of `average_over_boards`, but only for the board of `policy`."""
        street, board = self.tree.streets[street_index], policy.board
        row_of_hand = policy.hands.representative_of_hand
        is_possible = row_of_hand >= 0
        line_reach = np.empty((len(street.parent_line), 2, len(is_possible)))
        line_reach[: street.entering_count] = (reach * is_possible).transpose(1, 0, 2)
        # Impossible hands have the row -1; any row will do for them, because their reach is 0.
        hand_policy = policy.probs[:, np.maximum(row_of_hand, 0)].transpose(0, 2, 1)
        lines = pack_line_arrays(street)
        fill_reach(lines, hand_policy.copy(), line_reach)
        best_response_values = np.zeros(line_reach.shape)
        terminal_arrays = pack_terminal_arrays(street, self.tree.private_hands, board.cards)
        for seat in range(2):
            fill_terminal_values(terminal_arrays, seat, line_reach, best_response_values[:, seat])
        value = _sum_first_seat_terminal_values(
            street.terminal_lines, line_reach, best_response_values
        )
        if len(street.continuing_lines):
            leaving_reach = line_reach[street.continuing_lines].transpose(1, 0, 2)
            next_street = street_index + 1, board, leaving_reach
            next_values, next_value = self.average_over_boards(*next_street)
            best_response_values[street.continuing_lines] = next_values.transpose(1, 0, 2)
            value += next_value
        propagate_best_response_values(lines, best_response_values)
        return best_response_values[: street.entering_count].transpose(1, 0, 2) * is_possible, value


@jit
def _sum_first_seat_terminal_values(terminal_lines, reach, values):
    """Sum reach times value, both [lines, 2, H], over the first seat's hands at terminal lines."""
    value = 0.0
    for line in terminal_lines:
        for hand in range(reach.shape[2]):
            value += reach[line, 0, hand] * values[line, 0, hand]
    return value
