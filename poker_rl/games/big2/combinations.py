"""Combinations of cards in Big 2: the actions that play them, and their strength.

A card is `rank * 4 + suit`, with ranks 3 4 5 6 7 8 9 T J Q K A 2 and suits diamonds, clubs, hearts,
spades, so a larger number beats a smaller one among single cards. An action is a set of positions
in the hand, which is in ascending order (arXiv:1808.10442, section 3.1). Cards of the same rank are
adjacent, so they are at most three positions apart, which leaves 1,695 actions:

    0-12        one card
    13-45       pairs of positions a < b <= a + 3
    46-76       triples of positions a < b < c <= a + 3
    77-406      four cards: two such pairs, the second after the first
    407-1693    any five positions
    1694        pass

Each block is in lexicographic order. A combination's strength is 52 times its category among
combinations of the same size, plus its deciding card: the highest card or, in a full house, a card
of the triple.
"""

from __future__ import annotations

from itertools import combinations, zip_longest

import numpy as np

from poker_rl.games.game import jit

HAND_SIZE, RANK_COUNT, SUIT_COUNT = 13, 13, 4
DECK_SIZE = RANK_COUNT * SUIT_COUNT
MAX_COMBINATION_SIZE = 5
MAX_SAME_RANK_DISTANCE = 3  # largest distance of two cards of one rank in a hand

STRAIGHT, FLUSH, FULL_HOUSE, STRAIGHT_FLUSH = range(4)  # categories of five cards
TWO_PAIR, QUADS = range(2)  # categories of four cards
NO_COMBINATION = -1  # strength of cards that form no combination

PAIRS = [p for p in combinations(range(HAND_SIZE), 2) if p[1] - p[0] <= MAX_SAME_RANK_DISTANCE]
TRIPLES = [p for p in combinations(range(HAND_SIZE), 3) if p[2] - p[0] <= MAX_SAME_RANK_DISTANCE]
# The positions that each action plays, ascending; the last action is a pass.
ACTION_POSITIONS: list[tuple[int, ...]] = [
    *combinations(range(HAND_SIZE), 1),
    *PAIRS,
    *TRIPLES,
    *(low + high for low in PAIRS for high in PAIRS if low[1] < high[0]),
    *combinations(range(HAND_SIZE), MAX_COMBINATION_SIZE),
    (),
]
ACTION_COUNT = len(ACTION_POSITIONS)
PASS = ACTION_COUNT - 1
# Number of cards that each action plays.
ACTION_SIZES = np.array([len(choice) for choice in ACTION_POSITIONS], np.int8)
PADDED_ACTION_POSITIONS = np.array([*zip_longest(*ACTION_POSITIONS, fillvalue=0)], np.int8).T.copy()
# The index is a set of positions, with bit i for position i; the entry is the action that plays the
# cards at these positions, or -1 if there is none.
ACTION_OF_POSITIONS = np.full(1 << HAND_SIZE, -1, np.int16)
for action, positions in enumerate(ACTION_POSITIONS):
    ACTION_OF_POSITIONS[sum(1 << position for position in positions)] = action


@jit
def has_same_rank(a, b):
    return a >> 2 == b >> 2


@jit
def evaluate_four_cards(a, b, c, d):
    """Return the strength of four cards in ascending order, or `NO_COMBINATION`."""
    if not (has_same_rank(a, b) and has_same_rank(c, d)):
        return NO_COMBINATION
    return (QUADS if has_same_rank(b, c) else TWO_PAIR) * DECK_SIZE + d


@jit
def evaluate_five_cards(a, b, c, d, e):
    """Return the strength of five cards in ascending order, or `NO_COMBINATION`."""
    lowest_rank = a >> 2
    is_straight = (
        (b >> 2 == lowest_rank + 1)
        & (c >> 2 == lowest_rank + 2)
        & (d >> 2 == lowest_rank + 3)
        & (e >> 2 == lowest_rank + 4)
    )
    is_flush = (((a ^ b) | (a ^ c) | (a ^ d) | (a ^ e)) & 3) == 0
    if is_straight | is_flush:
        category = FLUSH
        if is_straight:
            category = STRAIGHT_FLUSH if is_flush else STRAIGHT
        return category * DECK_SIZE + e
    if has_same_rank(a, b) and has_same_rank(d, e) and (has_same_rank(b, c) or has_same_rank(c, d)):
        return FULL_HOUSE * DECK_SIZE + c
    return NO_COMBINATION


@jit
def evaluate_played_cards(hand, action):
    """Return the strength of the cards that an action, other than a pass, plays from a hand."""
    card_count = ACTION_SIZES[action]
    a = hand[PADDED_ACTION_POSITIONS[action, 0]]
    b = hand[PADDED_ACTION_POSITIONS[action, 1]]
    c = hand[PADDED_ACTION_POSITIONS[action, 2]]
    d = hand[PADDED_ACTION_POSITIONS[action, 3]]
    e = hand[PADDED_ACTION_POSITIONS[action, 4]]
    if card_count == 1:
        return np.int64(a)
    if card_count == 2:
        return np.int64(b) if has_same_rank(a, b) else NO_COMBINATION
    if card_count == 3:
        return np.int64(c) if has_same_rank(a, c) else NO_COMBINATION
    if card_count == 4:
        return evaluate_four_cards(a, b, c, d)
    return evaluate_five_cards(a, b, c, d, e)


