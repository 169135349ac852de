"""Action values of a policy on sampled boards of the public tree of heads-up poker.

An evaluation visits a few sampled boards of each street, and on each of them all betting lines with
all hands. It passes reach probabilities down the tree and counterfactual values up, like the exact
computation of a best response, but the values are those of the policy itself. Since only boards are
sampled, the values average exactly over hidden cards and actions.

In shapes, N are all betting lines of a street, L those with which it begins, D those after which a
seat decides; A actions; H hands, and R representatives, one of each class of hands that differ only
by a permutation of suits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from poker_rl.games.game import Game, jit
from poker_rl.games.public.betting_lines import (
    fill_reach,
    fill_terminal_values,
    pack_line_arrays,
    pack_terminal_arrays,
    propagate_policy_values,
)
from poker_rl.games.public.ranges import fill_compatible_reach_of_rows
from poker_rl.games.public.tree import Board, PublicTree
from poker_rl.players.player import Player
from poker_rl.players.range_policy import BoardPolicy, RangePolicyQuery

MIN_REACH = 1e-100  # a decision is not sampled if the reach of the other seat's hands is smaller


@dataclass(frozen=True)
class BoardDecisions:
    """The decisions of both seats on one board: at each of D betting lines with each of R hands."""

    street_index: int
    decks: np.ndarray  # `decks[s]`: for each hand a deck that deals it to seat s, [2, R, cards]
    probs: np.ndarray  # policy, [D, R, A]
    advantages: np.ndarray  # value of each action minus that of the policy, in chips, [D, R, A]
    explored_weights: np.ndarray  # probabilities up to a factor, if both seats explore, [D, R]
    played_weights: np.ndarray  # likewise, if only the seat that does not decide explores


class SampledBoardEvaluator:
    """Evaluator of policies on sampled boards of a game's public tree.

    Args:
        merge_suits: merge boards and hands that differ only by a permutation of the suits; the
            policies have to ignore how suits are named.
        board_count: number of boards to sample on a street after each board of the previous street;
            if no more than `board_count` boards can follow, all of them are visited.
        exploration: share of uniform play in the policy of a seat that explores.

    Raises:
        ConfigError: if the game is not heads-up poker, or its public tree is too large.
    """

    def __init__(self, game: Game, merge_suits: bool, board_count: int, exploration: float) -> None:
        self.tree = PublicTree(game, merge_suits)
        self.range_policy = RangePolicyQuery(game, self.tree.private_hands, self.tree.boards)
        self.exploration = exploration
        self._board_count = board_count
        self._cached_boards: dict[tuple[int, bytes], tuple[list[Board], np.ndarray]] = {}
        self._decisions: list[BoardDecisions] = []

    def sample_and_evaluate_boards(
        self, player: Player, generator: np.random.Generator
    ) -> list[BoardDecisions]:
        """Evaluate a player's actions on sampled boards; return all decisions on these boards."""
        self._player, self._generator, self._decisions = player, generator, []
        reach = np.ones((2, 1, 2, len(self.tree.private_hands.hands)))
        self._average_values_over_boards(0, self.tree.boards.root, reach, 1.0)
        return self._decisions

    def _sample_boards(
        self, street_index: int, previous_board: Board
    ) -> tuple[list[Board], np.ndarray]:
        """Return B boards of a street that can follow `previous_board`, and their weights [B].

        To estimate a sum of hand values over all boards that can follow, without bias, a caller
        adds up the weighted values over these B boards, then averages over the hands that
        `previous_board.suit_permutations` map to each other.
        """
        key = street_index, previous_board.cards.tobytes()
        if key not in self._cached_boards:
            boards = self.tree.boards.list_next_boards(previous_board, street_index)
            multiplicities = np.array([board.multiplicity for board in boards], np.float64)
            self._cached_boards[key] = boards, multiplicities
        boards, multiplicities = self._cached_boards[key]
        if len(boards) <= self._board_count:
            return boards, multiplicities
        sampled = sample_systematically(multiplicities, self._board_count, self._generator)
        weight = multiplicities.sum() / self._board_count
        return [boards[i] for i in sampled], np.full(self._board_count, weight)

    def _average_values_over_boards(
        self, street_index: int, previous_board: Board, reach: np.ndarray, board_prob: float
    ) -> np.ndarray:
        """Return both seats' counterfactual values, averaged over boards of a street, [L, 2, H].

        Args:
            reach: probability that each seat plays the L betting lines to this street with each
                hand, without and with exploration, [2, L, 2, H].
            board_prob: probability of the boards that the previous board represents in the sample.
        """
        tree = self.tree
        boards, weights = self._sample_boards(street_index, previous_board)
        # Divide by the number of boards that share no card with a given pair of hands.
        weights = weights / tree.boards.count_ways_to_deal_street(street_index)
        query = self._player, tree.streets[street_index].decision_records, boards
        policies = list(chain.from_iterable(self.range_policy.iterate_board_policy_batches(*query)))
        values = np.zeros(reach.shape[1:])
        for policy, weight in zip(policies, weights.tolist(), strict=True):
            values += weight * self._evaluate_from_board(
                street_index, policy, reach, board_prob * weight
            )
        renamed_hands = tree.private_hands.permuted_hands[previous_board.suit_permutations]
        mean: np.ndarray = np.mean([values[:, :, renaming] for renaming in renamed_hands], axis=0)
        return mean

    def _evaluate_from_board(
        self, street_index: int, policy: BoardPolicy, reach: np.ndarray, board_prob: float
    ) -> np.ndarray:
        """Add a board's decisions to `_decisions`; return its counterfactual values, [L, 2, H].

        Arguments as in `_average_values_over_boards`, but `board_prob` is that of this board.
        """
        ranges, board, street = (
            self.tree.private_hands,
            policy.board,
            self.tree.streets[street_index],
        )
        legal, lines = street.legal_mask, pack_line_arrays(street)
        hands, probs = policy.hands, policy.probs  # [D, R, A]
        is_possible = hands.representative_of_hand >= 0
        # Hands that share a card with the board have row -1; as their reach is 0, any row will do.
        row_of_hand = np.maximum(hands.representative_of_hand, 0)
        uniform = (legal / legal.sum(1, keepdims=True))[:, None]
        line_reach = np.empty((2, len(street.parent_line), *reach.shape[2:]))
        line_reach[:, : street.entering_count] = reach * is_possible
        explored_probs = probs + self.exploration * (uniform - probs)
        hand_policies = [
            each[:, row_of_hand].transpose(0, 2, 1).copy() for each in (probs, explored_probs)
        ]
        for each_policy, each_reach in zip(hand_policies, line_reach, strict=True):
            fill_reach(lines, each_policy, each_reach)

        values = np.zeros(line_reach.shape[1:])
        terminal_arrays = pack_terminal_arrays(street, ranges, board.cards)
        for seat in range(2):
            fill_terminal_values(terminal_arrays, seat, line_reach[0], values[:, seat])
        if len(continuing := street.continuing_lines):
            values[continuing] = self._average_values_over_boards(
                street_index + 1, board, line_reach[:, continuing], board_prob
            )
        for seat in range(2):
            propagate_policy_values(lines, hand_policies[0], seat, values[:, seat])

        if len(street.decision_lines):
            hand_counts = np.bincount(row_of_hand[is_possible], minlength=probs.shape[1])
            advantages, weights = np.zeros(probs.shape), np.empty((2, *probs.shape[:2]))
            decided_hands = ranges.hands, hands.representatives, board_prob * hand_counts
            outputs = advantages, weights
            _fill_advantages_and_weights(lines, decided_hands, *line_reach, values, *outputs)
            decisions = BoardDecisions(street_index, hands.decks, probs, advantages, *weights)
            self._decisions.append(decisions)
        return values[: street.entering_count] * is_possible


