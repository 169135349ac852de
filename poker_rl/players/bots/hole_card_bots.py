"""Bots that play every street by their two hole cards alone, whatever the board is.

B. Chen's points for two hole cards are from L. Krieger, Hold'em Excellence (2000). D. Sklansky,
Hold'em Poker (1976), has five nested ranges of starting hands:

    very high   AA-JJ, AK                                                      3.02 % of all hands
    tight       AA-99, AK-AQ                                                   5.13 %
    average     AA-77, AK-AT, KQ                                               9.65 %
    loose       AA-22, AK-A5, any two of ten or higher, K9s-T9s               25.19 %
    very loose  AA-22, AK-A2, any two of seven or higher, K6-K4, K3s-K2s      49.92 %

How the bots act on these points and ranges is our choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError, Probability
from poker_rl.games.cards import MAX_SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import MAX_DECK_SIZE
from poker_rl.players.bots.fold_call_bet_bot import (
    FoldCallBetBot,
    get_legal_choice_mask,
    tabulate_by_hole_cards,
    to_one_hot_choices,
)
from poker_rl.players.player import mix_with_uniform

POSITION_COUNT = 3  # early, middle, late
VERY_HIGH, TIGHT, AVERAGE, LOOSE, VERY_LOOSE, OUTSIDE_RANGES = range(6)
FOUR, FIVE, SIX, SEVEN, EIGHT, NINE, TEN, JACK, QUEEN, KING, ACE = range(2, 13)


@dataclass(kw_only=True)
class ChenBot(FoldCallBetBot):
    """Bot that plays every street by the points of its hole cards, with random deviations.

    It bets with at least `bet_threshold` Chen points, and calls with at least the value of
    `call_thresholds` for its position: early, middle or late. The positions are thirds of the
    seats, from the left of the button (early) to the button (late). With probability
    `deviation_prob` the bot takes a uniformly random legal choice instead.
    """

    bet_threshold: int
    call_thresholds: list[int]
    deviation_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if len(self.call_thresholds) != POSITION_COUNT:
            problem = f"{self.call_thresholds} has not three values: early, middle, late position"
            raise ConfigError(f"call_thresholds: {problem}")
        self._points = tabulate_by_hole_cards(compute_chen_points)

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        points = self._points[tuple(self.get_seen_cards_and_board_count(records)[0][:, :2].T)]
        is_call = points >= np.array(self.call_thresholds)[self.classify_position(records)]
        planned_probs = to_one_hot_choices(points >= self.bet_threshold, is_call)
        legal_choices = get_legal_choice_mask(legal_mask)
        return mix_with_uniform(planned_probs, legal_choices, self.deviation_prob)

    def classify_position(self, records: np.ndarray) -> np.ndarray:
        """Return the position of each seat to act, [B]: 0 early, 1 middle, 2 late."""
        button = self.build_tables(records).count_seats() - 1
        position: np.ndarray = POSITION_COUNT * records["to_act"] // button
        return position.clip(max=POSITION_COUNT - 1)


def compute_chen_points(first: int, second: int) -> int:
    """Return Chen's points for two cards, from -1 to 20 (two aces)."""
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


def compute_chen_percentiles() -> np.ndarray:
    """Return for each pair of cards the share of all hole cards with fewer Chen points, [52, 52].

    Hole cards with equally many points count half.
    """
    points = tabulate_by_hole_cards(compute_chen_points)
    sorted_points = np.sort(points[np.triu_indices(MAX_DECK_SIZE, 1)])
    lower, not_higher = (np.searchsorted(sorted_points, points, side) for side in ("left", "right"))
    return np.asarray((lower + not_higher) / 2 / len(sorted_points))


@dataclass(kw_only=True)
class SklanskyBot(FoldCallBetBot):
    """Bot that bets very high and tight hands, and calls with hands of looser ranges.

    The ranges are in the module's docstring. The bot bets hands of the average range with
    probability `average_range_bet_prob`, and else calls. It calls with very loose hands only while
    the street has at most one bet, the big blind included. It folds all hands outside the ranges.
    """

    average_range_bet_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._ranges = tabulate_by_hole_cards(find_tightest_sklansky_range)
        bet_prob = self.average_range_bet_prob
        call, fold = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
        bet, average = [0.0, 0.0, 1.0], [0.0, 1 - bet_prob, bet_prob]
        usual_plan = [bet, bet, average, call, call, fold]
        facing_more = [bet, bet, average, call, fold, fold]
        # The axes are: whether the street has more than one bet (0 or 1), the range, the choice.
        self._choice_probs = np.array([usual_plan, facing_more])

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        range_index = self._ranges[tuple(self.get_seen_cards_and_board_count(records)[0][:, :2].T)]
        has_more_bets = (records["raises"] > 1).astype(np.int64)
        return np.asarray(self._choice_probs[has_more_bets, range_index])


def find_tightest_sklansky_range(first: int, second: int) -> int:
    """Return the tightest range that contains two hole cards, or `OUTSIDE_RANGES`."""
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
