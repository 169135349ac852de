"""The rules of Big 2 for four players with thirteen cards each, who try to get rid of them first.

The rules are those of Charlesworth (arXiv:1808.10442), section 2. The three of diamonds is played
automatically for its holder. The cards played last are the hand to beat: a seat plays a stronger
combination of the same size, or passes; a seat that has passed may play later. After three passes
in a row the seat that played last has control: it may play any combination. When a seat has no
cards left, each other seat pays it one point for each card still held.

Where the code published with the paper differs from its text, we follow the text: a higher straight
flush beats a lower one, a seat with four cards of a rank can play any three of them, and straights
and full houses have separate features in an observation. As in that code, a seat gets control only
after three passes, even if no cards in the game can beat those that it played.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.big2.combinations import (
    ACTION_SIZES,
    DECK_SIZE,
    FULL_HOUSE,
    HAND_SIZE,
    MAX_COMBINATION_SIZE,
    NO_COMBINATION,
    PADDED_ACTION_POSITIONS,
    PASS,
    RANK_COUNT,
    SUIT_COUNT,
    evaluate_played_cards,
    mark_legal_combinations,
)
from poker_rl.games.game import fill_zeros, insert_sorted, jit, random_below

SEATS = 4
NO_CARD = -1
INFOSET_KEY_SIZE = 2 + DECK_SIZE  # bytes in the key of an information set
IN_HAND_MARK = 255  # the byte in an information-set key for a card that the seat holds

# The types of combinations as bits: 1 single card, 2 pair, 4 triple, 8 two pair, 16 four of a kind,
# 32 straight, 64 flush, 128 full house. A straight flush sets two bits.
COMBINATION_BITS = np.array(  # [number of cards, category of the combination]
    [[0] * 4, [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0], [8, 16, 0, 0], [32, 64, 128, 32 | 64]],
    np.uint8,
)
COMBINATION_TYPE_COUNT = 8
# An observation has a feature for each entry: whether another seat has played this type of
# combination. Two pair and four of a kind share a feature; single cards have none.
OBSERVED_BITS = np.array([2, 4, 8 | 16, 32, 64, 128], np.uint8)

# Sizes and offsets of the blocks of an observation
OWN_CARD_FEATURES, OPPONENT_FEATURES = RANK_COUNT + SUIT_COUNT + 5, HAND_SIZE + 8 + 6
OPPONENTS_OFFSET = HAND_SIZE * OWN_CARD_FEATURES
HIGH_CARDS_OFFSET = OPPONENTS_OFFSET + (SEATS - 1) * OPPONENT_FEATURES
TO_BEAT_OFFSET = HIGH_CARDS_OFFSET + 16
OBSERVATION_SIZE = TO_BEAT_OFFSET + RANK_COUNT + SUIT_COUNT + 1 + COMBINATION_TYPE_COUNT + 3
FIRST_QUEEN, FIRST_ACE = 9 * SUIT_COUNT, 11 * SUIT_COUNT  # the queen and the ace of diamonds

DEFINITION_DTYPE = np.dtype([("seats", "i1"), ("dealt", "i1"), ("cards", "i1")])

TABLE_DTYPE = np.dtype(
    [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("played", "i8", SEATS),  # bit c is 1 if the seat has played card c
        ("strength", "i2"),  # strength of the hand to beat; NO_COMBINATION if there is none
        ("error", "i2"),  # 1 + an illegal action, 32767 for one that does not exist, else 0
        ("to_act", "u1"),
        ("size", "i1"),  # number of cards of the hand to beat; 0 if there is none
        ("passes", "i1"),  # number of passes since the hand to beat was played
        ("turns", "u1"),  # number of turns, including the automatic three of diamonds
        ("over", "i1"),
        ("variant", "u1"),  # always 0, since there is only one definition
        ("left", "i1", SEATS),  # number of cards in each hand
        ("shown", "u1", SEATS),  # types of combinations that each seat has played, as bits
        ("deck", "i1", DECK_SIZE),  # thirteen cards per seat
        ("hand", "i1", (SEATS, HAND_SIZE)),  # cards left in ascending order, padded with NO_CARD
        ("turn", "u1", DECK_SIZE),  # turn in which each card was played, from 1; 0 if not yet
        ("spare", "u1", 2),
    ]
)


@jit
def start(game, table):
    """Sort the hands and play the three of diamonds for its holder."""
    fill_zeros(table.turn)
    for seat in range(SEATS):
        for i in range(HAND_SIZE):
            insert_sorted(table.hand[seat], i, table.deck[seat * HAND_SIZE + i])
        table.left[seat] = HAND_SIZE
        table.played[seat] = table.shown[seat] = 0
        if table.hand[seat, 0] == 0:
            table.to_act = seat
    table.over = table.error = table.turns = 0
    play_cards(table, 0, 1, 0)


@jit
def play_cards(table, action, card_count, hand_strength):
    """Play the cards of an action of the seat to act, without checking that it is legal."""
    seat = table.to_act
    held_count = table.left[seat]
    table.turns += 1
    played_mask, played_count, kept_count = table.played[seat], 0, 0
    for i in range(held_count):
        card = table.hand[seat, i]
        if played_count < card_count and PADDED_ACTION_POSITIONS[action, played_count] == i:
            table.turn[card] = table.turns
            played_mask |= 1 << card
            played_count += 1
        else:
            table.hand[seat, kept_count] = card
            kept_count += 1
    for i in range(kept_count, held_count):
        table.hand[seat, i] = NO_CARD
    table.played[seat] = played_mask
    table.left[seat] = kept_count
    table.shown[seat] |= COMBINATION_BITS[card_count, hand_strength // DECK_SIZE]
    table.size = card_count
    table.strength = hand_strength
    table.passes = 0
    table.over = kept_count == 0
    table.to_act = (seat + 1) % SEATS


@jit
def legal(game, table, mask):
    fill_zeros(mask)
    mask[PASS] = table.size != 0
    hand, held_count = table.hand[table.to_act], table.left[table.to_act]
    mark_legal_combinations(hand, held_count, table.size, table.strength, mask)


@jit
def step(game, table, action):
    is_action = 0 <= action <= PASS
    if table.over or not is_action or (action == PASS and table.size == 0):
        table.error = 1 + action if is_action else 32767
        return
    if action == PASS:
        table.turns += 1
        table.passes += 1
        if table.passes == SEATS - 1:
            table.size = 0
            table.strength = NO_COMBINATION
            table.passes = 0
        table.to_act = (table.to_act + 1) % SEATS
        return
    card_count, held_count = ACTION_SIZES[action], table.left[table.to_act]
    hand_strength = evaluate_played_cards(table.hand[table.to_act], action)
    if (
        PADDED_ACTION_POSITIONS[action, card_count - 1] >= held_count
        or hand_strength <= table.strength
        or (table.size != 0 and card_count != table.size)
    ):
        table.error = 1 + action
        return
    play_cards(table, action, card_count, hand_strength)


@jit
def payoffs(game, table, out):
    total = 0
    for seat in range(SEATS):
        total += table.left[seat]
    for seat in range(SEATS):
        out[seat] = -table.left[seat] if table.left[seat] else total


@jit
def observe(game, table, seat, out):
    """Write the observation of a seat as 412 features, 0 or 1.

    [13, 22]    each card of the seat in ascending order: its rank [13] and suit [4]; whether the
                seat has at least two, three and four of its rank; whether it is part of a straight
                and of a flush
    [3, 27]     each other seat in turn order: number of cards left, 1 to 13 [13]; the aces and twos
                that it has played [8]; whether it has played a pair, a triple, four cards, a
                straight, a flush, a full house [6]
    [16]        the queens, kings, aces and twos that have been played by any seat
    [29]        the hand to beat: rank [13] and suit [4] of its highest card; 1 if there is no hand
                to beat [1]; whether it is a single, pair, triple, two pair, four of a kind,
                straight, flush, full house [8]; number of passes since it was played, 0 to 2 [3]

    A straight flush counts as a straight and a flush. A full house has the rank of its triple and
    no suit. If there is no hand to beat, the other 28 features of the last block are 0.
    """
    fill_zeros(out)
    hand, held_count = table.hand[seat], table.left[seat]
    # Two integers count the cards of each rank and of each suit, with four bits for each count.
    ranks_held, cards_per_rank, cards_per_suit = 0, 0, 0
    for i in range(held_count):
        rank, suit = hand[i] >> 2, hand[i] & 3
        ranks_held |= 1 << rank
        cards_per_rank += 1 << (rank << 2)
        cards_per_suit += 1 << (suit << 2)
    straight = ranks_held & ranks_held >> 1 & ranks_held >> 2 & ranks_held >> 3 & ranks_held >> 4
    straight |= straight << 1
    straight |= straight << 2 | straight << 3
    for i in range(held_count):
        rank, suit = hand[i] >> 2, hand[i] & 3
        count = cards_per_rank >> (rank << 2) & 15
        offset = i * OWN_CARD_FEATURES
        out[offset + rank] = 1
        out[offset + RANK_COUNT + suit] = 1
        offset += RANK_COUNT + SUIT_COUNT
        for j in range(3):
            out[offset + j] = count >= 2 + j
        out[offset + 3] = straight >> rank & 1
        out[offset + 4] = (cards_per_suit >> (suit << 2) & 15) >= MAX_COMBINATION_SIZE

    all_played_mask = table.played[seat]
    for i in range(SEATS - 1):
        other = (seat + 1 + i) % SEATS
        offset = OPPONENTS_OFFSET + i * OPPONENT_FEATURES
        if table.left[other]:
            out[offset + table.left[other] - 1] = 1
        played_mask, shown_bits = table.played[other], table.shown[other]
        all_played_mask |= played_mask
        for j in range(8):
            out[offset + HAND_SIZE + j] = played_mask >> (FIRST_ACE + j) & 1
        for j in range(len(OBSERVED_BITS)):
            out[offset + HAND_SIZE + 8 + j] = (shown_bits & OBSERVED_BITS[j]) != 0
    for i in range(16):
        out[HIGH_CARDS_OFFSET + i] = all_played_mask >> (FIRST_QUEEN + i) & 1

    offset = TO_BEAT_OFFSET + RANK_COUNT + SUIT_COUNT
    if table.size == 0:
        out[offset] = 1
        return
    category, deciding_card = divmod(table.strength, DECK_SIZE)
    out[TO_BEAT_OFFSET + (deciding_card >> 2)] = 1
    if table.size != MAX_COMBINATION_SIZE or category != FULL_HOUSE:
        out[TO_BEAT_OFFSET + RANK_COUNT + (deciding_card & 3)] = 1
    combination_bits = COMBINATION_BITS[table.size, category]
    for i in range(COMBINATION_TYPE_COUNT):
        out[offset + 1 + i] = combination_bits >> i & 1
    out[offset + 1 + COMBINATION_TYPE_COUNT + table.passes] = 1


@jit
def observe_hidden_cards(game, table, seat, out):
    """Write the cards held by each other seat in turn order, [seats - 1, cards], 0 or 1."""
    fill_zeros(out)
    for i in range(SEATS - 1):
        other = (seat + 1 + i) % SEATS
        for j in range(table.left[other]):
            out[i * DECK_SIZE + table.hand[other, j]] = 1


@jit
def resample_hidden_cards(game, table):
    """Redeal at random the cards hidden from the seat to act; all hands keep their sizes."""
    seat, seen_mask = table.to_act, 0
    for i in range(table.left[seat]):
        seen_mask |= 1 << table.hand[seat, i]
    for other in range(SEATS):
        seen_mask |= table.played[other]
    unseen, count = np.empty(DECK_SIZE, np.int8), 0
    for card in range(DECK_SIZE):
        if not seen_mask >> card & 1:
            unseen[count] = card
            count += 1
    for other in range(SEATS):
        if other != seat:
            for i in range(table.left[other]):
                j = random_below(table, count)
                insert_sorted(table.hand[other], i, unseen[j])
                count -= 1
                unseen[j] = unseen[count]


@jit
def infoset(game, table, seat, out):
    """Write the key of an information set: seat, number of turns taken, and a byte for each card.

    The byte is the turn in which the card was played, a mark if the seat holds it, else 0.
    """
    out[0] = seat
    out[1] = table.turns
    for card in range(DECK_SIZE):
        out[2 + card] = table.turn[card]
    for i in range(table.left[seat]):
        out[2 + table.hand[seat, i]] = IN_HAND_MARK
