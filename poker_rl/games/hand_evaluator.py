"""Strength of a hand of one to seven cards.

The best five cards are evaluated by table look-up. Each card has an integer as its key. The sum of
the keys of a hand consists of

    bits  0-16  the base-5 number whose digit r counts the cards of rank r, for ranks 0 to 6
    bits 17-31  the base-5 number whose digit r counts the cards of rank r + 7, for ranks 7 to 12
    bits 32-47  a counter of 4 bits per suit that starts at 3, so five cards set its top bit

A hand without a flush has the strength `STRENGTHS[i]`. The index i of its multiset of ranks is
`HIGH_RANKS_INDEX[bits 17-31] + LOW_RANKS_INDEX[bits 0-16]`. A hand of up to seven cards with a
flush has no full house or four of a kind, so its strength is `FLUSH_STRENGTHS[j]`. Bit r of j is 1
if the hand has the card of rank r in the suit of the flush.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poker_rl.games.cards import MAX_RANKS, MAX_SUITS

MAX_HAND_CARDS = 7

HIGH_CARD, PAIR, TWO_PAIR, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = range(9)
THREE_CARD_HAND = 3  # number of cards of a hand in three-card poker
SHORT_DECK = "short_deck"  # name of the hand ranking of short-deck hold'em
SHORT_DECK_RANKS = "6789TJQKA"
SHORT_DECK_WHEEL = 0b100001111  # the set of ranks of A6789, bit r for rank r
# The lowest twelve bits of a strength order the hands within a category. They suffice: one pair
# has the most distinct strengths, 3,887 for hands of two to seven cards.
CATEGORY_SHIFT = 12

LOW_RANK_COUNT = 7
POWERS_OF_5 = 5 ** np.arange(LOW_RANK_COUNT)
# The base-5 number of seven low ranks takes 17 bits: it is at most 4 * 5**6 + 3 * 5**5 = 71,875.
HIGH_RANKS_SHIFT = 17
LOW_RANKS_MASK = (1 << HIGH_RANKS_SHIFT) - 1
HIGH_RANKS_MASK = (1 << 15) - 1
SUIT_COUNTERS_SHIFT = 32
EMPTY_HAND_KEY = 0x3333 << SUIT_COUNTERS_SHIFT
FLUSH_MASK = 0x8888 << SUIT_COUNTERS_SHIFT


def compute_card_keys() -> NDArray[np.int64]:
    """Return `keys[s, c]`, the key of card c in a deck with s suits; see the module's docstring."""
    keys = np.zeros((MAX_SUITS + 1, MAX_RANKS * MAX_SUITS), np.int64)
    for suits in range(1, MAX_SUITS + 1):
        rank, suit = np.divmod(np.arange(MAX_RANKS * suits), suits)
        is_high, digit = np.divmod(rank, LOW_RANK_COUNT)
        rank_key = POWERS_OF_5[digit] << HIGH_RANKS_SHIFT * is_high
        keys[suits, : len(rank)] = rank_key + (1 << SUIT_COUNTERS_SHIFT + 4 * suit)
    return keys


def enumerate_rank_multisets(rank_count: int) -> NDArray[np.int8]:
    """Return the number of cards of each rank in each of the N multisets of ranks, [ranks, N].

    A multiset has up to seven cards, at most four of a rank. The multisets are sorted by size.
    """
    counts = np.indices((5,) * rank_count, np.int8).reshape(rank_count, -1)
    sizes = counts.sum(0)
    return counts[:, np.argsort(sizes, kind="stable")[: np.sum(sizes <= MAX_HAND_CARDS)]]