def sample_systematically(
    weights: np.ndarray, count: int, generator: np.random.Generator
) -> np.ndarray:
    """Return `count` sorted indices, sampled in proportion to weights [N] (systematic sampling).

    Each index occurs as often as expected, rounded up or down, because the sampling points are
    equidistant; a single random number shifts all of them.
    """
    cumulative = weights.cumsum()
    points = (generator.random() + np.arange(count)) * (cumulative[-1] / count)
    indices: np.ndarray = np.searchsorted(cumulative, points, side="right")
    return indices.clip(max=len(weights) - 1)


@jit
def _fill_advantages_and_weights(
    lines, decided_hands, reach, exploring_reach, values, advantages, weights
):
    """Write the advantages [D, R, A] and weights [2, D, R] of all decisions on a board.

    The weights are the `explored_weights` and `played_weights` of `BoardDecisions`. `lines` is the
    result of `pack_line_arrays`. `decided_hands` holds all hands, the indices of the R
    representatives, and for each representative the probability of the board times the number of
    hands in its class. `reach` (without exploration), `exploring_reach` and the counterfactual
    `values` are [N, 2, H].
    """
    entering, parent, action, seat, state_of_line = lines
    hands, representatives, hand_weights = decided_hands
    other_reach, exploring_other_reach = np.empty((2, len(parent), len(hands)))
    for actor in range(2):
        acting_lines, other_seat = np.flatnonzero(seat == actor), 1 - actor
        fill_compatible_reach_of_rows(hands, reach[:, other_seat], acting_lines, other_reach)
        exploring_reach_of_other = exploring_reach[:, other_seat]
        fill_compatible_reach_of_rows(
            hands, exploring_reach_of_other, acting_lines, exploring_other_reach
        )
    for line in range(len(parent)):
        if seat[line] >= 0:
            actor, d = seat[line], state_of_line[line]
            for r in range(len(representatives)):
                hand = representatives[r]
                weight = hand_weights[r] * exploring_other_reach[line, hand]
                weight *= other_reach[line, hand] > MIN_REACH
                weights[0, d, r] = weight * exploring_reach[line, actor, hand]
                weights[1, d, r] = weight * reach[line, actor, hand]
    for line in range(entering, len(parent)):
        parent_line = parent[line]
        actor, d = seat[parent_line], state_of_line[parent_line]
        for r in range(len(representatives)):
            hand = representatives[r]
            gain = values[line, actor, hand] - values[parent_line, actor, hand]
            advantages[d, r, action[line]] = gain / max(other_reach[parent_line, hand], MIN_REACH)
