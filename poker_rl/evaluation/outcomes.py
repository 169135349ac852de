"""How hands end for the first player of a match: how often it wins one, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poker_rl.evaluation.matches import half_width
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.reduction import means
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables

PERCENT = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Outcomes:
    """The hands of a player in a match."""

    hands_won: Measurement  # share of hands in which it won chips
    unit: str  # of results: big blind, point
    results: list[float]  # every result of a hand that there was, ascending
    hands: list[int]  # that ended so

    def percentiles(self) -> list[float]:
        """The results that 5, 25, 50, 75 and 95 of 100 hands are not above."""
        share = np.cumsum(self.hands) / sum(self.hands)
        places = np.searchsorted(share, np.array(PERCENT) / 100 - 1e-12)
        return [self.results[place] for place in places]


class OutcomeCount:
    """Collects what the first player of a duplicate match wins in each hand."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._won: list[np.ndarray] = []  # chips, [hands]
        self._rotation: list[np.ndarray] = []

    def add(self, tables: Tables, rotation: np.ndarray) -> None:
        """Count finished hands [B], in which the player has seat `rotation`, [B]."""
        self._won.append(tables.payoffs()[np.arange(len(rotation)), rotation])
        self._rotation.append(rotation)

    def outcomes(self, other: str) -> Outcomes:
        """Of the match against `other`."""
        won = np.concatenate(self._won)
        shares = means((won > 0).astype(float), np.concatenate(self._rotation))
        # The mean over deals, as of what is won; a deal of more seats has more hands.
        hands_won = Measurement(
            float(shares.mean()), half_width(shares), "of hands", f"against {other}"
        )
        chips, hands = np.unique(won, return_counts=True)
        results = (chips / self._game.unit_chips).tolist()
        return Outcomes(hands_won, self._game.unit, results, hands.tolist())


def table_of(rows: Sequence[tuple[str, str, Outcomes]]) -> list[list[str]]:
    """For the screen: of each player and opponent the percentiles of results."""
    head = ["player", "against", "least", *(f"{percent} %" for percent in PERCENT), "most"]
    found = [head]
    for player, other, ended in rows:
        told = [ended.results[0], *ended.percentiles(), ended.results[-1]]
        found.append([player, other, *(f"{result:g}" for result in told)])
    return found