def score_rank_multisets(counts: NDArray[np.int8]) -> NDArray[Any]:
    """Return the score of the best five cards of N hands, [N]; a better hand has a larger score.

    `counts` [13, N] are the numbers of cards of each rank; suits are ignored. A score has 4 bits
    for the category, then 4 bits for each group of equal ranks among the best five cards: AAKKQ has
    the digits A K Q 0 0. For a straight, the score has only the highest rank.
    """
    ranks, multisets = np.arange(MAX_RANKS, dtype=np.int8), np.arange(counts.shape[1])
    remaining, cards_left, score = counts.copy(), np.int8(5), np.zeros(len(multisets), np.int64)
    group_sizes = []
    for _ in range(5):
        usable = np.minimum(remaining, cards_left)
        size, rank = np.divmod((usable * np.int8(MAX_RANKS) + ranks[:, None]).max(0), MAX_RANKS)
        score = score << 4 | (rank + 1) * (size > 0)
        remaining[rank, multisets] = 0
        cards_left = cards_left - size
        group_sizes.append(size)
    first, second = group_sizes[:2]
    category = np.where(first == 2, np.where(second == 2, TWO_PAIR, PAIR), HIGH_CARD)
    category = np.where(first == 3, np.where(second == 2, FULL_HOUSE, TRIPS), category)
    category = np.where(first == 4, QUADS, category)

    ranks_held = (1 << np.arange(MAX_RANKS)) @ (counts > 0)
    ranks_with_low_ace = ranks_held << 1 | ranks_held >> MAX_RANKS - 1  # aces count also as lowest
    straights = np.bitwise_and.reduce([ranks_with_low_ace << n for n in range(5)])
    straight_end = np.frexp(straights)[1].astype(np.int64)  # index of the highest bit + 1
    is_straight = (straights > 0) & (category < STRAIGHT)
    return np.where(is_straight, STRAIGHT << 20 | straight_end << 16, category << 20 | score)


