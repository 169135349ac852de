"""Features of hold'em hands: the share of hands that a hand beats, and its possible categories.

A network that sees only the cards themselves has to learn the ranking of hands. With these features
it need not.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import MAX_RANKS, MAX_SUITS
from poker_rl.games.game import jit
from poker_rl.games.hand_evaluator import (
    CATEGORY_SHIFT,
    MAX_HAND_CARDS,
    STRAIGHT_FLUSH,
    THREE_CARD_HAND,
    evaluate_hand,
)

CATEGORY_COUNT = STRAIGHT_FLUSH + 1
SHARE_FEATURE_COUNT = 10
HAND_FEATURE_COUNT = SHARE_FEATURE_COUNT + 2 * CATEGORY_COUNT
EQUITY_FEATURE_COUNT = 10
HAND_COMPARISON_COUNT = 2 + EQUITY_FEATURE_COUNT  # for each other seat
MIN_FLUSH_BOARD_CARDS = 3  # with fewer cards of a suit on the board, two hole cards make no flush


@jit
def write_hand_features(game, table, out):
    """Write `HAND_FEATURE_COUNT` features of the seat to act; all are 0 while the board is empty.

    The first `SHARE_FEATURE_COUNT` features encode the share of all other hands that this hand
    beats on the board, where ties count half: feature i grows from 0 to 1 while the share grows
    from i to i + 1 tenths. Then come the hand's category (one-hot) and, if board cards are still to
    come, the share of the possible next cards that lead to each category.
    """
    out[:] = 0
    board_count = game.shown[table.street]
    if board_count == 0:
        return
    cards = np.empty(MAX_HAND_CARDS, np.int64)
    known = write_board_and_hole_cards(game, table, table.to_act, board_count, cards)
    strength = evaluate_hand(cards, board_count + 2, MAX_SUITS)
    out[SHARE_FEATURE_COUNT + (strength >> CATEGORY_SHIFT)] = 1
    tenths = SHARE_FEATURE_COUNT * compute_share_beaten(cards, board_count, known, strength)
    for i in range(SHARE_FEATURE_COUNT):
        out[i] = min(max(tenths - i, 0.0), 1.0)
    if board_count < game.shown[game.streets - 1]:
        write_board_and_hole_cards(game, table, table.to_act, board_count, cards)
        share = np.float32(1) / (game.cards - board_count - 2)
        for card in range(game.cards):
            if not known >> card & 1:
                cards[board_count + 2] = card
                category = evaluate_hand(cards, board_count + 3, MAX_SUITS) >> CATEGORY_SHIFT
                out[SHARE_FEATURE_COUNT + CATEGORY_COUNT + category] += share


@jit
def write_hidden_hand_comparisons(game, table, out):
    """Write how the hand of the seat to act compares with each other seat's hand, 0 or 1.

    There are `HAND_COMPARISON_COUNT` features for each other seat in turn order: whether the hand
    is ahead on the board; whether it is level; then, for each i below `EQUITY_FEATURE_COUNT`,
    whether its equity is above (i + 1/2) / 10. Equity is the share of the possible next cards after
    which the hand is ahead, where ties count half. On the river, it is 1 if the hand is ahead, 1/2
    if it is level, else 0. All features are 0 while the board is empty, and for folded seats.
    """
    out[:] = 0
    board_count = game.shown[table.street]
    if board_count == 0:
        return
    own_cards, other_cards = np.empty(MAX_HAND_CARDS, np.int64), np.empty(MAX_HAND_CARDS, np.int64)
    own_known = write_board_and_hole_cards(game, table, table.to_act, board_count, own_cards)
    own = evaluate_hand(own_cards, board_count + 2, MAX_SUITS)
    for position in range(1, game.seats):
        seat = (table.to_act + position) % game.seats
        if table.folded[seat]:
            continue
        known = own_known | write_board_and_hole_cards(game, table, seat, board_count, other_cards)
        other = evaluate_hand(other_cards, board_count + 2, MAX_SUITS)
        doubled_wins, card_count = (own > other) + (own >= other), 1
        first = (position - 1) * HAND_COMPARISON_COUNT
        out[first], out[first + 1] = own > other, own == other
        if board_count < game.shown[game.streets - 1]:
            doubled_wins = card_count = 0
            for card in range(game.cards):
                if not known >> card & 1:
                    own_cards[board_count + 2] = other_cards[board_count + 2] = card
                    next_own = evaluate_hand(own_cards, board_count + 3, MAX_SUITS)
                    next_other = evaluate_hand(other_cards, board_count + 3, MAX_SUITS)
                    doubled_wins += (next_own > next_other) + (next_own >= next_other)
                    card_count += 1
        for i in range(EQUITY_FEATURE_COUNT):
            is_above = EQUITY_FEATURE_COUNT * doubled_wins > (2 * i + 1) * card_count
            out[first + 2 + i] = is_above


@jit
def write_board_and_hole_cards(game, table, seat, board_count, cards):
    """Write the board and a seat's two hole cards into `cards`; return them as a set of bits."""
    card_bits = np.int64(0)
    for i in range(board_count):
        cards[i] = table.deck[game.seats * game.hole + i]
    for i in range(2):
        cards[board_count + i] = table.deck[seat * game.hole + i]
    for i in range(board_count + 2):
        card_bits |= np.int64(1) << cards[i]
    return card_bits


@jit
def compute_share_beaten(cards, board_count, known, strength):
    """Return the share of the possible hands of an opponent that are weaker; ties count half.

    `cards` begins with the board; the rest is overwritten. Bit c of `known` is 1 for each card c of
    the board and of the own hand, whose strength is `strength`.
    """
    suit_counts, rank_counts = np.zeros(MAX_SUITS, np.int64), np.empty(MAX_RANKS, np.int64)
    for i in range(board_count):
        suit_counts[cards[i] % MAX_SUITS] += 1
    doubled_wins = hand_count = 0
    # Two hole cards and a single board card make a three-card hand, which may be a flush, too.
    if suit_counts.max() >= MIN_FLUSH_BOARD_CARDS or board_count + 2 == THREE_CARD_HAND:
        for first in range(MAX_RANKS * MAX_SUITS):
            if not known >> first & 1:
                cards[board_count] = first
                for second in range(first):
                    if not known >> second & 1:
                        cards[board_count + 1] = second
                        other = evaluate_hand(cards, board_count + 2, MAX_SUITS)
                        doubled_wins += (strength > other) + (strength >= other)
                        hand_count += 1
        return doubled_wins / (2 * hand_count)
    # Without a possible flush, only the ranks of an opponent's two cards matter.
    for rank in range(MAX_RANKS):
        rank_counts[rank] = 0
        for suit in range(MAX_SUITS):
            rank_counts[rank] += not known >> (rank * MAX_SUITS + suit) & 1
        cards[board_count] = rank * MAX_SUITS
        for other_rank in range(rank + 1):
            pairs = rank_counts[rank] * rank_counts[other_rank]
            if other_rank == rank:
                pairs = rank_counts[rank] * (rank_counts[rank] - 1) // 2
            if pairs == 0:
                continue
            cards[board_count + 1] = other_rank * MAX_SUITS + 1
            other = evaluate_hand(cards, board_count + 2, MAX_SUITS)
            doubled_wins += pairs * ((strength > other) + (strength >= other))
            hand_count += pairs
    return doubled_wins / (2 * hand_count)
