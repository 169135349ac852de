"""Ranges: the reach probability of each hand that a player may hold at a public state.

A range is a vector over the hands of a game, in the order of `PrivateHands.hands`; it is 0 for
hands that share a card with the board. The value of a hand against a range excludes the hands that
share a card with this hand. Running sums over sorted hands give the values of all H hands in O(H)
time (Johanson et al., "Accelerating best response calculation in large extensive games", 2011).
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from poker_rl.games.game import jit, simd_jit
from poker_rl.games.hand_evaluator import SHORT_DECK, evaluate_hand
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import MAX_DECK_SIZE

BLOCKED_STRENGTH = -1  # strength of a hand that shares a card with the board
# Number of ranges processed together. Their entries for one hand are adjacent in memory, so that
# SIMD instructions can process several ranges at once; a block fits in the cache.
BLOCK_SIZE = 32


class PrivateHands:
    """The H hands of a game of poker, and the S permutations of its suits.

    Attributes:
        hands: the hole cards of each hand in ascending order, [H, hole] int8
        permuted_cards: the image of each card under each permutation of the suits, [S, cards]
            int64; the first permutation is the identity
        permuted_hands: the index in `hands` of the image of each hand, [S, H] int64
        ranking_rules: the arguments `suit_count` and `short_deck` of `fill_strengths_on_board`
        hand_index: at [a, b], the index in `hands` of the hand of cards a < b; one axis per card
    """

    def __init__(self, game: PokerGame) -> None:
        self.hands = np.array(list(combinations(range(game.deck_size), game.hole_cards)), np.int8)
        suit_count = len(game.suits)
        self.ranking_rules = suit_count, game.ranking == SHORT_DECK
        rank, suit = np.divmod(np.arange(game.deck_size), suit_count)
        suit_permutations = np.array(list(permutations(range(suit_count))))  # [S, suits]
        self.permuted_cards = rank * suit_count + suit_permutations[:, suit]
        self.hand_index = np.zeros((game.deck_size,) * game.hole_cards, np.int64)
        self.hand_index[tuple(self.hands.T)] = np.arange(len(self.hands))
        permuted_hole_cards = np.sort(self.permuted_cards[:, self.hands], axis=2)
        permuted_hands = self.hand_index[tuple(permuted_hole_cards.transpose(2, 0, 1))]
        self.permuted_hands: np.ndarray = permuted_hands

    def mask_compatible_hands(self, board: np.ndarray) -> np.ndarray:
        """Return a mask [H] of the hands that share no card with `board`, an array of cards."""
        return np.asarray(~np.isin(self.hands, board).any(1))

    def mask_disjoint_hands(self, hand_indices: np.ndarray) -> np.ndarray:
        """Return for each of R given hands a mask of the hands without its cards, [R, H] bool."""
        shared = self.hands[hand_indices][:, None, :, None] == self.hands[None, :, None, :]
        return np.asarray(~shared.any((2, 3)))

    def sort_by_strength(self, board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the hands that share no card with a board, and their strengths.

        The hands are ordered from the weakest to the strongest. `board` has the n board cards, [n].
        """
        strengths = np.empty(len(self.hands), np.int32)
        fill_strengths_on_board(self.hands, board.astype(np.int8), *self.ranking_rules, strengths)
        hand_order = np.argsort(strengths, kind="stable")
        hand_order = hand_order[np.count_nonzero(strengths == BLOCKED_STRENGTH) :]
        return hand_order, strengths[hand_order]


@jit
def fill_strengths_on_board(hands, board, suit_count, short_deck, out):
    """Write into `out` [H] the strength of each hand on a board, or `BLOCKED_STRENGTH`."""
    hole_card_count = hands.shape[1]
    cards = np.zeros(MAX_DECK_SIZE, np.int8)
    for i in range(len(board)):
        cards[hole_card_count + i] = board[i]
    for h in range(len(hands)):
        is_blocked = False
        for i in range(hole_card_count):
            cards[i] = hands[h, i]
            for j in range(len(board)):
                is_blocked |= hands[h, i] == board[j]
        out[h] = BLOCKED_STRENGTH
        if not is_blocked:
            out[h] = evaluate_hand(cards, hole_card_count + len(board), suit_count, short_deck)


@simd_jit(reorder_sums=False)
def fill_compatible_reach_of_rows(hands, reach, rows, out):
    """Write for each hand the total reach of the hands that share no card with it.

    This is done for the ranges `reach[rows]`; each result is written into the same row of `out`.
    Both arrays are [N, H].
    """
    all_hands = np.arange(len(hands))
    for first in range(0, len(rows), BLOCK_SIZE):
        block_rows = rows[first : first + BLOCK_SIZE]
        block = gather_transposed_rows(reach, block_rows, all_hands)
        values = np.empty_like(block)
        fill_compatible_reach(hands, block, values)
        scatter_transposed_rows(values, block_rows, all_hands, out)