@jit
def mark_legal_combinations(hand, held_count, required_size, strength_to_beat, mask):
    """Mark in the action mask the combinations of a hand that beat `strength_to_beat`.

    If `required_size` is not 0, only combinations of that many cards are legal.
    """
    if required_size <= 1:
        for i in range(held_count):
            mask[i] = hand[i] > strength_to_beat
    for size in (2, 3):
        if required_size == 0 or required_size == size:
            mark_legal_pairs_or_triples(hand, held_count, size, strength_to_beat, mask)
    if required_size == 0 or required_size == 4:
        mark_legal_four_cards(hand, held_count, strength_to_beat, mask)
    if required_size == 0 or required_size == MAX_COMBINATION_SIZE:
        mark_legal_five_cards(hand, held_count, strength_to_beat, mask)


@jit
def mark_legal_pairs_or_triples(hand, held_count, size, strength_to_beat, mask):
    """Mark in the action mask the pairs or the triples of a hand that beat `strength_to_beat`."""
    for a in range(held_count - size + 1):
        for c in range(a + size - 1, min(a + MAX_SAME_RANK_DISTANCE + 1, held_count)):
            if not has_same_rank(hand[a], hand[c]):
                break
            if hand[c] > strength_to_beat:
                if size == 2:
                    mask[ACTION_OF_POSITIONS[1 << a | 1 << c]] = True
                else:
                    for b in range(a + 1, c):
                        mask[ACTION_OF_POSITIONS[1 << a | 1 << b | 1 << c]] = True


@jit
def mark_legal_four_cards(hand, held_count, strength_to_beat, mask):
    """Mark in the action mask the two pairs and fours of a kind that beat `strength_to_beat`."""
    for a in range(held_count - 3):
        for b in range(a + 1, min(a + MAX_SAME_RANK_DISTANCE + 1, held_count)):
            if not has_same_rank(hand[a], hand[b]):
                break
            for c in range(b + 1, held_count - 1):
                for d in range(c + 1, min(c + MAX_SAME_RANK_DISTANCE + 1, held_count)):
                    if not has_same_rank(hand[c], hand[d]):
                        break
                    if evaluate_four_cards(hand[a], hand[b], hand[c], hand[d]) > strength_to_beat:
                        mask[ACTION_OF_POSITIONS[1 << a | 1 << b | 1 << c | 1 << d]] = True


@jit
def mark_five_cards_if_stronger(hand, a, b, c, d, e, strength_to_beat, mask):
    """Mark the action that plays positions a to e as legal if it beats `strength_to_beat`."""
    if evaluate_five_cards(hand[a], hand[b], hand[c], hand[d], hand[e]) > strength_to_beat:
        mask[ACTION_OF_POSITIONS[1 << a | 1 << b | 1 << c | 1 << d | 1 << e]] = True


@jit
def mark_legal_straights_or_flushes(hand, held_count, shift, bits, step, strength_to_beat, mask):
    """Mark in the action mask the straights or the flushes that beat `strength_to_beat`.

    Both are five cards whose keys, `card >> shift & bits`, rise by `step` from card to card. In a
    straight the key is the rank and the step 1, in a flush the key is the suit and the step 0.
    """
    for a in range(held_count - 4):
        key = hand[a] >> shift & bits
        for b in range(a + 1, held_count - 3):
            if hand[b] >> shift & bits == key + step:
                for c in range(b + 1, held_count - 2):
                    if hand[c] >> shift & bits == key + 2 * step:
                        for d in range(c + 1, held_count - 1):
                            if hand[d] >> shift & bits == key + 3 * step:
                                for e in range(d + 1, held_count):
                                    if hand[e] >> shift & bits == key + 4 * step:
                                        mark_five_cards_if_stronger(
                                            hand, a, b, c, d, e, strength_to_beat, mask
                                        )


@jit
def mark_legal_full_houses(hand, held_count, strength_to_beat, mask):
    """Mark in the action mask the full houses of a hand that beat `strength_to_beat`."""
    for a in range(held_count - 2):
        for c in range(a + 2, min(a + MAX_SAME_RANK_DISTANCE + 1, held_count)):
            if not has_same_rank(hand[a], hand[c]):
                break
            for b in range(a + 1, c):
                for d in range(held_count - 1):
                    for e in range(d + 1, min(d + MAX_SAME_RANK_DISTANCE + 1, held_count)):
                        if not has_same_rank(hand[d], hand[e]):
                            break
                        if e < a:
                            mark_five_cards_if_stronger(hand, d, e, a, b, c, strength_to_beat, mask)
                        elif d > c:
                            mark_five_cards_if_stronger(hand, a, b, c, d, e, strength_to_beat, mask)


@jit
def mark_legal_five_cards(hand, held_count, strength_to_beat, mask):
    """Mark in the action mask the combinations of five cards that beat `strength_to_beat`."""
    ranks_held, has_triple = 0, False
    cards_per_suit = 0  # number of cards of each suit, four bits each
    for i in range(held_count):
        ranks_held |= 1 << (hand[i] >> 2)
        cards_per_suit += 1 << ((hand[i] & 3) << 2)
        has_triple |= i >= 2 and has_same_rank(hand[i], hand[i - 2])
    if ranks_held & ranks_held >> 1 & ranks_held >> 2 & ranks_held >> 3 & ranks_held >> 4:
        mark_legal_straights_or_flushes(hand, held_count, 2, 15, 1, strength_to_beat, mask)
    has_flush = False
    for suit in range(SUIT_COUNT):
        has_flush |= cards_per_suit >> (suit << 2) & 15 >= MAX_COMBINATION_SIZE
    if has_flush:
        mark_legal_straights_or_flushes(hand, held_count, 0, 3, 0, strength_to_beat, mask)
    if has_triple:
        mark_legal_full_houses(hand, held_count, strength_to_beat, mask)
