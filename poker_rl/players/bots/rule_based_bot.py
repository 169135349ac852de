"""Bot that compares its hole cards with the board by simple rules.

It bets with top pair or better. It calls with any pair and, while board cards are still to come,
with a draw. Else it checks or folds. The terms mean:

    top pair   a hole card pairs the highest rank of the board, or both are a pair above it
    better     two pair with both hole cards, or three of a kind or better, of a higher category
               than the board alone; on the river also a straight or better that beats the board
    any pair   a hole card pairs the board or the other hole card
    draw       four cards of a suit, or four of five consecutive ranks (the ace high or low), which
               the board alone does not have

Before the flop it bets a pair and calls with an ace or a king. All of these rules are our choice.
"""

# The arguments of the compiled functions are NumPy records, which have no type for mypy.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.games.cards import (
    CATEGORY_SHIFT,
    HIGH_CARD,
    MAX_RANKS,
    MAX_SUITS,
    STRAIGHT,
    TRIPS,
    TWO_PAIR,
    evaluate_best_five,
)
from poker_rl.games.game import jit
from poker_rl.games.poker.betting import CALL, FOLD, MAX_BOARD_CARDS, MAX_HOLE_CARDS
from poker_rl.players.bots.holdem_bot import BET, HoldemBot, to_one_hot_choices

KING = MAX_RANKS - 2
CARDS_TO_DRAW = 4  # number of cards of a flush or straight that make a draw
STRAIGHT_LENGTH = 5  # number of ranks in a straight


@dataclass(kw_only=True)
class RuleBasedBot(HoldemBot):
    """Bot that bets, calls and folds by the rules in the module's docstring."""

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        choices = np.empty(len(records), np.int64)
        choose_by_rules(self.to_tables(records).gather_definitions(), records, choices)
        return to_one_hot_choices(choices)


@jit
def choose_by_rules(definitions, tables, out):
    """Write the choice of each seat to act into `out` [B]."""
    cards = np.empty(MAX_HOLE_CARDS + MAX_BOARD_CARDS, np.int64)
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        board_count = game.shown[table.street]
        has_cards_to_come = board_count < game.shown[game.streets - 1]
        for j in range(MAX_HOLE_CARDS):
            cards[j] = table.deck[table.to_act * MAX_HOLE_CARDS + j]
        for j in range(board_count):
            cards[MAX_HOLE_CARDS + j] = table.deck[game.seats * MAX_HOLE_CARDS + j]
        first, second = cards[0] // MAX_SUITS, cards[1] // MAX_SUITS
        if board_count == 0:
            weak_choice = CALL if max(first, second) >= KING else FOLD
            out[i] = BET if first == second else weak_choice
        elif has_top_pair_or_better(cards, board_count):
            out[i] = BET
        elif has_pair_with_hole_card(cards, board_count) or (
            has_cards_to_come and has_draw(cards, board_count)
        ):
            out[i] = CALL
        else:
            out[i] = FOLD


@jit
def has_top_pair_or_better(cards, board_count):
    """Return whether the hole cards, the first two of `cards`, make top pair or better."""
    top_board_rank = -1
    for j in range(MAX_HOLE_CARDS, MAX_HOLE_CARDS + board_count):
        top_board_rank = max(top_board_rank, cards[j] // MAX_SUITS)
    first, second = cards[0] // MAX_SUITS, cards[1] // MAX_SUITS
    if top_board_rank in (first, second) or (first == second and first > top_board_rank):
        return True
    hand_strength = evaluate_best_five(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
    board_strength = evaluate_best_five(cards[MAX_HOLE_CARDS:], board_count, MAX_SUITS)
    hand_category = hand_strength >> CATEGORY_SHIFT
    board_category = board_strength >> CATEGORY_SHIFT
    if hand_category == board_category:
        is_made_hand = board_count == MAX_BOARD_CARDS and hand_category >= STRAIGHT
        return is_made_hand and hand_strength > board_strength
    return hand_category >= TRIPS or (hand_category == TWO_PAIR and board_category == HIGH_CARD)


@jit
def has_pair_with_hole_card(cards, board_count):
    """Return whether a hole card, one of the first two of `cards`, pairs another card."""
    for i in range(MAX_HOLE_CARDS):
        for j in range(i + 1, MAX_HOLE_CARDS + board_count):
            if cards[i] // MAX_SUITS == cards[j] // MAX_SUITS:
                return True
    return False


@jit
def has_draw(cards, board_count):
    """Return whether the hole cards, the first two of `cards`, make a draw with the board."""
    rank_bits, board_rank_bits = 0, 0  # bit r + 1 for rank r; bit 0 for a low ace
    for suit in range(MAX_SUITS):
        count, own_count = 0, 0
        for j in range(MAX_HOLE_CARDS + board_count):
            if cards[j] % MAX_SUITS == suit:
                count += 1
                own_count += j < MAX_HOLE_CARDS
        if own_count and count >= CARDS_TO_DRAW:
            return True
    for j in range(MAX_HOLE_CARDS + board_count):
        rank = cards[j] // MAX_SUITS
        card_rank_bits = 2 << rank | (rank == MAX_RANKS - 1)
        rank_bits |= card_rank_bits
        if j >= MAX_HOLE_CARDS:
            board_rank_bits |= card_rank_bits
    for low in range(MAX_RANKS + 2 - STRAIGHT_LENGTH):
        ranks_in_span, board_ranks_in_span = 0, 0
        for r in range(low, low + STRAIGHT_LENGTH):
            ranks_in_span += rank_bits >> r & 1
            board_ranks_in_span += board_rank_bits >> r & 1
        if ranks_in_span >= CARDS_TO_DRAW and ranks_in_span > board_ranks_in_span:
            return True
    return False
