"""Ranges: the reach probability of each hand that a player may hold at a public state.

A range is a vector over the hands of a game, in the order of `Ranges.hands`; it is 0 for hands that
share a card with the board. The value of a hand against a range excludes the hands that share a
card with it. Running sums over sorted hands give the values of all H hands in O(H) time (Johanson
et al., "Accelerating best response calculation in large extensive games", 2011).
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.hand_strength import SHORT_DECK, evaluate_hand
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.record_dtypes import MAX_DECK_SIZE

BLOCKED_STRENGTH = -1  # strength of a hand that shares a card with the board


class Ranges:
    """The H hands of a game of poker, and the S permutations of its suits.

    Attributes:
        hands: the hole cards of each hand in ascending order, [H, hole] int8
        permuted_cards: the image of each card under each permutation of the suits, [S, cards]
            int64; the first permutation is the identity
        permuted_hands: the index in `hands` of the image of each hand, [S, H] int64
        hand_index: at [a, b], the index in `hands` of the hand of cards a < b; one axis per card
    """

    def __init__(self, game: PokerGame) -> None:
        self.hands = np.array(list(combinations(range(game.deck_size), game.hole_cards)), np.int8)
        self._suit_count, self._short_deck = len(game.suits), game.ranking == SHORT_DECK
        rank, suit = np.divmod(np.arange(game.deck_size), self._suit_count)
        suit_permutations = np.array(list(permutations(range(self._suit_count))))  # [S, suits]
        self.permuted_cards = rank * self._suit_count + suit_permutations[:, suit]
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
        compute_strengths(
            self.hands, board.astype(np.int8), self._suit_count, self._short_deck, strengths
        )
        hand_order = np.argsort(strengths, kind="stable")
        hand_order = hand_order[np.count_nonzero(strengths == BLOCKED_STRENGTH) :]
        return hand_order, strengths[hand_order]


@jit
def compute_strengths(hands, board, suit_count, short_deck, out):
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
        out[h] = (
            BLOCKED_STRENGTH
            if is_blocked
            else evaluate_hand(cards, hole_card_count + len(board), suit_count, short_deck)
        )


@jit
def sum_compatible_reach(hands, reach, out):
    """Write for each hand [H] the total `reach` [H] of the hands that share no card with it."""
    hole_card_count = hands.shape[1]
    reach_of_card = np.zeros(MAX_DECK_SIZE)
    total = 0.0
    for h in range(len(hands)):
        total += reach[h]
        for i in range(hole_card_count):
            reach_of_card[hands[h, i]] += reach[h]
    for h in range(len(hands)):
        # The loop below subtracts the hand's own reach `hole_card_count` times, once for each card.
        # It should be subtracted once, so add the other times back.
        compatible_reach = total + (hole_card_count - 1) * reach[h]
        for i in range(hole_card_count):
            compatible_reach -= reach_of_card[hands[h, i]]
        out[h] = compatible_reach


@jit
def compute_showdown_values(hands, hand_order, strengths, reach, out):
    """Write for each hand [H] the total `reach` [H] of weaker hands minus that of stronger hands.

    Hands that share a card with this hand do not count; hands that share one with the board get 0.
    `hand_order` and `strengths` are the results of `sort_by_strength` for the board.
    """
    out[:] = 0
    add_reach_of_preceding_hands(hands, hand_order, strengths, reach, 1, out)
    add_reach_of_preceding_hands(hands, hand_order[::-1], strengths[::-1], reach, -1, out)


@jit
def add_reach_of_preceding_hands(hands, hand_order, strengths, reach, sign, out):
    """Add to `out` for each hand `sign` times the total reach of those before it in `hand_order`.

    Hands of the same strength do not count, and neither do hands that share a card with this hand.
    """
    hole_card_count, count = hands.shape[1], len(hand_order)
    reach_of_card = np.zeros(MAX_DECK_SIZE)
    total, start = 0.0, 0
    while start < count:
        end = start
        while end < count and strengths[end] == strengths[start]:
            hand = hand_order[end]
            earlier_reach = total
            for i in range(hole_card_count):
                earlier_reach -= reach_of_card[hands[hand, i]]
            out[hand] += sign * earlier_reach
            end += 1
        for position in range(start, end):
            hand = hand_order[position]
            total += reach[hand]
            for i in range(hole_card_count):
                reach_of_card[hands[hand, i]] += reach[hand]
        start = end
