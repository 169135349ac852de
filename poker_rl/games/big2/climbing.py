"""Big 2 for four players, thirteen cards each: whoever is first rid of them wins.

The rules are those of Charlesworth, "Application of self-play reinforcement learning to a
four-player game of imperfect information" (arXiv:1808.10442), section 2. The holder of the three of
diamonds leads it; it is played for him, and the next seat decides first. A hand is followed by a
better one of as many cards or by a pass, and a pass does not lock a seat out. After three passes in
a row whoever played last leads any hand. The game ends when a seat has no cards left: each of the
others loses a point for each of his, the winner gets them all.

Where the code published with the paper does otherwise, the rules are followed: a straight flush is
beaten by a higher one, four equal cards hold four triples, and a straight is not shown as a full
house. As there, a two of spades that nothing can beat is still passed by three seats.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.big2.combinations import (
    CARDS,
    FULL_HOUSE,
    HAND,
    MOST_CARDS,
    NOTHING,
    PASS,
    POSITION,
    RANKS,
    SIZE,
    SUITS,
    mark_fives,
    mark_fours,
    mark_pairs,
    mark_triples,
    strength,
)
from poker_rl.games.game import below, clear, rule, shuffle

SEATS = 4
NO_CARD = -1
INFOSET = 2 + CARDS  # bytes of an information set's key
IN_HAND = 255  # in an information set's key, beyond the number of any turn

# Kinds of hands, a bit each; a straight flush is both.
PAIR_, TRIPLE_, TWO_PAIR_, QUADS_, STRAIGHT_, FLUSH_, FULL_HOUSE_ = (2 << i for i in range(7))
KINDS = np.array(  # by number of cards and category
    [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [PAIR_, 0, 0, 0],
        [TRIPLE_, 0, 0, 0],
        [TWO_PAIR_, QUADS_, 0, 0],
        [STRAIGHT_, FLUSH_, FULL_HOUSE_, STRAIGHT_ | FLUSH_],
    ],
    np.uint8,
)
KIND_COUNT = 8

# Where the observation's blocks and their parts start
CARD_CELLS, OTHER_CELLS = RANKS + SUITS + 5, HAND + 8 + 6
OTHERS = HAND * CARD_CELLS
HIGH = OTHERS + (SEATS - 1) * OTHER_CELLS
PREVIOUS = HIGH + 16
OBSERVATION = PREVIOUS + RANKS + SUITS + 1 + KIND_COUNT + 3
QUEENS, ACES = 9 * SUITS, 11 * SUITS  # the first card of each

GAME = np.dtype([("seats", "i1"), ("dealt", "i1"), ("cards", "i1")])

TABLE = np.dtype(
    [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("played", "i8", SEATS),  # cards each seat has played, a bit each
        ("strength", "i2"),  # of the hand to beat, NOTHING with control
        ("error", "i2"),  # 1 + the illegal action; checked after the loop
        ("to_act", "u1"),
        ("size", "i1"),  # cards of the hand to beat, 0 with control
        ("passes", "i1"),  # since it was played
        ("turns", "u1"),  # taken, the three of diamonds counted
        ("over", "i1"),
        ("variant", "u1"),  # 0: there is one definition
        ("left", "i1", SEATS),  # cards in each hand
        ("shown", "u1", SEATS),  # kinds of hands each seat has played
        ("deck", "i1", CARDS),  # thirteen cards a seat
        ("hand", "i1", (SEATS, HAND)),  # the cards left, ascending, then NO_CARD
        ("turn", "u1", CARDS),  # at which each card was played, counted from 1; 0 if it is not
        ("spare", "u1", 2),
    ]
)


@rule
def deal(game, table):
    """Draw thirteen cards for each seat."""
    shuffle(table, CARDS, game.dealt)


@rule
def start(game, table):
    """Sort the hands and lead the three of diamonds for its holder."""
    for card in range(CARDS):
        table.turn[card] = 0
    for seat in range(SEATS):
        for i in range(HAND):
            insert(table, seat, i, table.deck[seat * HAND + i])
        table.left[seat] = HAND
        table.played[seat] = 0
        table.shown[seat] = 0
        if table.hand[seat, 0] == 0:
            table.to_act = seat
    table.over = 0
    table.error = 0
    table.turns = 0
    play(table, 0, 1, 0)


@rule
def insert(table, seat, count, card):
    """Put a card in its place among the first `count` cards of a hand, which are in order."""
    place = count
    while place > 0 and table.hand[seat, place - 1] > card:
        table.hand[seat, place] = table.hand[seat, place - 1]
        place -= 1
    table.hand[seat, place] = card


@rule
def play(table, action, size, power):
    """Move cards of the seat to act from its hand to the table, whatever lies there."""
    seat = table.to_act
    left = table.left[seat]
    table.turns += 1
    played, taken, kept = table.played[seat], 0, 0
    for i in range(left):
        card = table.hand[seat, i]
        if taken < size and POSITION[action, taken] == i:
            table.turn[card] = table.turns
            played |= 1 << card
            taken += 1
        else:
            table.hand[seat, kept] = card
            kept += 1
    for i in range(kept, left):
        table.hand[seat, i] = NO_CARD
    table.played[seat] = played
    table.left[seat] = kept
    table.shown[seat] |= KINDS[size, power // CARDS]
    table.size = size
    table.strength = power
    table.passes = 0
    table.over = kept == 0
    table.to_act = (seat + 1) % SEATS


@rule
def legal(game, table, mask):
    """Write which actions the seat to act may take."""
    clear(mask)
    hand, left = table.hand[table.to_act], table.left[table.to_act]
    size, beat = table.size, table.strength
    control = size == 0
    mask[PASS] = not control
    if size <= 1:
        for i in range(left):
            mask[i] = hand[i] > beat
    if control or size == 2:
        mark_pairs(hand, left, beat, mask)
    if control or size == 3:
        mark_triples(hand, left, beat, mask)
    if control or size == 4:
        mark_fours(hand, left, beat, mask)
    if control or size == MOST_CARDS:
        mark_fives(hand, left, beat, mask)


@rule
def step(game, table, action):
    """Play one action of the seat to act; an illegal one only sets `table.error`."""
    if table.over or action < 0 or action > PASS:
        table.error = 1 + action if 0 <= action <= PASS else 32767
        return
    if action == PASS:
        if table.size == 0:
            table.error = 1 + action
            return
        table.turns += 1
        table.passes += 1
        if table.passes == SEATS - 1:
            table.size = 0
            table.strength = NOTHING
            table.passes = 0
        table.to_act = (table.to_act + 1) % SEATS
        return
    size, hand = SIZE[action], table.hand[table.to_act]
    held = POSITION[action, size - 1] < table.left[table.to_act]
    power = strength(
        size,
        hand[POSITION[action, 0]],
        hand[POSITION[action, 1]],
        hand[POSITION[action, 2]],
        hand[POSITION[action, 3]],
        hand[POSITION[action, 4]],
    )
    if not held or power <= table.strength or (table.size != 0 and size != table.size):
        table.error = 1 + action
        return
    play(table, action, size, power)


@rule
def payoffs(game, table, out):
    """Write the points won by each seat, summing to zero."""
    total = 0
    for seat in range(SEATS):
        total += table.left[seat]
    for seat in range(SEATS):
        out[seat] = -table.left[seat] if table.left[seat] else total


@rule
def observe(game, table, seat, out):
    """Write what a seat sees as 412 features, 0 or 1.

    [13, 22]    own cards in ascending order: rank [13], suit [4], whether there are two, three and
                four of its rank, whether it is part of a straight, and of a flush
    [3, 27]     the others in turn order: cards left, 1 to 13 [13]; whether it has played each ace
                and two [8]; a pair, a triple, four cards, a straight, a flush, a full house [6]
    [16]        queens, kings, aces and twos that anybody has played
    [29]        the hand to beat: rank [13] and suit [4] of the highest card; control [1]; single,
                pair, triple, two pair, four of a kind, straight, flush, full house [8]; 0, 1, 2
                passes since [3]

    A straight flush counts as a straight and a flush. Of a full house the rank is its triple's,
    without a suit. With control nothing else is said of a hand to beat.
    """
    clear(out)
    hand, left = table.hand[seat], table.left[seat]
    ranks, counts, suits = 0, 0, 0  # cards of a rank and of a suit: four bits each
    for i in range(left):
        rank, suit = hand[i] >> 2, hand[i] & 3
        ranks |= 1 << rank
        counts += 1 << (rank << 2)
        suits += 1 << (suit << 2)
    straight = ranks & ranks >> 1 & ranks >> 2 & ranks >> 3 & ranks >> 4
    straight |= straight << 1
    straight |= straight << 2 | straight << 3
    for i in range(left):
        rank, suit = hand[i] >> 2, hand[i] & 3
        count = counts >> (rank << 2) & 15
        at = i * CARD_CELLS
        out[at + rank] = 1
        out[at + RANKS + suit] = 1
        at += RANKS + SUITS
        out[at] = count >= 2
        out[at + 1] = count >= 3
        out[at + 2] = count == 4
        out[at + 3] = straight >> rank & 1
        out[at + 4] = (suits >> (suit << 2) & 15) >= MOST_CARDS

    everybodys = table.played[seat]
    for i in range(SEATS - 1):
        other = (seat + 1 + i) % SEATS
        at = OTHERS + i * OTHER_CELLS
        if table.left[other]:
            out[at + table.left[other] - 1] = 1
        played, shown = table.played[other], table.shown[other]
        everybodys |= played
        for j in range(8):
            out[at + HAND + j] = played >> (ACES + j) & 1
        at += HAND + 8
        out[at] = (shown & PAIR_) != 0
        out[at + 1] = (shown & TRIPLE_) != 0
        out[at + 2] = (shown & (TWO_PAIR_ | QUADS_)) != 0
        out[at + 3] = (shown & STRAIGHT_) != 0
        out[at + 4] = (shown & FLUSH_) != 0
        out[at + 5] = (shown & FULL_HOUSE_) != 0
    for i in range(16):
        out[HIGH + i] = everybodys >> (QUEENS + i) & 1

    at = PREVIOUS + RANKS + SUITS
    if table.size == 0:
        out[at] = 1
        return
    category, card = divmod(table.strength, CARDS)
    out[PREVIOUS + (card >> 2)] = 1
    if table.size != MOST_CARDS or category != FULL_HOUSE:
        out[PREVIOUS + RANKS + (card & 3)] = 1
    kinds = KINDS[table.size, category]
    for i in range(KIND_COUNT):
        out[at + 1 + i] = kinds >> i & 1
    out[at + 1 + KIND_COUNT + table.passes] = 1


@rule
def reveal(game, table, seat, out):
    """Write the others' hands, [seats - 1, cards], in turn order."""
    clear(out)
    for i in range(SEATS - 1):
        other = (seat + 1 + i) % SEATS
        for j in range(table.left[other]):
            out[i * CARDS + table.hand[other, j]] = 1


@rule
def redeal(game, table):
    """Deal the others' cards anew among them, each as many as it has left."""
    seat, seen = table.to_act, 0
    for i in range(table.left[seat]):
        seen |= 1 << table.hand[seat, i]
    for other in range(SEATS):
        seen |= table.played[other]
    unseen, count = np.empty(CARDS, np.int8), 0
    for card in range(CARDS):
        if not seen >> card & 1:
            unseen[count] = card
            count += 1
    for other in range(SEATS):
        if other != seat:
            for i in range(table.left[other]):
                j = below(table, count)
                insert(table, other, i, unseen[j])
                count -= 1
                unseen[j] = unseen[count]


@rule
def infoset(game, table, seat, out):
    """Write the key of what a seat knows: seat, turns taken, and of each card when it was played.

    The turn of a card also tells who played it, since seats take turns; turns without a card were
    passes.
    """
    out[0] = seat
    out[1] = table.turns
    for card in range(CARDS):
        out[2 + card] = table.turn[card]
    for i in range(table.left[seat]):
        out[2 + table.hand[seat, i]] = IN_HAND
