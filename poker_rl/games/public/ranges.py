"""Ranges: for each hand that a player may hold, the chance to have come to a public state with it.

A range is a vector over the hands of a game, in the order of `Ranges.hands`; hands that share a
card with the board have chance 0. Two seats cannot hold the same card, so what a hand wins from a
range leaves out the hands that share a card with it. Going over all pairs would take the square of
the number of hands; here sums over the hands sorted by strength are corrected card by card
(Johanson et al., "Accelerating best response calculation in large extensive games", 2011).
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from poker_rl.games.cards import SHORT_DECK, strength
from poker_rl.games.game import rule
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.poker.table import CARDS

BLOCKED = -1  # in place of the strength of a hand that shares a card with the board


class Ranges:
    """The hands of a game of poker, and how the suits can be renamed.

    Attributes:
        hands: the cards of each hand in ascending order, [H, hole] int8.
        cards: the new name of each card in each renaming of the suits, the first of which changes
            nothing, [S, cards] int64.
        renamed: the place among `hands` of each hand in each renaming, [S, H] int64.
    """

    def __init__(self, game: PokerGame) -> None:
        self.hands = np.array(list(combinations(range(game.cards), game.hole_cards)), np.int8)
        self._suits, self._short_deck = len(game.suits), game.ranking == SHORT_DECK
        rank, suit = np.divmod(np.arange(game.cards), self._suits)
        names = np.array(list(permutations(range(self._suits))))  # [S, suits]
        self.cards = rank * self._suits + names[:, suit]
        place = np.zeros((game.cards,) * game.hole_cards, np.int64)
        place[tuple(self.hands.T)] = np.arange(len(self.hands))
        there = np.sort(self.cards[:, self.hands], axis=2)  # [S, H, hole]
        self.renamed: np.ndarray = place[tuple(there.transpose(2, 0, 1))]

    def free(self, board: np.ndarray) -> np.ndarray:
        """Which hands share no card with a board [n], [H] bool."""
        return np.asarray(~np.isin(self.hands, board).any(1))

    def apart(self, own: np.ndarray) -> np.ndarray:
        """Which hands share no card with each of these, [R, H] bool.

        Args:
            own: places among the hands, [R].
        """
        shared = self.hands[own][:, None, :, None] == self.hands[None, :, None, :]
        return np.asarray(~shared.any((2, 3)))

    def ranked(self, board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The hands that a board [n] leaves, from the weakest to the strongest.

        Returns:
            their places among `hands` and their strengths, [free] int64 and int32.
        """
        ranks = np.empty(len(self.hands), np.int32)
        strengths(self.hands, board.astype(np.int8), self._suits, self._short_deck, ranks)
        order = np.argsort(ranks, kind="stable")
        order = order[np.count_nonzero(ranks == BLOCKED) :]
        return order, ranks[order]


@rule
def strengths(hands, board, suits, short_deck, out):
    """Write the strength of each hand with a board [n], `BLOCKED` where they share a card."""
    hole = hands.shape[1]
    cards = np.zeros(CARDS, np.int8)
    for i in range(len(board)):
        cards[hole + i] = board[i]
    for h in range(len(hands)):
        shared = False
        for i in range(hole):
            cards[i] = hands[h, i]
            for j in range(len(board)):
                shared |= hands[h, i] == board[j]
        out[h] = BLOCKED if shared else strength(cards, hole + len(board), suits, short_deck)


@rule
def against_all(hands, reach, out):
    """Write for each hand the chance of all hands that share no card with it.

    Args:
        hands: `Ranges.hands`, [H, hole].
        reach: the chance of each hand, [H] float64.
        out: written here, [H] float64.
    """
    hole = hands.shape[1]
    of_card = np.zeros(CARDS)
    total = 0.0
    for h in range(len(hands)):
        total += reach[h]
        for i in range(hole):
            of_card[hands[h, i]] += reach[h]
    for h in range(len(hands)):
        # The same hand shares all its cards, and is taken away once for each of them.
        left = total + (hole - 1) * reach[h]
        for i in range(hole):
            left -= of_card[hands[h, i]]
        out[h] = left


@rule
def show_down(hands, order, ranks, reach, out):
    """Write for each hand the chance of weaker hands less that of stronger ones.

    Hands that share a card with it do not count. The time goes with the number of hands.

    Args:
        hands: `Ranges.hands`, [H, hole].
        order: the hands that a board leaves, from the weakest to the strongest, [free].
        ranks: their strengths, [free].
        reach: the chance of each hand, [H] float64.
        out: written here, [H] float64; 0 for hands that the board does not leave.
    """
    hole, count = hands.shape[1], len(order)
    out[:] = 0
    for direction in range(2):
        of_card = np.zeros(CARDS)
        total = 0.0
        sign = 1 - 2 * direction
        start = 0
        while start < count:
            end = start
            while end < count and rank_at(ranks, end, direction) == rank_at(
                ranks, start, direction
            ):
                hand = order[end if direction == 0 else count - 1 - end]
                beaten = total
                for i in range(hole):
                    beaten -= of_card[hands[hand, i]]
                out[hand] += sign * beaten
                end += 1
            for place in range(start, end):
                hand = order[place if direction == 0 else count - 1 - place]
                total += reach[hand]
                for i in range(hole):
                    of_card[hands[hand, i]] += reach[hand]
            start = end


@rule
def rank_at(ranks, place, direction):
    """The strength at a place counted from the weakest hand, or from the strongest."""
    return ranks[place if direction == 0 else len(ranks) - 1 - place]
