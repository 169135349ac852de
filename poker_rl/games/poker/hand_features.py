"""Features of a hand of hold'em on its board: what it beats now, and what the next card makes of it.

A network that sees only which cards it holds has to learn the ranking of hands by itself. With
these features it does not: they say what share of all hands the seat to act beats, which category
its hand has, and how likely each category is after the next board card.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.hand_strength import (
    CARD_KEYS,
    CATEGORY_SHIFT,
    EMPTY_HAND_KEY,
    FLUSH_MASK,
    HIGH_RANKS_INDEX,
    HIGH_RANKS_MASK,
    HIGH_RANKS_SHIFT,
    LOW_RANKS_INDEX,
    LOW_RANKS_MASK,
    STRENGTHS,
    evaluate_best_five,
)

CATEGORY_COUNT = 9  # high card to straight flush
SHARE_STEPS = 10  # the share of hands beaten is written as so many features, each for a tenth
HAND_FEATURE_COUNT = SHARE_STEPS + 2 * CATEGORY_COUNT


@jit
def write_hand_features(game, table, out):
    """Write `HAND_FEATURE_COUNT` features of the seat to act at a table; all are 0 without a board.

    The first `SHARE_STEPS` features are a scale for the share of the other hands that the hand
    beats on the board (ties count half): feature i goes from 0 to 1 while the share goes from i to
    i + 1 tenths. Then come the hand's category (one-hot) and, if board cards are still to come, the
    share of the next cards that give each category.
    """
    out[:] = 0
    board_count = game.shown[table.street]
    if board_count == 0:
        return
    cards = np.empty(7, np.int64)
    first_hole, first_board = table.to_act * game.hole, game.seats * game.hole
    cards[board_count], cards[board_count + 1] = table.deck[first_hole], table.deck[first_hole + 1]
    board_key, known = np.int64(EMPTY_HAND_KEY), np.int64(0)
    for i in range(board_count):
        cards[i] = table.deck[first_board + i]
        board_key += CARD_KEYS[game.suits, cards[i]]
    for i in range(board_count + 2):
        known |= np.int64(1) << cards[i]
    strength = evaluate_best_five(cards, board_count + 2, game.suits)
    out[SHARE_STEPS + (strength >> CATEGORY_SHIFT)] = 1

    doubled_wins, hand_count = 0, 0
    for first in range(game.cards):
        if known >> first & 1:
            continue
        cards[board_count] = first
        first_key = board_key + CARD_KEYS[game.suits, first]
        for second in range(first):
            if known >> second & 1:
                continue
            key = first_key + CARD_KEYS[game.suits, second]
            if key & FLUSH_MASK:
                cards[board_count + 1] = second
                other = np.int64(evaluate_best_five(cards, board_count + 2, game.suits))
            else:
                high = HIGH_RANKS_INDEX[key >> HIGH_RANKS_SHIFT & HIGH_RANKS_MASK]
                other = np.int64(STRENGTHS[high + LOW_RANKS_INDEX[key & LOW_RANKS_MASK]])
            doubled_wins += (strength > other) + (strength >= other)
            hand_count += 1
    tenths = SHARE_STEPS * doubled_wins / (2 * hand_count)
    for i in range(SHARE_STEPS):
        out[i] = min(max(tenths - i, 0.0), 1.0)

    if board_count == game.shown[game.streets - 1]:
        return
    cards[board_count], cards[board_count + 1] = table.deck[first_hole], table.deck[first_hole + 1]
    share = np.float32(1) / (game.cards - board_count - 2)
    for card in range(game.cards):
        if not known >> card & 1:
            cards[board_count + 2] = card
            strength = evaluate_best_five(cards, board_count + 3, game.suits)
            out[SHARE_STEPS + CATEGORY_COUNT + (strength >> CATEGORY_SHIFT)] += share
