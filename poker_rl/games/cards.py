"""Cards, their notation, and the strength of one to seven of them.

A card is `rank * suits + suit`; ranks count from 0, the lowest, and only a deck of 13 has the ace, 12.

Strength is a table look-up. A card's key is one 64-bit word, and the keys of a hand add up to

    bits  0-16  the base-5 number whose digit r counts the cards of rank r, for ranks 0-6
    bits 17-31  the same for ranks 7-12
    bits 32-47  a counter of four bits for each suit; started at 3, its highest bit says "five or more"

The two numbers find a row of `STRENGTHS` as `HIGH[ranks 7-12] + LOW[ranks 0-6]`, one row a multiset of
ranks and no row empty: `LOW` numbers its multisets by size, so the ones that fit beside h high cards, of
at most 7 - h, come first, and `HIGH` gives each of its own multisets a run of exactly that length.
Five suited cards among seven leave no room for a full house or four of a kind, so a flush is
looked up by the set of its ranks alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poker_rl.settings import Refused

RANKS = 13
SUITS = 4
MOST_CARDS = 7

HIGH_CARD, PAIR, TWO_PAIR, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = range(9)
CATEGORY_SHIFT = 12  # no category has more than 2^12 classes: pairs, of two to five cards, 3,887

LOW_RANKS = 7
HIGH_SHIFT = 17  # 4 * 5**6 + 3 * 5**5 < 2**17
SUIT_SHIFT = 32
NO_CARDS = 0x3333 << SUIT_SHIFT
FIVE_SUITED = 0x8888 << SUIT_SHIFT


def card_name(card: int, ranks: str, suits: str) -> str:
    """`As`; in a deck of one suit the rank alone."""
    rank, suit = divmod(card, len(suits))
    return ranks[rank] + (suits[suit] if len(suits) > 1 else "")


def parse_cards(text: str, ranks: str, suits: str) -> list[int]:
    """The cards of `AsKd` or `As Kd`, as `card_name` writes them; raises `Refused`."""
    names = {card_name(card, ranks, suits): card for card in range(len(ranks) * len(suits))}
    width = 2 if len(suits) > 1 else 1
    packed = "".join(text.split())
    parts = [packed[i : i + width] for i in range(0, len(packed), width)]
    for part in parts:
        if part not in names:
            raise Refused(f"cards: {part!r} in {text!r} is not one of {' '.join(names)}")
    return [names[part] for part in parts]


def card_keys() -> NDArray[np.int64]:
    """Keys `[suits, card]` for decks of one to four suits."""
    keys = np.zeros((SUITS + 1, RANKS * SUITS), np.int64)
    for suits in range(1, SUITS + 1):
        for card in range(RANKS * suits):
            rank, suit = divmod(card, suits)
            digit = 5**rank if rank < LOW_RANKS else 5 ** (rank - LOW_RANKS) << HIGH_SHIFT
            keys[suits, card] = digit + (1 << SUIT_SHIFT + 4 * suit)
    return keys


def rank_counts(ranks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every multiset of up to seven cards of some ranks, by size: base-5 numbers [N], counts [N, ranks]."""
    number = np.arange(5**ranks)
    counts = number[:, None] // 5 ** np.arange(ranks) % 5
    size = counts.sum(axis=1)
    order = np.argsort(size, kind="stable")[: np.count_nonzero(size <= MOST_CARDS)]
    return number[order], counts[order]


