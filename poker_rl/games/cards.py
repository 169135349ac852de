"""Cards, their notation, and the strength of one to seven of them.

A hand is the best five of its cards. A hand of three cards in all is ranked as in three-card poker:
straight flush, three of a kind, straight, flush, pair, high card, the rarer the better. The rest of
this text is about the best five.

In short-deck hold'em, which is played with 36 cards from six to ace, a flush beats a full house,
and A6789 is the lowest straight.

A card is `rank * suits + suit`. Ranks count from 0, the lowest; the ace is rank 12, so only a deck
of thirteen ranks has one, and in short-deck hold'em the highest rank is one.

Strength is a table look-up. A card's key is one integer, and the keys of a hand add up to

    bits  0-16  the base-5 number whose digit r counts the cards of rank r, for ranks 0 to 6
    bits 17-31  the same for ranks 7 to 12
    bits 32-47  a counter of four bits a suit, which starts at 3: from 8 on, five cards or more

The two numbers find a place in `STRENGTHS` as `HIGH[ranks 7-12] + LOW[ranks 0-6]`, one for each
multiset of up to seven ranks and none left over: `LOW` numbers its multisets by size, so those that
fit beside h high cards, the ones of up to 7 - h, come first, and `HIGH` starts a run of just that
length for each of its own. Five suited cards of seven leave no room for a full house or four of a
kind, so the set of their ranks alone gives a flush its strength.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poker_rl.config.settings import Refused

RANKS = 13
SUITS = 4
MOST_CARDS = 7

HIGH_CARD, PAIR, TWO_PAIR, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = range(9)
THREE = 3  # cards of a hand of three-card poker, in which the order of the categories is
OF_THREE = (HIGH_CARD, PAIR, FLUSH, STRAIGHT, TRIPS, STRAIGHT_FLUSH)
SHORT_DECK = "short_deck"  # the name of its ranking
SHORT_DECK_RANKS = "6789TJQKA"
SHORT_DECK_WHEEL = 0b100001111  # the ranks of A6789, a bit each
CATEGORY_SHIFT = 12  # most classes in a category: 3,887, the pairs of two to five cards

LOW_RANKS = 7
HIGH_SHIFT = 17  # 4 * 5**6 + 3 * 5**5 < 2**17
LOW_DIGITS = (1 << HIGH_SHIFT) - 1
HIGH_DIGITS = (1 << 15) - 1
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
            some = f"a rank of {ranks} and a suit of {suits}, as in {card_name(0, ranks, suits)}"
            allowed = some if len(suits) > 1 else f"one of {' '.join(ranks)}"
            raise Refused(f"{part!r} in {text!r} is no card; a card is {allowed}")
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


def multisets(ranks: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Every multiset of up to seven cards of the first ranks, by size.

    Returns the base-5 numbers [N], the sizes [N], and the sets of ranks held at least 1, 2, 3 and
    4 times [4, N], bit r for rank r.
    """
    number = np.zeros(1, np.int64)
    size = np.zeros(1, np.int64)
    held = np.zeros((4, 1), np.int64)
    for rank in range(ranks):
        number = np.add.outer(np.arange(5) * 5**rank, number).ravel()
        size = np.add.outer(np.arange(5), size).ravel()
        at_least = np.arange(5) >= np.arange(1, 5)[:, None]
        held = (at_least[:, :, None] << rank | held[:, None, :]).reshape(4, -1)
        small = size <= MOST_CARDS
        number, size, held = number[small], size[small], held[:, small]
    order = np.argsort(size, kind="stable")
    return number[order], size[order], held[:, order]


def scores(held: NDArray[Any]) -> NDArray[Any]:
    """The order [N] of hands without a flush, from the ranks held at least 1 to 4 times [4, N].

    Twenty-five bits: 4 of the category, 4 and 4 of the ranks that name the hand, plus one, 0 if
    none (A and K of `AAAKK`, A of `AKJ52`), and 13 of the set of kickers. A straight has the rank
    it ends on alone.
    """
    top = np.array([ranks.bit_length() for ranks in range(1 << RANKS + 1)])  # highest rank + 1
    bit = np.array([0, *(1 << np.arange(RANKS + 1))])

    one, two, three, four = held
    cases = [four > 0, three > 0, two > 0]
    first = top[np.select(cases, [four, three, two], one)]
    second = np.where(cases[0], 0, top[two & ~bit[first]])
    kind = np.select(
        cases,
        [QUADS, np.where(second, FULL_HOUSE, TRIPS), np.where(second, TWO_PAIR, PAIR)],
        HIGH_CARD,
    )

    room = np.zeros(9, np.int64)
    room[[HIGH_CARD, PAIR, TWO_PAIR, TRIPS, QUADS]] = 4, 3, 1, 2, 1
    left = one & ~bit[first] & ~bit[second]
    kickers = np.zeros_like(one)
    for n in range(4):
        kicker = np.where(room[kind] > n, bit[top[left]], 0)
        kickers |= kicker
        left ^= kicker

    run = one << 1 | one >> RANKS - 1  # the ace also below the deuce
    end = top[run & run << 1 & run << 2 & run << 3 & run << 4]
    named = kind << 8 | first << 4 | second
    order: NDArray[Any] = np.where(
        (end > 0) & (kind < STRAIGHT),
        (STRAIGHT << 8 | end << 4) << RANKS,
        named << RANKS | kickers,
    )
    return order


