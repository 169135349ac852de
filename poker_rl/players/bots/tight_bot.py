"""Bot that raises strong hands, calls with medium hands and folds the rest.

The strength of a hand is p^n, the probability to beat all n remaining opponents if they hold random
cards. From the flop on, p is the share of an opponent's possible hole cards that the bot's hand
beats on the current board. Before the flop, p is the share of hole cards with fewer points by B.
Chen's formula (L. Krieger, Hold'em Excellence, 2000). Ties count half. Board cards to come and the
actions of the opponents are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.validation import Probability
from poker_rl.games.cards import MAX_SUITS, evaluate_best_five
from poker_rl.games.game import Game, jit
from poker_rl.games.poker.betting import CALL, FOLD, MAX_BOARD_CARDS, MAX_DECK_SIZE, MAX_HOLE_CARDS
from poker_rl.players.bots.holdem_bot import BET, HoldemBot, to_one_hot_choices
from poker_rl.players.bots.starting_hand_bots import compute_chen_percentiles


@dataclass(kw_only=True)
class TightBot(HoldemBot):
    """Bot that raises or calls if its probability to have the best hand reaches a threshold."""

    raise_threshold: Probability
    call_threshold: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._preflop_win_probs = compute_chen_percentiles()

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        definitions = self.to_tables(records).gather_definitions()
        win_probs = np.empty(len(records))
        compute_win_probs(definitions, records, self._preflop_win_probs, win_probs)
        is_bet, is_call = win_probs >= self.raise_threshold, win_probs >= self.call_threshold
        return to_one_hot_choices(np.select([is_bet, is_call], [BET, CALL], FOLD))


@jit
def compute_win_probs(definitions, tables, preflop_win_probs, out):  # type: ignore[no-untyped-def]
    """Write into `out` [B] the probability that the seat to act has the best hand."""
    hand = np.empty(MAX_HOLE_CARDS + MAX_BOARD_CARDS, np.int64)
    is_known = np.zeros(MAX_DECK_SIZE, np.bool_)
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        own_start = table.to_act * MAX_HOLE_CARDS
        first, second = table.deck[own_start], table.deck[own_start + 1]
        board_count = game.shown[table.street]
        if board_count == 0:
            win_prob = preflop_win_probs[first, second]
        else:
            count = board_count + MAX_HOLE_CARDS
            for j in range(board_count):
                hand[MAX_HOLE_CARDS + j] = table.deck[game.seats * MAX_HOLE_CARDS + j]
            hand[0], hand[1] = first, second
            own_strength = evaluate_best_five(hand, count, MAX_SUITS)
            is_known[:] = False
            for j in range(count):
                is_known[hand[j]] = True
            win_count, tie_count, holding_count = 0, 0, 0
            for a in range(1, MAX_DECK_SIZE):
                if not is_known[a]:
                    hand[0] = a
                    for b in range(a):
                        if not is_known[b]:
                            hand[1] = b
                            opponent_strength = evaluate_best_five(hand, count, MAX_SUITS)
                            win_count += opponent_strength < own_strength
                            tie_count += opponent_strength == own_strength
                            holding_count += 1
            win_prob = (win_count + tie_count / 2) / holding_count
        out[i] = win_prob ** (table.live - 1)