@simd_jit(reorder_sums=False)
def fill_compatible_reach(hands, block, values):
    """Write for each hand the total reach of the hands that share no card with it, in T ranges.

    `block` [H, T] is the reach of each hand; the results go into `values` [H, T].
    """
    hole_card_count, range_count = hands.shape[1], block.shape[1]
    total, reach_of_card = np.zeros(range_count), np.zeros((MAX_DECK_SIZE, range_count))
    for h in range(len(hands)):
        for t in range(range_count):
            total[t] += block[h, t]
        for i in range(hole_card_count):
            for t in range(range_count):
                reach_of_card[hands[h, i], t] += block[h, t]
    for h in range(len(hands)):
        # The loop below subtracts the hand's own reach `hole_card_count` times, once for each
        # card. It should be subtracted once, so add it the other times.
        for t in range(range_count):
            values[h, t] = total[t] + (hole_card_count - 1) * block[h, t]
        for i in range(hole_card_count):
            for t in range(range_count):
                values[h, t] -= reach_of_card[hands[h, i], t]


@simd_jit(reorder_sums=False)
def compute_showdown_values(hands, hand_order, strengths, reach, rows, out):
    """Write for each hand the total reach of weaker hands minus that of stronger hands.

    Hands that share a card with this hand do not count; hands that share one with the board are
    left out. `hand_order` and `strengths` are the results of `sort_by_strength` for the board; see
    `fill_compatible_reach_of_rows` for the other arguments.
    """
    for first in range(0, len(rows), BLOCK_SIZE):
        block_rows = rows[first : first + BLOCK_SIZE]
        block = gather_transposed_rows(reach, block_rows, hand_order)
        values = np.zeros_like(block)
        add_reach_of_preceding_hands(hands, hand_order, strengths, 1, block, values)
        add_reach_of_preceding_hands(hands, hand_order, strengths, -1, block, values)
        scatter_transposed_rows(values, block_rows, hand_order, out)


@simd_jit(reorder_sums=False)
def add_reach_of_preceding_hands(hands, hand_order, strengths, sign, block, values):
    """Add to each hand's `values` [R, T] the total reach of all weaker hands, if `sign` is 1.

    If `sign` is -1, subtract the total reach of all stronger hands. Hands that share a card with
    the hand do not count. `block` [R, T] is the reach of the hands in T ranges. Its rows and those
    of `values` are in `hand_order`, from the weakest hand to the strongest.
    """
    hole_card_count, (count, range_count) = hands.shape[1], block.shape
    total, reach_of_card = np.zeros(range_count), np.zeros((MAX_DECK_SIZE, range_count))
    preceding_reach, start = np.empty(range_count), 0
    while start < count:
        end, strength = start, strengths[start if sign > 0 else -1 - start]
        while end < count and strengths[end if sign > 0 else -1 - end] == strength:
            position = end if sign > 0 else count - 1 - end
            for t in range(range_count):
                preceding_reach[t] = total[t]
            for i in range(hole_card_count):
                card = hands[hand_order[position], i]
                for t in range(range_count):
                    preceding_reach[t] -= reach_of_card[card, t]
            for t in range(range_count):
                values[position, t] += sign * preceding_reach[t]
            end += 1
        for step in range(start, end):
            position = step if sign > 0 else count - 1 - step
            for t in range(range_count):
                total[t] += block[position, t]
            for i in range(hole_card_count):
                card = hands[hand_order[position], i]
                for t in range(range_count):
                    reach_of_card[card, t] += block[position, t]
        start = end


@simd_jit(reorder_sums=False)
def gather_transposed_rows(reach, rows, hand_order):
    """Return the rows `rows` of `reach` [N, H] transposed, with hands in the order `hand_order`."""
    block = np.empty((len(hand_order), len(rows)))
    for position in range(len(hand_order)):
        for t in range(len(rows)):
            block[position, t] = reach[rows[t], hand_order[position]]
    return block


@simd_jit(reorder_sums=False)
def scatter_transposed_rows(block, rows, hand_order, out):
    """Write a block, laid out as in `gather_transposed_rows`, into rows `rows` of `out` [N, H]."""
    for position in range(len(hand_order)):
        for t in range(len(rows)):
            out[rows[t], hand_order[position]] = block[position, t]
