"""Base class of the bots for hold'em that choose between fold, call and bet.

A bet is the smallest legal raise, unless a bot overrides `choose_bet_actions`; limit poker has only
one size. A bot that chooses to bet calls if no raise is legal. A bot that chooses to fold checks if
there is no bet to call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from poker_rl.config.input_checks import Probability
from poker_rl.games.game import Game
from poker_rl.games.poker.poker_game import check_holdem_cards
from poker_rl.games.poker.table_dtypes import (
    CALL,
    FOLD,
    MAX_BOARD_CARDS,
    MAX_DECK_SIZE,
    MAX_HOLE_CARDS,
    RAISE,
)
from poker_rl.players.bots.bot import Bot

BET = RAISE
CHOICE_COUNT = 3  # fold, call, bet
STRONG_HAND_MIN_BET_PROB = 0.5  # `reference_bot` bets a strong hand with at least this probability


@dataclass(kw_only=True)
class FoldCallBetBot(Bot):
    """Base class of bots that see two hole cards; subclasses define `compute_choice_probs`."""

    is_suit_invariant = True

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        check_holdem_cards(game, "a bot that reads hold'em hands")

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """Return the probabilities of fold, call and bet at each of B tables, [B, 3]."""
        raise NotImplementedError

    def get_seen_cards_and_board_count(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cards that each seat to act sees [B, 7], and the number of board cards [B].

        A row has the two hole cards, then the five board cards, of which those to come are -1.
        """
        tables, board_positions = self.build_tables(records), np.arange(MAX_BOARD_CARDS)
        shown = tables.gather_definitions()["shown"]
        board_count = shown[np.arange(len(records)), records["street"]].astype(np.int64)
        hole_start = records["to_act"][:, None].astype(np.int64) * MAX_HOLE_CARDS
        board_start = tables.count_seats()[:, None] * MAX_HOLE_CARDS
        positions = np.hstack([hole_start, hole_start + 1, board_start + board_positions])
        cards = np.take_along_axis(records["deck"], positions, axis=1).astype(np.int64)
        cards[:, MAX_HOLE_CARDS:][board_positions >= board_count[:, None]] = -1
        return cards, board_count

    def choose_bet_actions(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """Return the action that the bot plays as a bet, [B]; arbitrary if no raise is legal."""
        return find_smallest_raises(legal_mask)

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        tables = self.build_tables(records)
        legal_mask = tables.legal_mask()
        choice_probs = self.compute_choice_probs(tables.records, legal_mask)
        bet_actions = self.choose_bet_actions(tables.records, legal_mask)
        return to_legal_action_probs(legal_mask, choice_probs, bet_actions)


@dataclass(kw_only=True)
class StrongWeakBot(FoldCallBetBot):
    """Bot with random choices, whose probabilities depend on whether its hand is strong.

    A hand is strong if `reference_bot` bets it at least half of the time. The bot bets a strong
    hand with probability `strong_bet_prob`, and else calls. It calls with a weak hand with
    probability `weak_call_prob`, and else folds, or checks if there is no bet to call. The bots of
    a published work on six-player hold'em play like this (docs/results/apu.md).
    """

    reference_bot: FoldCallBetBot
    strong_bet_prob: Probability
    weak_call_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        strong_plan = [0.0, 1 - self.strong_bet_prob, self.strong_bet_prob]
        weak_plan = [1 - self.weak_call_prob, self.weak_call_prob, 0.0]
        self._choice_probs = np.array([weak_plan, strong_plan])
        self.is_suit_invariant = self.reference_bot.is_suit_invariant

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        bet_prob = self.reference_bot.compute_choice_probs(records, legal_mask)[:, BET]
        is_strong = bet_prob >= STRONG_HAND_MIN_BET_PROB
        return np.asarray(self._choice_probs[is_strong.astype(np.int64)])


def tabulate_by_hole_cards(function: Callable[[int, int], int]) -> np.ndarray:
    """Return an array [52, 52] with the value of a symmetric function for each pair of cards."""
    table = np.zeros((MAX_DECK_SIZE, MAX_DECK_SIZE), np.int64)
    for first, second in combinations(range(MAX_DECK_SIZE), 2):
        table[first, second] = table[second, first] = function(first, second)
    return table


def get_legal_choice_mask(legal_mask: np.ndarray) -> np.ndarray:
    """Return whether fold, call and bet are legal, [B, 3], from masks of legal actions [B, A]."""
    return np.stack([legal_mask[:, FOLD], legal_mask[:, CALL], legal_mask[:, BET:].any(1)], axis=1)


def to_one_hot_choices(is_bet: np.ndarray, is_call: np.ndarray) -> np.ndarray:
    """Return one-hot choices [B, 3]: bet if `is_bet` [B], else call if `is_call` [B], else fold."""
    return np.asarray(np.eye(CHOICE_COUNT)[np.select([is_bet, is_call], [BET, CALL], FOLD)])


def find_smallest_raises(legal_mask: np.ndarray) -> np.ndarray:
    """Return the smallest raise in each row of `legal_mask` [B, A], [B]; `BET` if none is legal."""
    return np.asarray(BET + legal_mask[:, BET:].argmax(1))


def to_legal_action_probs(
    legal_mask: np.ndarray, choice_probs: np.ndarray, bet_actions: np.ndarray
) -> np.ndarray:
    """Convert probabilities of fold, call and bet [B, 3] to probabilities of all actions [B, A].

    A bet becomes the raise in `bet_actions` [B]. The probability of an illegal choice goes to the
    call (or check), which is always legal.
    """
    legal_choice_probs = choice_probs * get_legal_choice_mask(legal_mask)
    out = np.zeros(legal_mask.shape)
    out[np.arange(len(out)), bet_actions] = legal_choice_probs[:, BET]
    out[:, FOLD] = legal_choice_probs[:, FOLD]
    out[:, CALL] = legal_choice_probs[:, CALL] + (choice_probs - legal_choice_probs).sum(1)
    return out
