"""Big 2: actions, the order of hands, rules, observations, and the statistics of random play."""

from __future__ import annotations

import numpy as np
from random_games import game

from poker_rl.games.tables import Tables

BIG2 = game("big2")


def drawn(legal: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random legal action a row, and how many there are, [B]."""
    row, action = divmod(np.flatnonzero(legal), legal.shape[1])  # faster than nonzero
    count = np.bincount(row, minlength=len(legal))
    return action[count.cumsum() - 1 - generator.integers(count)], count


def test_statistics_of_random_play():
    """As of the engine published with arXiv:1808.10442, four uniformly random players."""
    games, generator = 20_000, np.random.default_rng(1)
    tables = Tables(BIG2, games, seed=1)
    tables.deal()
    decisions = choices = forced = 0
    rows = np.arange(games)
    while len(rows):
        actions, count = drawn(tables.legal(rows), generator)
        decisions += len(rows)
        choices += count.sum()
        forced += (count == 1).sum()
        tables.step(actions, rows)
        rows = rows[tables.records["over"][rows] == 0]
    won = tables.payoffs()
    assert (won.sum(1) == 0).all()
    assert ((won > 0).sum(1) == 1).all()
    # Means of 4,000 games there with their tolerances.
    assert abs(decisions / games - 76.3) < 1.5
    assert abs(choices / decisions - 3.64) < 0.03
    assert abs(forced / decisions - 0.434) < 0.004
    assert abs(won.max(1).mean() - 10.03) < 0.3