def scores(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """What orders hands without a flush, by their rank counts [N, 13]: category, first rank, second, kickers.

    Twenty-five bits: 4 of the category; 4 and 4 of the ranks that name the hand, plus one, 0 if none
    (`AAAKK`: A and K; a high card names itself); 13 of the set of kickers.
    """
    top = np.array([mask.bit_length() for mask in range(1 << RANKS + 1)])  # rank + 1 of the highest
    bit = np.concatenate([[0], 1 << np.arange(RANKS + 1)])

    one, two, three, four = (((counts >= n) << np.arange(RANKS)).sum(axis=1) for n in (1, 2, 3, 4))
    conditions = [four > 0, three > 0, two > 0]
    first = top[np.select(conditions, [four, three, two], one)]
    second = np.select(conditions, [0, top[two & ~bit[first]], top[two & ~bit[first]]], 0)
    category = np.select(
        conditions,
        [QUADS, np.where(second, FULL_HOUSE, TRIPS), np.where(second, TWO_PAIR, PAIR)],
        HIGH_CARD,
    )

    kickers = np.zeros_like(one)
    left = one & ~bit[first] & ~bit[second]
    room = np.array([4, 3, 1, 2, 0, 0, 0, 1])[category]
    for n in range(4):
        highest = bit[top[left]]
        kickers |= np.where(room > n, highest, 0)
        left &= ~highest

    wheel = one << 1 | one >> RANKS - 1  # the ace below the deuce too
    ends = top[wheel & wheel << 1 & wheel << 2 & wheel << 3 & wheel << 4]
    straight = (ends > 0) & (category < STRAIGHT)
    named = category << 8 | first << 4 | second
    return np.where(straight, STRAIGHT << 21 | ends << 17, named << RANKS | kickers)


def tables() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """`LOW`, `HIGH`, `STRENGTHS` as above and `FLUSHES` [set of ranks], 0 for fewer than five."""
    low_number, low_counts = rank_counts(LOW_RANKS)
    high_number, high_counts = rank_counts(RANKS - LOW_RANKS)
    low = np.zeros(low_number.max() + 1, np.uint16)
    low[low_number] = np.arange(len(low_number))

    # Multisets of ranks 0-6 that fit beside each one of ranks 7-12.
    room = MOST_CARDS - high_counts.sum(axis=1)
    fitting = np.searchsorted(low_counts.sum(axis=1), room, side="right")
    start = np.cumsum(fitting) - fitting
    high = np.zeros(high_number.max() + 1, np.int32)
    high[high_number] = start
    of_high = np.repeat(np.arange(len(fitting)), fitting)
    of_low = np.arange(len(of_high)) - start[of_high]
    offsuit = scores(np.hstack([low_counts[of_low], high_counts[of_high]]))

    ranks = np.arange(1 << RANKS)[:, None] >> np.arange(RANKS) & 1
    five = np.flatnonzero(ranks.sum(axis=1) >= 5)
    suited = scores(ranks[five])
    suited += np.where(suited >> 21 == STRAIGHT, STRAIGHT_FLUSH - STRAIGHT, FLUSH - HIGH_CARD) << 21

    classes, index = np.unique(np.concatenate([offsuit, suited]), return_inverse=True)
    category = classes >> 21
    index_in_category = np.arange(len(classes)) - np.searchsorted(category, category)
    strengths = (category << CATEGORY_SHIFT | index_in_category).astype(np.uint16)[index]
    flushes = np.zeros(1 << RANKS, np.uint16)
    flushes[five] = strengths[len(offsuit) :]
    return low, high, strengths[: len(offsuit)], flushes


KEYS = card_keys()
LOW, HIGH, STRENGTHS, FLUSHES = tables()


@njit(cache=True)
def strength(cards: Any, count: int, suits: int) -> Any:
    """How strong the first `count` of `cards` [>= count] are: best five of up to seven; larger is better.

    Two strengths compare if the hands have as many cards, or at least five. Fewer than five make
    pairs and kickers only. 0 if there are no cards; `strength >> CATEGORY_SHIFT` is the category.
    """
    key = NO_CARDS
    for i in range(count):
        key += KEYS[suits, cards[i]]
    five = key & FIVE_SUITED
    if five:
        ranks = 0
        for i in range(count):
            if five & KEYS[suits, cards[i]] << 3:
                ranks |= 1 << cards[i] // suits
        return np.int32(FLUSHES[ranks])
    row = HIGH[key >> HIGH_SHIFT & 0x7FFF] + LOW[key & 0x1FFFF]
    return np.int32(STRENGTHS[row])


@njit(cache=True)
def category(strength: int) -> Any:
    """The category, `HIGH_CARD` to `STRAIGHT_FLUSH`, of a hand of this strength."""
    return strength >> CATEGORY_SHIFT
