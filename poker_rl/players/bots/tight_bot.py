"""Bot that raises strong hands, calls with medium hands and folds the rest.

The strength of a hand is p^n, an estimate of the probability to beat all n remaining opponents if
they hold random cards. From the flop on, p is the share of an opponent's possible hole cards that
the bot's hand beats on the current board. Before the flop, p is the share of all hole cards with
fewer points by B. Chen's formula (L. Krieger, Hold'em Excellence, 2000). Ties count half. Board
cards to come and the actions of the opponents are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import Probability
from poker_rl.games.cards import MAX_SUITS
from poker_rl.games.game import Game, jit
from poker_rl.games.hand_evaluator import MAX_HAND_CARDS, evaluate_hand
from poker_rl.games.poker.hand_features import compute_share_beaten, write_board_and_hole_cards
from poker_rl.games.poker.table_dtypes import MAX_HOLE_CARDS
from poker_rl.players.bots.fold_call_bet_bot import FoldCallBetBot, to_one_hot_choices
from poker_rl.players.bots.hole_card_bots import compute_chen_percentiles


@dataclass(kw_only=True)
class TightBot(FoldCallBetBot):
    """Bot that raises or calls if the strength of its hand reaches a threshold."""

    raise_threshold: Probability
    call_threshold: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._preflop_win_probs = compute_chen_percentiles()

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        win_probs = self.compute_win_probs(records)
        raises, calls = win_probs >= self.raise_threshold, win_probs >= self.call_threshold
        return to_one_hot_choices(raises, calls)

    def compute_win_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the strength of the hand of each seat to act, [B]; see the module's docstring."""
        tables, win_probs = self.build_tables(records), np.empty(len(records))
        definitions = tables.gather_definitions()
        _fill_win_probs(definitions, tables.records, self._preflop_win_probs, win_probs)
        return np.asarray(win_probs ** (records["live"] - 1))


@jit
def _fill_win_probs(definitions, tables, preflop_win_probs, out):  # type: ignore[no-untyped-def]
    """Write the probability p to beat one opponent at each of B tables into `out` [B]."""
    cards = np.empty(MAX_HAND_CARDS, np.int64)
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        board_count = game.shown[table.street]
        known = write_board_and_hole_cards(game, table, table.to_act, board_count, cards)
        if board_count == 0:
            out[i] = preflop_win_probs[cards[0], cards[1]]
        else:
            strength = evaluate_hand(cards, board_count + MAX_HOLE_CARDS, MAX_SUITS)
            out[i] = compute_share_beaten(cards, board_count, known, strength)
