"""Distribution of what the first player of a match wins in a hand, and how often it wins chips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import summarize_blocks
from poker_rl.evaluation.result import AGAINST, Result
from poker_rl.evaluation.variance_reduction.variance_reducers import average_by_deal
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables

PERCENTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class ReturnDistribution:
    """Histogram of what a player won in the hands of a match.

    Attributes:
        unit: the unit of returns, such as "big blind".
        returns: every amount that was won in a hand, ascending.
        hand_counts: number of hands with each of these returns.
    """

    player: str
    opponent: str
    unit: str
    returns: list[float]
    hand_counts: list[int]

    def compute_percentiles(self) -> list[float]:
        """Return the smallest returns that 5, 25, 50, 75 and 95 % of the hands do not exceed."""
        cumulative_share = np.cumsum(self.hand_counts) / sum(self.hand_counts)
        indices = np.searchsorted(cumulative_share, np.array(PERCENTILES) / 100 - 1e-12)
        return [self.returns[index] for index in indices]

    def list_results(self) -> list[Result]:
        """Return results such as `won_p5/call` for minimum, percentiles and maximum."""
        names = ["min", *(f"p{percent}" for percent in PERCENTILES), "max"]
        values = [self.returns[0], *self.compute_percentiles(), self.returns[-1]]
        opponent, kind = self.opponent, f"{AGAINST}{self.opponent}"
        return [
            Result(self.player, f"won_{name}/{opponent}", value, None, self.unit, kind)
            for name, value in zip(names, values, strict=True)
        ]


class ReturnCounter:
    """Observer of a duplicate match that collects what the first player wins in each hand."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._payoffs: list[np.ndarray] = []  # chips, [hands]
        self._rotations: list[np.ndarray] = []

    def add_hands(self, tables: Tables, rotation: np.ndarray) -> None:
        """Add finished hands [B], in which the first player has seat `rotation` [B]."""
        self._payoffs.append(tables.payoffs()[np.arange(len(rotation)), rotation])
        self._rotations.append(rotation)

    def compute_share_of_hands_won(self, player: str, opponent: str) -> Result:
        """Return the share of hands in which the player won chips, as the mean over deals."""
        is_won = (np.concatenate(self._payoffs) > 0).astype(float)
        blocks = average_by_deal(is_won, np.concatenate(self._rotations))
        measure, kind = f"hands_won/{opponent}", f"{AGAINST}{opponent}"
        return summarize_blocks(player, measure, blocks, "of hands", kind)

    def build_distribution(self, player: str, opponent: str) -> ReturnDistribution:
        """Return the histogram of the match."""
        chips, hand_counts = np.unique(np.concatenate(self._payoffs), return_counts=True)
        returns = (chips / self._game.unit_chips).tolist()
        return ReturnDistribution(player, opponent, self._game.unit, returns, hand_counts.tolist())