def tables() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """`LOW`, `HIGH`, `STRENGTHS` as above, and `FLUSHES` by set of ranks, 0 for fewer than five."""
    low_number, low_size, low_held = multisets(LOW_RANKS)
    high_number, high_size, high_held = multisets(RANKS - LOW_RANKS)
    fitting = np.searchsorted(low_size, MOST_CARDS - high_size, side="right")
    start = np.cumsum(fitting) - fitting

    low = np.zeros(low_number.max() + 1, np.uint16)
    low[low_number] = np.arange(len(low_number))
    high = np.zeros(high_number.max() + 1, np.int32)
    high[high_number] = start

    of_high = np.repeat(np.arange(len(fitting)), fitting)
    of_low = np.arange(len(of_high)) - start[of_high]
    ranked = scores(low_held[:, of_low] | high_held[:, of_high] << LOW_RANKS)

    sets = np.arange(1 << RANKS)
    sets = sets[np.bitwise_count(sets) >= 5]
    suited = scores(np.stack([sets, *np.zeros((3, len(sets)), np.int64)]))
    raised = np.where(suited >> 21 == STRAIGHT, STRAIGHT_FLUSH - STRAIGHT, FLUSH - HIGH_CARD)
    suited += raised << 21

    classes, index = np.unique(np.concatenate([ranked, suited]), return_inverse=True)
    kind = classes >> 21
    in_category = np.arange(len(classes)) - np.searchsorted(kind, kind)
    strengths = (kind << CATEGORY_SHIFT | in_category).astype(np.uint16)[index]
    flushes = np.zeros(1 << RANKS, np.uint16)
    flushes[sets] = strengths[len(ranked) :]
    return low, high, strengths[: len(ranked)], flushes


KEYS = card_keys()
LOW, HIGH, STRENGTHS, FLUSHES = tables()


# Inlining lets numba drop the reference counting of `cards`, which takes longer than the rest.
@njit(cache=True, forceinline=True, error_model="numpy")
def strength(cards: Any, count: int, suits: int, short_deck: Any = False) -> Any:
    """How strong a hand is at a showdown, the first `count` of `cards`; larger is better; int32.

    One to seven cards, in short-deck hold'em five to seven; their strength compares only with that
    of as many cards.
    """
    if count == THREE:
        return strength_of_three(cards, suits)
    best = best_five(cards, count, suits)
    return in_short_deck(best, cards, count, suits) if short_deck else best


@njit(cache=True, error_model="numpy")
def in_short_deck(best: Any, cards: Any, count: int, suits: int) -> Any:
    """Return the strength in short-deck hold'em of five to seven cards; int32.

    Args:
        best: what `best_five` makes of them. It knows no ace below the six, so A6789 takes the
            strength that is A2345 in a whole deck: no deck without an ace of rank 12 has that.
    """
    held = 0
    for i in range(count):
        held |= 1 << cards[i] // suits
    if held & SHORT_DECK_WHEEL == SHORT_DECK_WHEEL:
        best = max(best, STRAIGHT << CATEGORY_SHIFT)
        for suit in range(suits):
            suited = 0
            for i in range(count):
                if cards[i] % suits == suit:
                    suited |= 1 << cards[i] // suits
            if suited & SHORT_DECK_WHEEL == SHORT_DECK_WHEEL:
                best = max(best, STRAIGHT_FLUSH << CATEGORY_SHIFT)
    category = best >> CATEGORY_SHIFT
    if category in (FLUSH, FULL_HOUSE):  # the two change places
        best += (FLUSH + FULL_HOUSE - 2 * category) << CATEGORY_SHIFT
    return np.int32(best)


@njit(cache=True, forceinline=True, error_model="numpy")
def strength_of_three(cards: Any, suits: int) -> Any:
    """How strong the first three of `cards` are in three-card poker; int32.

    The place of the category in `OF_THREE`, and below it 4 bits for each rank that counts.
    """
    first, second, third = cards[0] // suits, cards[1] // suits, cards[2] // suits
    high = max(first, second, third)
    low = min(first, second, third)
    middle = first + second + third - high - low
    suited = cards[0] % suits == cards[1] % suits == cards[2] % suits
    wheel = high == RANKS - 1 and middle == 1 and low == 0  # the ace below the deuce
    if wheel or (high == middle + 1 and middle == low + 1):
        place, ranks = 5 if suited else 3, 1 if wheel else high
    elif high == middle == low:
        place, ranks = 4, high
    elif high == middle or middle == low:
        place, ranks = 1, middle << 4 | (low if high == middle else high)
    else:
        place, ranks = 2 if suited else 0, high << 8 | middle << 4 | low
    return np.int32(place << CATEGORY_SHIFT | ranks)


@njit(cache=True, forceinline=True, error_model="numpy")
def best_five(cards: Any, count: int, suits: int) -> Any:
    """How strong the best five of the first `count` of `cards` are; larger is better; int32.

    Fewer than five, as on the way to a whole hand, make pairs and kickers only; their strength
    compares only with that of as many cards.
    """
    key = NO_CARDS
    for i in range(MOST_CARDS):  # a fixed bound unrolls: three times faster than range(count)
        if i == count:
            break
        # Unsigned: no test for an index from the end.
        key += KEYS[np.uint64(suits), np.uint64(cards[i])]
    five = key & FIVE_SUITED
    if five:
        ranks = 0
        for i in range(count):
            if five & KEYS[suits, cards[i]] << 3:
                ranks |= 1 << cards[i] // suits
        return np.int32(FLUSHES[ranks])
    return np.int32(STRENGTHS[HIGH[key >> HIGH_SHIFT & HIGH_DIGITS] + LOW[key & LOW_DIGITS]])
