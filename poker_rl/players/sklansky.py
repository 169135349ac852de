"""A bot that plays five nested ranges of starting hands (D. Sklansky, Hold'em Poker, 1976).

    very high   AA-JJ, AK                                                      3.02 % of all hands
    tight       AA-99, AK-AQ                                                   5.13 %
    average     AA-77, AK-AT, KQ                                               9.65 %
    loose       AA-22, AK-A5, any two of ten or higher, K9s-T9s               25.19 %
    very loose  AA-22, AK-A2, any two of seven or higher, K6-K4, K3s-K2s      49.92 %

It bets the first two, calls or bets the average one, half the time each, calls with a loose hand,
and with a very loose one while there has been no more than one bet on the street, the big blind
counted. What it does with each range is our choice, and it does so on every street.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from poker_rl.config.settings import Probability
from poker_rl.games.cards import SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker.betting import CARDS
from poker_rl.players.holdem import HoldemBot, own_cards

VERY_HIGH, TIGHT, AVERAGE, LOOSE, VERY_LOOSE, NONE = range(6)
FOUR, FIVE, SIX, SEVEN, EIGHT, NINE, TEN, JACK, QUEEN, KING, ACE = range(2, 13)


@dataclass(kw_only=True)
class Sklansky(HoldemBot):
    """Bets strong ranges, calls with looser ones, folds the rest; an average hand bets by chance.

    Raises:
        Refused: if the game is not played with two cards each of a deck of 52.
    """

    average_bets: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._ranges = np.zeros((CARDS, CARDS), np.int64)
        for first, second in combinations(range(CARDS), 2):
            self._ranges[first, second] = self._ranges[second, first] = range_of(first, second)
        bets = self.average_bets
        call, fold = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
        bet, average = [0.0, 0.0, 1.0], [0.0, 1 - bets, bets]
        plan = [bet, bet, average, call, call, fold]
        facing_more = [bet, bet, average, call, fold, fold]
        self._plans = np.array([plan, facing_more])  # [facing more than one bet, range, choice]

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        held = self._ranges[tuple(own_cards(records).T)]
        plans: np.ndarray = self._plans[(records["raises"] > 1).astype(np.int64), held]
        return plans


def range_of(first: int, second: int) -> int:
    """The first of the ranges, `VERY_HIGH` to `VERY_LOOSE`, that holds two cards, else `NONE`."""
    low, high = sorted((first // SUITS, second // SUITS))
    pair, suited = low == high, first % SUITS == second % SUITS
    ace, king = high == ACE, high == KING
    ranges = [
        (pair and low >= JACK) or (ace and low >= KING),
        (pair and low >= NINE) or (ace and low >= QUEEN),
        (pair and low >= SEVEN) or (ace and low >= TEN) or (king and low >= QUEEN),
        pair or (ace and low >= FIVE) or low >= TEN or (suited and low == NINE),
        pair or ace or low >= SEVEN or (king and (FOUR <= low <= SIX or suited)),
    ]
    return [*ranges, True].index(True)
