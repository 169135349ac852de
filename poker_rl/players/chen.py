"""A bot that plays B. Chen's points for its two hole cards (L. Krieger, Hold'em Excellence, 2000).

The points are of the hole cards alone, so they are the same on every street: it bets a good hand
from the deal to the river whatever the board. Its thresholds and deviations are our choice; the
formula is its author's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from poker_rl.config.settings import Probability, Refused
from poker_rl.games.cards import SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker.betting import CALL, CARDS, FOLD
from poker_rl.players.holdem import BET, HoldemBot, certain, choices, own_cards

POSITIONS = 3  # early, middle, late


@dataclass(kw_only=True)
class Chen(HoldemBot):
    """Bets from so many points on, calls from `call_from` by position, else checks or folds.

    Position is counted from the button's left in thirds of the way to the button, which is late;
    heads-up the other seat is early.

    Raises:
        Refused: if `call_from` has not three values, each at most `bet_from`, or the game is not
            played with two cards each of a deck of 52.
    """

    bet_from: int
    call_from: list[int]
    deviation: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if len(self.call_from) != POSITIONS:
            raise Refused(
                f"call_from: {self.call_from} has not three values: early, middle, late position"
            )
        if max(self.call_from) > self.bet_from:
            raise Refused(f"call_from: {self.call_from} exceeds bet_from, {self.bet_from}")
        self._points = np.zeros((CARDS, CARDS), np.int64)
        for first, second in combinations(range(CARDS), 2):
            self._points[first, second] = self._points[second, first] = chen(first, second)

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        points = self._points[tuple(own_cards(records).T)]
        calls = points >= np.array(self.call_from)[self.position(records)]
        plan = certain(np.select([points >= self.bet_from, calls], [BET, CALL], FOLD))
        offered = choices(legal)
        wishes: np.ndarray = (1 - self.deviation) * plan
        wishes += self.deviation * offered / offered.sum(1)[:, None]
        return wishes

    def position(self, records: np.ndarray) -> np.ndarray:
        """0 early, 1 middle, 2 late: that of each seat to act, [B]."""
        last = self.tables(records).definitions()["seats"].astype(np.int64) - 1  # the button
        position: np.ndarray = np.minimum(POSITIONS * records["to_act"] // last, POSITIONS - 1)
        return position


def chen(first: int, second: int) -> int:
    """Chen's points for two cards, from 20 for two aces to -1."""
    low, high = sorted((first // SUITS, second // SUITS))
    points = {12: 10.0, 11: 8.0, 10: 7.0, 9: 6.0}.get(high, (high + 2) / 2)
    gap = high - low - 1  # ranks between
    if gap < 0:
        points = max(5, 2 * points)
        return 6 if high + 2 == 5 else int(points)
    points -= (0, 1, 2, 4, 5)[min(gap, 4)]
    points += gap <= 1 and high < 10
    points += 2 * (first % SUITS == second % SUITS)
    return int(np.ceil(points))
