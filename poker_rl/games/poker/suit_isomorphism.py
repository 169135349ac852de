"""Suit isomorphism: renaming the suits to a canonical form, since all suits are worth the same.

If equivalent situations have the same observation, a network has fewer situations to learn: down to
1/24 with four suits.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import MAX_RANKS
from poker_rl.games.game import jit
from poker_rl.games.poker.observation import observe, observe_hidden_cards


@jit
def sort_suits(definitions, tables):
    """Rename the suits of tables [B] with definitions [B] to a canonical form, in place.

    Suits are ordered by the ranks that they have among the hole cards of the seat to act, then
    among the board cards of each street in turn. If the first street has board cards, they are not
    distinguished from hole cards here, so some equivalent situations stay different.
    """
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        apply_suit_order(game, table, 0, game.dealt, compute_suit_order(game, table))


@jit
def observe_sorted(game, table, seat, out):
    """Write the observation of the seat to act, with suits renamed as by `sort_suits`."""
    order = compute_suit_order(game, table)
    apply_suit_order_to_seen_cards(game, table, order)
    observe(game, table, seat, out)
    apply_suit_order_to_seen_cards(game, table, invert_suit_order(game, order))


@jit
def observe_sorted_log_chips(game, table, seat, logarithms, out):
    """Write the observation of `observe_sorted`, with `logarithms[k]` for features of k > 0 chips.

    The game needs stacks. A flag of 1 is replaced as if it meant the most chips a seat can put in.
    """
    observe_sorted(game, table, seat, out)
    most_chips = np.float32(1) / game.chip
    for start, stop in ((0, np.int64(game.hole_offset)), (np.int64(game.chip_offset), len(out))):
        for j in range(start, stop):
            if out[j] != 0:
                out[j] = logarithms[np.int64(out[j] * most_chips + np.float32(0.5))]


@jit
def observe_hidden_cards_sorted(game, table, seat, out):
    """Write the cards hidden from the seat to act, with suits renamed as by `sort_suits`."""
    order = compute_suit_order(game, table)
    apply_suit_order(game, table, 0, game.dealt, order)
    observe_hidden_cards(game, table, seat, out)
    apply_suit_order(game, table, 0, game.dealt, invert_suit_order(game, order))


@jit
def invert_suit_order(game, order):
    inverse = 0
    for suit in range(game.suits):
        inverse |= suit << 2 * (order >> 2 * suit & 3)
    return inverse


@jit
def compute_suit_order(game, table):
    """Return the canonical suit of each suit, packed into an integer with two bits per suit."""
    # A suit's key has a bit for each of its cards; the suit with the largest key becomes suit 0.
    first = second = third = fourth = 0
    position, count = table.to_act * game.hole, game.hole
    for street in range(-1, table.street + 1):
        if street >= 0:
            position = position + count if street > 0 else game.seats * game.hole
            count = game.board[street]
        for j in range(position, position + count):
            suit = get_deck_suit(game, table, j)
            rank = table.deck[j] >> 2 if game.suits == 4 else table.deck[j] // game.suits
            bit = 1 << (rank + MAX_RANKS * (3 - max(street, 0)))
            if suit == 0:
                first |= bit
            elif suit == 1:
                second |= bit
            elif suit == 2:
                third |= bit
            else:
                fourth |= bit
    order = (second > first) + (third > first) + (fourth > first)
    order |= ((first >= second) + (third > second) + (fourth > second)) << 2
    order |= ((first >= third) + (second >= third) + (fourth > third)) << 4
    return order | ((first >= fourth) + (second >= fourth) + (third >= fourth)) << 6


@jit
def apply_suit_order_to_seen_cards(game, table, order):
    apply_suit_order(game, table, table.to_act * game.hole, game.hole, order)
    apply_suit_order(game, table, game.seats * game.hole, game.shown[table.street], order)


@jit
def apply_suit_order(game, table, start, count, order):
    """Rename the suits of `count` cards of the deck from `start` on; see `compute_suit_order`."""
    for j in range(start, start + count):
        suit = get_deck_suit(game, table, j)
        table.deck[j] += (order >> 2 * suit & 3) - suit


@jit
def get_deck_suit(game, table, position):
    """Return the suit of a card of the deck, without a slow division if there are four suits."""
    card = np.int64(table.deck[position])
    return card & 3 if game.suits == 4 else card % game.suits
