"""Bot that plays by B. Chen's points for two hole cards (L. Krieger, Hold'em Excellence, 2000).

The points depend on the hole cards alone, so the bot bets a good hand on every street, whatever the
board is. The thresholds and the random deviations from them are our choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.validation import ConfigError, Probability
from poker_rl.games.cards import MAX_SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker.betting import CALL, FOLD
from poker_rl.players.action_sampling import mix_with_uniform
from poker_rl.players.bots.holdem_bot import (
    BET,
    HoldemBot,
    get_hole_cards,
    get_legal_choice_mask,
    tabulate_holdings,
    to_one_hot_choices,
)

POSITION_COUNT = 3  # early, middle, late


@dataclass(kw_only=True)
class ChenBot(HoldemBot):
    """Bot that plays every street by the points of its hole cards, with random deviations.

    It bets with at least `bet_threshold` points, and calls with at least `call_thresholds`, which
    depend on the position: early, middle or late. The positions are thirds of the seats, from the
    left of the button (early) to the button (late). With probability `deviation_prob` it takes a
    random legal choice instead.
    """

    bet_threshold: int
    call_thresholds: list[int]
    deviation_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if len(self.call_thresholds) != POSITION_COUNT:
            problem = f"{self.call_thresholds} has not three values: early, middle, late position"
            raise ConfigError(f"call_thresholds: {problem}")
        self._points = tabulate_holdings(compute_chen_points)

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        points = self._points[tuple(get_hole_cards(records).T)]
        is_call = points >= np.array(self.call_thresholds)[self.find_position(records)]
        is_bet = points >= self.bet_threshold
        planned_probs = to_one_hot_choices(np.select([is_bet, is_call], [BET, CALL], FOLD))
        return mix_with_uniform(
            planned_probs, get_legal_choice_mask(legal_mask), self.deviation_prob
        )

    def find_position(self, records: np.ndarray) -> np.ndarray:
        """Return the position of each seat to act, [B]: 0 early, 1 middle, 2 late."""
        button = self.to_tables(records).count_seats() - 1
        position: np.ndarray = POSITION_COUNT * records["to_act"] // button
        return position.clip(max=POSITION_COUNT - 1)


def compute_chen_points(first: int, second: int) -> int:
    """Return Chen's points for two cards, from 20 for two aces to -1."""
    low_rank, high_rank = sorted((first // MAX_SUITS, second // MAX_SUITS))
    points = {12: 10.0, 11: 8.0, 10: 7.0, 9: 6.0}.get(high_rank, (high_rank + 2) / 2)
    gap = high_rank - low_rank - 1  # number of ranks between the cards
    if gap < 0:
        points = max(5, 2 * points)
        return 6 if high_rank + 2 == 5 else int(points)
    points -= (0, 1, 2, 4, 5)[min(gap, 4)]
    points += gap <= 1 and high_rank < 10
    points += 2 * (first % MAX_SUITS == second % MAX_SUITS)
    return int(np.ceil(points))
