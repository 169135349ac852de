"""Elo ratings of players, and the share of the results that such ratings can explain.

Elo ratings are maximum-likelihood estimates in the model of Bradley and Terry (1952). The part of
the results that ratings explain is the gradient component of HodgeRank (Jiang, Lim, Yao and Ye
2011). The rest is chance and cycles, as in rock, paper, scissors.
"""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np

ELO_PER_LOG_ODDS = 400 / log(10)  # a rating higher by 400 wins ten of eleven deals
MAX_NEWTON_STEPS = 1000
CONVERGENCE_TOLERANCE = 1e-10


def fit_elo(
    pairs: np.ndarray, scores: np.ndarray, player_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fit Elo ratings to the scores of all pairs by maximum likelihood, with Newton's method.

    With ratings r, player i wins a deal against player j with probability
    1 / (1 + 10 ** ((r_j - r_i) / 400)). A draw is added to the scores of each pair, so that even a
    player who wins every deal has a finite rating.

    Args:
        pairs: indices of the players of each pair, [P, 2].
        scores: score of each pair's first player in every deal, [P, deals]: 1 for a win, 1/2 for
            a draw, 0 for a loss.

    Returns:
        Ratings [players] with mean 0, and influences of the deals and of the added draw on them,
        [players, deals + 1]. To first order, the error of a rating is the mean of its influences,
        so both have the same confidence interval.
    """
    design = np.zeros((len(pairs), player_count))
    rows = np.arange(len(pairs))
    design[rows, pairs[:, 0]], design[rows, pairs[:, 1]] = 1, -1
    scores = np.column_stack([scores, np.full(len(scores), 0.5)])
    mean_scores = scores.mean(1)
    log_odds = np.zeros(player_count)
    for _ in range(MAX_NEWTON_STEPS):
        win_probs = 1 / (1 + np.exp(-(design @ log_odds)))
        inverse = np.linalg.pinv(design.T @ (design * (win_probs * (1 - win_probs))[:, None]))
        step = inverse @ (design.T @ (mean_scores - win_probs))
        log_odds += step / max(1.0, float(np.ptp(step)))
        if np.abs(step).max() < CONVERGENCE_TOLERANCE:
            break
    influences = inverse @ (design.T @ (scores - scores.mean(1, keepdims=True)))
    return ELO_PER_LOG_ODDS * (log_odds - log_odds.mean()), ELO_PER_LOG_ODDS * influences


def compute_explained_variance(design: np.ndarray, results: np.ndarray) -> float:
    """Return the share of the sum of squared results that differences of ratings explain.

    Args:
        design: a row for each result, with 1 in the column of the measured player and weights that
            sum to -1 in the columns of its opponents, [results, players].
        results: what the measured players won, [results].
    """
    total = float(results @ results)
    if total == 0:
        return 1.0
    ratings = np.linalg.lstsq(design, results, rcond=None)[0]
    residuals = results - design @ ratings
    return 1 - float(residuals @ residuals) / total


def find_largest_cycle(winnings: np.ndarray, half_width: np.ndarray) -> tuple[int, ...]:
    """Return three players of whom each beats the next and the last beats the first; () if none.

    `winnings` [players, players] is what the player of the row won from the player of the column. A
    player beats another if this exceeds the half-width of its interval. Of several cycles, the one
    whose smallest winnings are largest is returned.
    """
    significant_winnings = np.where(winnings > half_width, winnings, 0.0)
    best_margin, best_cycle = 0.0, tuple[int, ...]()
    for a, b, c in permutations(range(len(winnings)), 3):
        if a < min(b, c):  # visit only one rotation of each cycle
            wins = [significant_winnings[pair] for pair in ((a, b), (b, c), (c, a))]
            if min(wins) > best_margin:
                best_margin, best_cycle = float(min(wins)), (a, b, c)
    return best_cycle
