"""One number a player for a table of results: Elo ratings, and how much of the table they explain.

Ratings by maximum likelihood are those of Bradley and Terry (1952), fitted by Newton's method. What
a rating explains is the gradient part of HodgeRank (Jiang, Lim, Yao and Ye 2011); what it leaves is
cycles, where rock beats scissors, scissors beat paper and paper beats rock, and chance.
"""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np

ELO = 400 / log(10)  # points in a unit of log odds: 400 points more win ten of eleven
ROUNDS = 1000  # of Newton's method, each of which moves log odds by at most 1
CLOSE = 1e-10


def elo(pairs: np.ndarray, scores: np.ndarray, players: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratings that make the scores of all pairs most likely.

    The chance that i wins from j is 1 / (1 + 10 ** ((r_j - r_i) / 400)). Each pair is given one
    drawn deal more than was played, so that whoever wins every deal has a finite rating.

    Args:
        pairs: who met whom, [P, 2] by number.
        scores: of the first of each pair in every deal: 1 won, 1/2 drawn, 0 lost, [P, deals].
        players: how many there are.

    Returns:
        ratings [players], whose mean is 0, and influences [players, deals + 1], whose mean is 0
        too: to first order a rating is off by the mean of the influences of its deals, which deals
        drawn anew would change. So the interval of a rating is that of the mean of its influences.
        The last is that of the drawn deal, so that who won every deal has an interval as well.
    """
    met = np.zeros((len(pairs), players))
    rows = np.arange(len(pairs))
    met[rows, pairs[:, 0]], met[rows, pairs[:, 1]] = 1, -1
    scores = np.column_stack([scores, np.full(len(scores), 0.5)])
    mean = scores.mean(1)
    rating = np.zeros(players)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-(met @ rating)))
        inverse = np.linalg.pinv(met.T @ (met * (chance * (1 - chance))[:, None]))
        step = inverse @ (met.T @ (mean - chance))
        rating += step / max(1.0, float(np.ptp(step)))
        if np.abs(step).max() < CLOSE:
            break
    influences = inverse @ (met.T @ (scores - scores.mean(1, keepdims=True)))
    return ELO * (rating - rating.mean()), ELO * influences


def explained(seated: np.ndarray, won: np.ndarray) -> float:
    """The share of the results that differences of one rating a player explain, by least squares.

    1 means that each result is what a rating says, 0 that ratings say nothing of the results.

    Args:
        seated: of each result a row, 1 at the player whose result it is and -1 shared by its
            opponents, [results, players].
        won: the results, [results].
    """
    total = float(won @ won)
    if total == 0:
        return 1.0
    rating = np.linalg.lstsq(seated, won, rcond=None)[0]
    left = won - seated @ rating
    return 1 - float(left @ left) / total


def largest_cycle(won: np.ndarray, half_width: np.ndarray) -> tuple[int, int, int] | None:
    """Three players of whom the first beats the second, the second the third, the third the first.

    Of all such cycles, each win larger than its interval, the one whose smallest win is largest;
    None if there is none. Where every win is larger than its interval, a longer circle always holds
    one of three.

    Args:
        won: what the row's player wins from the column's, [players, players].
        half_width: of its interval.
    """
    sure = np.where(won > half_width, won, 0.0)
    best, found = 0.0, None
    for a, b, c in permutations(range(len(won)), 3):
        if a < min(b, c):  # each circle once
            smallest = float(min(sure[a, b], sure[b, c], sure[c, a]))
            if smallest > best:
                best, found = smallest, (a, b, c)
    return found
