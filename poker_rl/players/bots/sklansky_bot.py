"""Bot that plays five nested ranges of starting hands (D. Sklansky, Hold'em Poker, 1976).

    very high   AA-JJ, AK                                                      3.02 % of all hands
    tight       AA-99, AK-AQ                                                   5.13 %
    average     AA-77, AK-AT, KQ                                               9.65 %
    loose       AA-22, AK-A5, any two of ten or higher, K9s-T9s               25.19 %
    very loose  AA-22, AK-A2, any two of seven or higher, K6-K4, K3s-K2s      49.92 %

It bets very high and tight hands, randomly bets or calls with average hands, and calls with loose
hands. With very loose hands it calls while the street has at most one bet, the big blind included.
The choices for each range are ours, and the same on every street.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.validation import Probability
from poker_rl.games.cards import MAX_SUITS
from poker_rl.games.game import Game
from poker_rl.players.bots.holdem_bot import HoldemBot, get_hole_cards, tabulate_holdings

VERY_HIGH, TIGHT, AVERAGE, LOOSE, VERY_LOOSE, OUTSIDE_RANGES = range(6)
FOUR, FIVE, SIX, SEVEN, EIGHT, NINE, TEN, JACK, QUEEN, KING, ACE = range(2, 13)


@dataclass(kw_only=True)
class SklanskyBot(HoldemBot):
    """Bot that bets strong hands, calls with hands of looser ranges and folds the rest.

    It bets a hand of the average range with probability `average_range_bet_prob` and else calls.
    """

    average_range_bet_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._ranges = tabulate_holdings(find_range)
        bet_prob = self.average_range_bet_prob
        call, fold = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
        bet, average = [0.0, 0.0, 1.0], [0.0, 1 - bet_prob, bet_prob]
        usual_plan = [bet, bet, average, call, call, fold]
        facing_more = [bet, bet, average, call, fold, fold]
        # Axes: whether the street has more than one bet, the range, and the choice.
        self._choice_probs = np.array([usual_plan, facing_more])

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        range_index = self._ranges[tuple(get_hole_cards(records).T)]
        has_more_bets = (records["raises"] > 1).astype(np.int64)
        return np.asarray(self._choice_probs[has_more_bets, range_index])


def find_range(first: int, second: int) -> int:
    """Return the tightest range that contains the two cards, or `OUTSIDE_RANGES`."""
    low, high = sorted((first // MAX_SUITS, second // MAX_SUITS))
    pair, suited = low == high, first % MAX_SUITS == second % MAX_SUITS
    ace, king = high == ACE, high == KING
    ranges = [
        (pair and low >= JACK) or (ace and low >= KING),
        (pair and low >= NINE) or (ace and low >= QUEEN),
        (pair and low >= SEVEN) or (ace and low >= TEN) or (king and low >= QUEEN),
        pair or (ace and low >= FIVE) or low >= TEN or (suited and low == NINE),
        pair or ace or low >= SEVEN or (king and (FOUR <= low <= SIX or suited)),
    ]
    return [*ranges, True].index(True)
