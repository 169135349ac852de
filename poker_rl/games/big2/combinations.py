"""What can be played from a hand of Big 2: action numbers, and the order of hands.

A card is `rank * 4 + suit`: ranks 3 4 5 6 7 8 9 T J Q K A 2, suits diamonds, clubs, hearts, spades,
so a card's number is its place in the order of single cards. An action names positions in the hand,
which is kept in ascending order (arXiv:1808.10442, section 3.1). Equal ranks lie side by side, so
two cards of a rank are at most three positions apart, and 1,695 actions are all there are:

    0-12        one card
    13-45       pairs, a < b <= a + 3
    46-76       triples, a < b < c <= a + 3
    77-406      four cards, two such pairs one after the other
    407-1693    five cards, any
    1694        pass

each block in lexicographic order. A hand's strength is 52 times its category among hands of as many
cards, plus the number of the card that decides within the category: the highest, in a full house
one of its triple.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from poker_rl.games.game import rule

HAND, RANKS, SUITS = 13, 13, 4
CARDS = RANKS * SUITS
MOST_CARDS = 5
NEAR = 3  # positions between the first and the last of four equal ranks

STRAIGHT, FLUSH, FULL_HOUSE, STRAIGHT_FLUSH = range(4)  # categories of five cards
TWO_PAIR, QUADS = range(2)  # of four
NOTHING = -1  # strength of cards that are no hand


def choices() -> list[tuple[int, ...]]:
    """The positions each action plays, in order; none in the last, a pass."""
    ones = [(a,) for a in range(HAND)]
    pairs = [(a, b) for a, b in combinations(range(HAND), 2) if b - a <= NEAR]
    triples = [(a, b, c) for a, b, c in combinations(range(HAND), 3) if c - a <= NEAR]
    fours = [
        (a, b, c, d)
        for a, b, c, d in combinations(range(HAND), 4)
        if b - a <= NEAR and d - c <= NEAR
    ]
    fives = list(combinations(range(HAND), MOST_CARDS))
    return [*ones, *pairs, *triples, *fours, *fives, ()]


CHOICES = choices()
ACTIONS = len(CHOICES)
PASS = ACTIONS - 1
SIZE = np.array([len(choice) for choice in CHOICES], np.int8)  # cards an action plays
POSITION = np.array([(*choice, *[0] * MOST_CARDS)[:MOST_CARDS] for choice in CHOICES], np.int8)


def numbers() -> tuple[np.ndarray, ...]:
    """Where to find an action by its positions; lexicographic order makes most of it additive.

    Returns:
        pairs by [a, b - a]; triples by [a, b - a, c - a]; four[a, b - a] to which the number of the
        pair (c, d) is added; and five[i, position of card i], five numbers that add up.
    """
    number = {choice: action for action, choice in enumerate(CHOICES)}
    pair = np.zeros((HAND, NEAR + 1), np.int16)
    triple = np.zeros((HAND, NEAR + 1, NEAR + 1), np.int16)
    four = np.zeros((HAND, NEAR + 1), np.int16)
    for choice, action in number.items():
        if len(choice) == 2:
            pair[choice[0], choice[1] - choice[0]] = action
        if len(choice) == 3:
            triple[choice[0], choice[1] - choice[0], choice[2] - choice[0]] = action
    for choice, action in number.items():
        if len(choice) == 4:
            a, b, c, d = choice
            four[a, b - a] = action - pair[c, d - c]
    # The combinations after one: those that agree with it up to card i - 1 and go beyond at card i.
    after = [
        [comb(HAND - 1 - position, MOST_CARDS - i) for position in range(HAND)]
        for i in range(MOST_CARDS)
    ]
    five = -np.array(after, np.int16)
    five[0] += PASS - 1
    return pair, triple, four, five


PAIR, TRIPLE, FOUR, FIVE = numbers()


@rule
def same_rank(a, b):
    """Whether two cards are of the same rank."""
    return a >> 2 == b >> 2


@rule
def four_strength(a, b, c, d):
    """Strength of four cards in ascending order."""
    if not (same_rank(a, b) and same_rank(c, d)):
        return NOTHING
    return (QUADS if same_rank(b, c) else TWO_PAIR) * CARDS + d


@rule
def five_strength(a, b, c, d, e):
    """Strength of five cards in ascending order."""
    first = a >> 2
    straight = (
        (b >> 2 == first + 1)
        & (c >> 2 == first + 2)
        & (d >> 2 == first + 3)
        & (e >> 2 == first + 4)
    )
    flush = (((a ^ b) | (a ^ c) | (a ^ d) | (a ^ e)) & 3) == 0
    if straight | flush:
        category = FLUSH
        if straight:
            category = STRAIGHT_FLUSH if flush else STRAIGHT
        return category * CARDS + e
    if same_rank(a, b) and same_rank(d, e) and (same_rank(b, c) or same_rank(c, d)):
        return FULL_HOUSE * CARDS + c
    return NOTHING


@rule
def strength(size, a, b, c, d, e):
    """Strength of one to five cards in ascending order; those beyond `size` mean nothing."""
    if size == 1:
        return np.int64(a)
    if size == 2:
        return np.int64(b) if same_rank(a, b) else NOTHING
    if size == 3:
        return np.int64(c) if same_rank(a, c) else NOTHING
    if size == 4:
        return four_strength(a, b, c, d)
    return five_strength(a, b, c, d, e)


@rule
def five_number(a, b, c, d, e):
    """The action that plays five positions."""
    return FIVE[0, a] + FIVE[1, b] + FIVE[2, c] + FIVE[3, d] + FIVE[4, e]


@rule
def mark_pairs(hand, left, beat, mask):
    """Mark the pairs of a hand that are stronger than `beat`."""
    for a in range(left - 1):
        for b in range(a + 1, min(a + NEAR + 1, left)):
            if not same_rank(hand[a], hand[b]):
                break
            if hand[b] > beat:
                mask[PAIR[a, b - a]] = True


@rule
def mark_triples(hand, left, beat, mask):
    """Mark the triples of a hand that are stronger than `beat`."""
    for a in range(left - 2):
        for c in range(a + 2, min(a + NEAR + 1, left)):
            if not same_rank(hand[a], hand[c]):
                break
            if hand[c] > beat:
                for b in range(a + 1, c):
                    mask[TRIPLE[a, b - a, c - a]] = True


@rule
def mark_fours(hand, left, beat, mask):
    """Mark the two pairs and fours of a kind of a hand that are stronger than `beat`."""
    for a in range(left - 3):
        for b in range(a + 1, min(a + NEAR + 1, left)):
            if not same_rank(hand[a], hand[b]):
                break
            for c in range(b + 1, left - 1):
                for d in range(c + 1, min(c + NEAR + 1, left)):
                    if not same_rank(hand[c], hand[d]):
                        break
                    if four_strength(hand[a], hand[b], hand[c], hand[d]) > beat:
                        mask[FOUR[a, b - a] + PAIR[c, d - c]] = True


@rule
def mark_five(hand, a, b, c, d, e, beat, mask):
    """Mark five positions if they are stronger than `beat`."""
    if five_strength(hand[a], hand[b], hand[c], hand[d], hand[e]) > beat:
        mask[five_number(a, b, c, d, e)] = True


@rule
def mark_straights(hand, left, beat, mask):
    """Mark the straights and straight flushes of a hand that are stronger than `beat`."""
    for a in range(left - 4):
        low = hand[a] >> 2
        for b in range(a + 1, left):
            if hand[b] >> 2 > low + 1:
                break
            if hand[b] >> 2 == low + 1:
                for c in range(b + 1, left):
                    if hand[c] >> 2 > low + 2:
                        break
                    if hand[c] >> 2 == low + 2:
                        for d in range(c + 1, left):
                            if hand[d] >> 2 > low + 3:
                                break
                            if hand[d] >> 2 == low + 3:
                                for e in range(d + 1, left):
                                    if hand[e] >> 2 > low + 4:
                                        break
                                    if hand[e] >> 2 == low + 4:
                                        mark_five(hand, a, b, c, d, e, beat, mask)


@rule
def mark_flushes(hand, left, suit, beat, mask):
    """Mark the flushes and straight flushes in a suit that are stronger than `beat`."""
    for a in range(left - 4):
        if hand[a] & 3 == suit:
            for b in range(a + 1, left - 3):
                if hand[b] & 3 == suit:
                    for c in range(b + 1, left - 2):
                        if hand[c] & 3 == suit:
                            for d in range(c + 1, left - 1):
                                if hand[d] & 3 == suit:
                                    for e in range(d + 1, left):
                                        if hand[e] & 3 == suit:
                                            mark_five(hand, a, b, c, d, e, beat, mask)


@rule
def mark_full_houses(hand, left, beat, mask):
    """Mark the full houses of a hand that are stronger than `beat`."""
    for a in range(left - 2):
        for c in range(a + 2, min(a + NEAR + 1, left)):
            if not same_rank(hand[a], hand[c]):
                break
            for b in range(a + 1, c):
                for d in range(left - 1):
                    for e in range(d + 1, min(d + NEAR + 1, left)):
                        if not same_rank(hand[d], hand[e]):
                            break
                        if e < a:
                            mark_five(hand, d, e, a, b, c, beat, mask)
                        elif d > c:
                            mark_five(hand, a, b, c, d, e, beat, mask)


@rule
def mark_fives(hand, left, beat, mask):
    """Mark the hands of five cards that are stronger than `beat`."""
    ranks, triples = 0, False
    suits = 0  # cards of each suit, four bits each
    for i in range(left):
        ranks |= 1 << (hand[i] >> 2)
        suits += 1 << ((hand[i] & 3) << 2)
        triples |= i >= 2 and same_rank(hand[i], hand[i - 2])
    if ranks & ranks >> 1 & ranks >> 2 & ranks >> 3 & ranks >> 4:
        mark_straights(hand, left, beat, mask)
    for suit in range(SUITS):
        if suits >> (suit << 2) & 15 >= MOST_CARDS:
            mark_flushes(hand, left, suit, beat, mask)
    if triples:
        mark_full_houses(hand, left, beat, mask)
