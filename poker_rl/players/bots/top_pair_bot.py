"""Bot that compares its hole cards with the board by simple rules.

After the flop it bets with top pair or better. It calls with any pair and, while board cards are
still to come, with a draw. Else it checks or folds. The terms mean:

    top pair   a hole card pairs the highest rank of the board, or the hole cards are a higher pair
    better     two pair, if the board alone has no pair; three of a kind or better, if the board
               alone has a lower category; on the river also a straight or better that is stronger
               than the board alone
    any pair   a hole card pairs the board or the other hole card
    draw       four cards of a suit, or cards of four ranks out of five consecutive ones (the ace is
               high or low), while the board alone has fewer of them

Before the flop it bets a pair and calls with an ace or a king. All of these rules are our choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poker_rl.games.cards import MAX_RANKS, MAX_SUITS
from poker_rl.games.game import jit
from poker_rl.games.hand_evaluator import (
    CATEGORY_SHIFT,
    HIGH_CARD,
    STRAIGHT,
    TRIPS,
    TWO_PAIR,
    evaluate_best_five,
)
from poker_rl.games.poker.table_dtypes import MAX_BOARD_CARDS, MAX_HOLE_CARDS
from poker_rl.players.bots.fold_call_bet_bot import FoldCallBetBot, to_one_hot_choices

KING = MAX_RANKS - 2
CARDS_TO_DRAW = 4  # number of cards of a flush or straight that make a draw
STRAIGHT_LENGTH = 5  # number of ranks in a straight


@dataclass(kw_only=True)
class TopPairBot(FoldCallBetBot):
    """Bot that bets, calls and folds by the rules in the module's docstring."""

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        cards, board_count = self.get_seen_cards_and_board_count(records)
        ranks, final_count = cards // MAX_SUITS, self._game.definitions["shown"].max()
        hole_ranks, board_ranks = ranks[:, :MAX_HOLE_CARDS], ranks[:, MAX_HOLE_CARDS:]
        top_board_rank = board_ranks.max(1)
        is_hole_pair = hole_ranks[:, 0] == hole_ranks[:, 1]
        # Before the flop `top_board_rank` is below all ranks, so the bot bets every pair.
        is_bet = (hole_ranks == top_board_rank[:, None]).any(1)
        is_bet |= is_hole_pair & (hole_ranks[:, 0] > top_board_rank)
        is_bet |= is_better_than_top_pair(cards, board_count)
        is_call = (hole_ranks[:, :, None] == board_ranks[:, None]).any((1, 2)) | is_hole_pair
        is_call |= has_draw(cards) & (board_count > 0) & (board_count < final_count)
        is_call |= (board_count == 0) & (hole_ranks.max(1) >= KING)
        return to_one_hot_choices(is_bet, is_call)


def is_better_than_top_pair(cards: np.ndarray, board_count: np.ndarray) -> np.ndarray:
    """Return whether each hand of hole cards and board [B, 7] is better than top pair, [B]."""
    hand_strength, board_strength = np.zeros((2, len(cards)), np.int64)
    _fill_hand_and_board_strengths(cards, board_count, hand_strength, board_strength)
    hand_category, board_category = (x >> CATEGORY_SHIFT for x in (hand_strength, board_strength))
    is_made_hand = (board_count == MAX_BOARD_CARDS) & (hand_category >= STRAIGHT)
    is_two_pair = (hand_category == TWO_PAIR) & (board_category == HIGH_CARD)
    is_better: np.ndarray = np.where(
        hand_category == board_category,
        is_made_hand & (hand_strength > board_strength),
        (hand_category >= TRIPS) | is_two_pair,
    )
    return is_better


def has_draw(cards: np.ndarray) -> np.ndarray:
    """Return whether each row of hole cards and board [B, 7] has a draw, [B]; -1 is no card."""
    # Index 0 marks the cards of the board; index 1 marks these and the hole cards.
    is_held = np.zeros((2, len(cards), MAX_RANKS, MAX_SUITS), bool)
    for i, seen_cards in enumerate([cards[:, MAX_HOLE_CARDS:], cards]):
        row, position = np.nonzero(seen_cards >= 0)
        is_held[i, row, *divmod(seen_cards[row, position], MAX_SUITS)] = True
    board_suits, suits = is_held.sum(2)
    ranks = np.asarray(is_held.any(3))
    ranks = np.concatenate([ranks[:, :, -1:], ranks], axis=2)  # the ace is low too
    board_spans, spans = sliding_window_view(ranks, STRAIGHT_LENGTH, axis=2).sum(3)
    has_flush_draw = ((suits >= CARDS_TO_DRAW) & (suits > board_suits)).any(1)
    has_straight_draw = ((spans >= CARDS_TO_DRAW) & (spans > board_spans)).any(1)
    return np.asarray(has_flush_draw | has_straight_draw)


@jit
def _fill_hand_and_board_strengths(cards, board_count, hand_out, board_out):  # type: ignore[no-untyped-def]
    """Write the strength of each hand and of its board alone; skip tables without board cards."""
    for i in range(len(cards)):
        if board_count[i]:
            hand_out[i] = evaluate_best_five(cards[i], MAX_HOLE_CARDS + board_count[i], MAX_SUITS)
            board = cards[i, MAX_HOLE_CARDS:]
            board_out[i] = evaluate_best_five(board, board_count[i], MAX_SUITS)
