"""Sampled equity of a hand against ranges of the opponents, in hold'em.

Each sample deals every live opponent a hand of its range, and the board cards to come. A range
contains the best hands; the more an opponent raised, the smaller is its range. For raises before
the flop, the best hands are those with the most points by B. Chen's formula; for later raises,
those that are the strongest on the current board. Some of the samples ignore the ranges, because a
raise may also be a bluff or a draw.
"""

# The arguments of the compiled functions are NumPy records, which have no type for mypy.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import MAX_SUITS, evaluate_hand
from poker_rl.games.game import hash_bytes, jit, random_below, random_uniform
from poker_rl.games.poker.betting import (
    MAX_BOARD_CARDS,
    MAX_DECK_SIZE,
    MAX_HOLE_CARDS,
    MAX_SEATS,
    infoset,
)

HOLDING_COUNT = MAX_DECK_SIZE * (MAX_DECK_SIZE - 1) // 2  # number of pairs of hole cards
MAX_TRIES = 50  # after so many hands that contain dealt cards, the range is ignored


@jit
def estimate_equities(definitions, tables, infoset_key, percentiles, settings, equity):
    """Write the equity of each seat to act into `equity` [B].

    Args:
        definitions: the parameters of the game at each table, [B].
        infoset_key: scratch memory for the key of an information set.
        percentiles: share of hole cards that are weaker before the flop, [card, card].
        settings: `share_after_raises`, `any_hand_prob`, `samples` and `seed` of `PotOddsBot`.
    """
    share_after_raises, any_hand_prob, samples, seed = settings
    ranges = np.empty((MAX_SEATS, HOLDING_COUNT), np.int64)
    range_sizes = np.empty(MAX_SEATS, np.int64)
    raise_counts = np.empty((MAX_SEATS, 2), np.int64)
    hands = np.empty((MAX_SEATS, MAX_HOLE_CARDS), np.int64)
    cards = np.empty(MAX_HOLE_CARDS + MAX_BOARD_CARDS, np.int64)
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        infoset(game, table, table.to_act, infoset_key)
        table.key, table.draws = hash_bytes(infoset_key, seed), np.uint64(0)
        board_count = game.shown[table.street]
        known_cards = np.int64(0)  # bit c is 1 for a known card c
        for j in range(MAX_HOLE_CARDS):
            hands[0, j] = table.deck[table.to_act * MAX_HOLE_CARDS + j]
            known_cards |= np.int64(1) << hands[0, j]
        for j in range(board_count):
            cards[MAX_HOLE_CARDS + j] = table.deck[game.seats * MAX_HOLE_CARDS + j]
            known_cards |= np.int64(1) << cards[MAX_HOLE_CARDS + j]
        count_raises(game, table, raise_counts)
        opponents = 0
        for seat in range(game.seats):
            if seat != table.to_act and not table.folded[seat]:
                last = len(share_after_raises) - 1
                preflop_share = share_after_raises[min(raise_counts[seat, 0], last)]
                board_share = share_after_raises[min(raise_counts[seat, 1], last)]
                shares = preflop_share, board_share if board_count else 1.0
                range_sizes[opponents] = write_range_hands(
                    shares, percentiles, known_cards, cards, board_count, ranges[opponents]
                )
                opponents += 1
        final_count = game.shown[game.streets - 1]
        pot_shares = 0.0
        for _ in range(samples):
            dealt_cards = known_cards
            for opponent in range(opponents):
                hole_cards = ranges[opponent][: range_sizes[opponent]]
                dealt_cards = deal_opponent(
                    table, dealt_cards, hole_cards, any_hand_prob, hands[1 + opponent]
                )
            for j in range(board_count, final_count):
                cards[MAX_HOLE_CARDS + j] = draw_undealt_card(table, dealt_cards)
                dealt_cards |= np.int64(1) << cards[MAX_HOLE_CARDS + j]
            pot_shares += compute_showdown_share(hands, 1 + opponents, cards, final_count)
        equity[i] = pot_shares / samples


@jit
def count_raises(game, table, out):
    """Write into `out` [seats, 2] each seat's number of raises before the flop and later."""
    blinds = 0
    for seat in range(game.seats):
        out[seat, 0] = out[seat, 1] = 0
        blinds += game.forced_raises and game.post[seat] > game.ante
    for i in range(blinds, table.marks):
        cell = table.mark[i]
        if cell % game.type_count == 0:  # the move is a raise
            street_cell = cell // game.type_count // game.raise_levels
            has_board = game.shown[street_cell % game.streets] > 0
            out[street_cell // game.streets, np.int64(has_board)] += 1


@jit
def write_range_hands(shares, percentiles, known_cards, cards, board_count, hole_cards):
    """Write the pairs of hole cards of a range; return their number, or 0 for any hole cards.

    Args:
        shares: share of all hole cards that is selected, the best before the flop, and share of
            these that is in the range, the strongest on the current board.
        cards: two cards that are overwritten, then the board cards.
        hole_cards: output, in which cards a and b are 52 a + b.
    """
    preflop_share, board_share = shares
    if preflop_share == 1 and board_share == 1:
        return 0
    count = 0
    for first in range(1, MAX_DECK_SIZE):
        for second in range(first):
            is_known = (known_cards >> first | known_cards >> second) & 1
            if not is_known and percentiles[first, second] >= 1 - preflop_share:
                hole_cards[count] = MAX_DECK_SIZE * first + second
                count += 1
    if board_share == 1 or count == 0:
        return count
    strengths = np.empty(count, np.int64)
    for j in range(count):
        cards[0], cards[1] = divmod(hole_cards[j], MAX_DECK_SIZE)
        strengths[j] = evaluate_hand(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
    min_strength = np.sort(strengths)[min(int((1 - board_share) * count), count - 1)]
    strong_count = 0
    for j in range(count):
        if strengths[j] >= min_strength:
            hole_cards[strong_count] = hole_cards[j]
            strong_count += 1
    return strong_count


@jit
def deal_opponent(table, dealt_cards, hole_cards, any_hand_prob, out):
    """Deal an opponent two hole cards of its range, or with probability `any_hand_prob` any two.

    Write them into `out`, and return the set of dealt cards including them.
    """
    if len(hole_cards) and random_uniform(table) >= any_hand_prob:
        for _ in range(MAX_TRIES):
            out[0], out[1] = divmod(hole_cards[random_below(table, len(hole_cards))], MAX_DECK_SIZE)
            hand = np.int64(1) << out[0] | np.int64(1) << out[1]
            if not dealt_cards & hand:
                return dealt_cards | hand
    for j in range(MAX_HOLE_CARDS):
        out[j] = draw_undealt_card(table, dealt_cards)
        dealt_cards |= np.int64(1) << out[j]
    return dealt_cards


@jit
def draw_undealt_card(table, dealt_cards):
    """Return a random card that has not been dealt."""
    card = random_below(table, MAX_DECK_SIZE)
    while dealt_cards >> card & 1:
        card = random_below(table, MAX_DECK_SIZE)
    return card


@jit
def compute_showdown_share(hands, hand_count, cards, board_count):
    """Return the share of the pot that the first of the hands wins; equal hands divide it.

    `cards` are two cards that are overwritten, then the board cards.
    """
    cards[0], cards[1] = hands[0, 0], hands[0, 1]
    own_strength = evaluate_hand(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
    winners = 1
    for i in range(1, hand_count):
        cards[0], cards[1] = hands[i, 0], hands[i, 1]
        strength = evaluate_hand(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
        if strength > own_strength:
            return 0.0
        winners += strength == own_strength
    return 1 / winners