def build_strength_tables() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return `LOW_RANKS_INDEX`, `HIGH_RANKS_INDEX`, `STRENGTHS` and `FLUSH_STRENGTHS`."""
    low_counts = enumerate_rank_multisets(LOW_RANK_COUNT)
    high_counts = enumerate_rank_multisets(MAX_RANKS - LOW_RANK_COUNT)
    low_sizes, max_low_sizes = low_counts.sum(0), MAX_HAND_CARDS - high_counts.sum(0)
    fitting_low_count = np.searchsorted(low_sizes, max_low_sizes, side="right")
    start = np.cumsum(fitting_low_count) - fitting_low_count

    low_index = np.zeros(LOW_RANKS_MASK, np.uint16)
    low_index[POWERS_OF_5 @ low_counts] = np.arange(len(low_sizes))
    high_index = np.zeros(HIGH_RANKS_MASK, np.int32)
    high_index[POWERS_OF_5[: len(high_counts)] @ high_counts] = start

    high_multiset = np.repeat(np.arange(len(max_low_sizes)), fitting_low_count)
    low_multiset = np.arange(len(high_multiset)) - start[high_multiset]
    rank_counts = np.concatenate([low_counts[:, low_multiset], high_counts[:, high_multiset]])
    rank_scores = score_rank_multisets(rank_counts)
    flush_rank_sets = np.arange(1 << MAX_RANKS)
    flush_rank_sets = flush_rank_sets[np.bitwise_count(flush_rank_sets) >= 5]
    flush_counts = (flush_rank_sets >> np.arange(MAX_RANKS)[:, None] & 1).astype(np.int8)
    flush_scores = score_rank_multisets(flush_counts)
    is_straight = flush_scores >> 20 == STRAIGHT
    flush_scores += np.where(is_straight, STRAIGHT_FLUSH - STRAIGHT, FLUSH - HIGH_CARD) << 20

    scores = np.concatenate([rank_scores, flush_scores])
    score_classes, index = np.unique(scores, return_inverse=True)
    category = score_classes >> 20
    rank_in_category = np.arange(len(score_classes)) - np.searchsorted(category, category)
    strengths = (category << CATEGORY_SHIFT | rank_in_category).astype(np.uint16)[index]
    flushes = np.zeros(1 << MAX_RANKS, np.uint16)
    flushes[flush_rank_sets] = strengths[len(rank_scores) :]
    return low_index, high_index, strengths[: len(rank_scores)], flushes


CARD_KEYS = compute_card_keys()
LOW_RANKS_INDEX, HIGH_RANKS_INDEX, STRENGTHS, FLUSH_STRENGTHS = build_strength_tables()


# Inlined because numba's reference counting of `cards` would take longer than the evaluation.
@njit(cache=True, forceinline=True, error_model="numpy")
def evaluate_hand(cards: Any, card_count: int, suit_count: int, short_deck: Any = False) -> Any:
    """Return the strength of the best five of the first `card_count` cards, as an int32.

    A larger strength wins the showdown. Exactly three cards are ranked as in three-card poker, from
    the best: straight flush, three of a kind, straight, flush, pair, high card. Strengths are
    comparable only between hands with the same number of cards. With `short_deck`, hands of other
    sizes are ranked as in short-deck hold'em.
    """
    if card_count == THREE_CARD_HAND:
        return evaluate_three_card_hand(cards, suit_count)
    best = evaluate_best_five(cards, card_count, suit_count)
    return to_short_deck_strength(best, cards, card_count, suit_count) if short_deck else best


@njit(cache=True, error_model="numpy")
def to_short_deck_strength(strength: Any, cards: Any, card_count: int, suit_count: int) -> Any:
    """Convert the result of `evaluate_best_five` for the same cards to short-deck hold'em.

    A flush beats a full house, and A6789 gets the strength that A2345 has in a full deck.
    """
    held = 0
    for i in range(card_count):
        held |= 1 << cards[i] // suit_count
    if held & SHORT_DECK_WHEEL == SHORT_DECK_WHEEL:
        strength = max(strength, STRAIGHT << CATEGORY_SHIFT)
        for suit in range(suit_count):
            suited = 0
            for i in range(card_count):
                if cards[i] % suit_count == suit:
                    suited |= 1 << cards[i] // suit_count
            if suited & SHORT_DECK_WHEEL == SHORT_DECK_WHEEL:
                strength = max(strength, STRAIGHT_FLUSH << CATEGORY_SHIFT)
    category = strength >> CATEGORY_SHIFT
    if category in (FLUSH, FULL_HOUSE):
        strength += (FLUSH + FULL_HOUSE - 2 * category) << CATEGORY_SHIFT
    return np.int32(strength)


@njit(cache=True, forceinline=True, error_model="numpy")
def evaluate_three_card_hand(cards: Any, suit_count: int) -> Any:
    """Return the strength of the first three cards in three-card poker as an int32.

    The bits from `CATEGORY_SHIFT` on are the category, 0 for a high card to 5 for a straight flush;
    the lower bits are the ranks that break ties, 4 bits each.
    """
    first, second, third = cards[0] // suit_count, cards[1] // suit_count, cards[2] // suit_count
    high_rank = max(first, second, third)
    low_rank = min(first, second, third)
    middle_rank = first + second + third - high_rank - low_rank
    is_flush = cards[0] % suit_count == cards[1] % suit_count == cards[2] % suit_count
    is_wheel = high_rank == MAX_RANKS - 1 and middle_rank == 1 and low_rank == 0  # A23
    if is_wheel or (high_rank == middle_rank + 1 and middle_rank == low_rank + 1):
        category_order, rank_bits = 5 if is_flush else 3, 1 if is_wheel else high_rank
    elif high_rank == middle_rank == low_rank:
        category_order, rank_bits = 4, high_rank
    elif high_rank == middle_rank or middle_rank == low_rank:
        category_order = 1
        rank_bits = middle_rank << 4 | (low_rank if high_rank == middle_rank else high_rank)
    else:
        category_order = 2 if is_flush else 0
        rank_bits = high_rank << 8 | middle_rank << 4 | low_rank
    return np.int32(category_order << CATEGORY_SHIFT | rank_bits)


@njit(cache=True, forceinline=True, error_model="numpy")
def evaluate_best_five(cards: Any, card_count: int, suit_count: int) -> Any:
    """Return the strength of the best five of the first `card_count` cards as an int32.

    With fewer than five cards, there are no straights or flushes.
    """
    key = EMPTY_HAND_KEY
    for i in range(MAX_HAND_CARDS):  # a constant bound lets the compiler unroll the loop
        if i == card_count:
            break
        # An unsigned index avoids the test for a negative one.
        key += CARD_KEYS[np.uint64(suit_count), np.uint64(cards[i])]
    flush_bits = key & FLUSH_MASK
    if flush_bits:
        flush_ranks = 0
        for i in range(card_count):
            if flush_bits & CARD_KEYS[suit_count, cards[i]] << 3:
                flush_ranks |= 1 << cards[i] // suit_count
        return np.int32(FLUSH_STRENGTHS[flush_ranks])
    first_index = HIGH_RANKS_INDEX[key >> HIGH_RANKS_SHIFT & HIGH_RANKS_MASK]
    return np.int32(STRENGTHS[first_index + LOW_RANKS_INDEX[key & LOW_RANKS_MASK]])
