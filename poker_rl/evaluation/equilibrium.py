"""Policies of Kuhn poker beside the equilibria: the table, and the distance to optimal.

A policy is the probability of a bet, or of a call when facing one, in each of four situations
with each of three cards: `bets`, [situations, cards] = [4, 3], as in `players.equilibrium`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from poker_rl.games.poker.betting import CALL, RAISE
from poker_rl.games.tree import Tree
from poker_rl.players.equilibrium import optimal

CARDS = ("J", "Q", "K")
SITUATIONS = ("first move", "after a check", "after check-bet", "after a bet")
LINES = ((), (CALL,), (CALL, RAISE), (RAISE,))
FIRST, SECOND = [0, 2], [1, 3]  # the situations of each player


@lru_cache(maxsize=8)
def places(tree: Tree) -> np.ndarray:
    """Where each information set of Kuhn poker stands in `bets` read row by row, [12]."""
    lines = [tuple(record["line"][: record["moves"]]) for record in tree.records]
    cards = tree.records["deck"][np.arange(tree.size), tree.owner]
    row = np.array([LINES.index(line) for line in lines])
    place: np.ndarray = row * len(CARDS) + cards
    return place


def bets(tree: Tree, policy: np.ndarray) -> np.ndarray:
    """Probability of a bet or a call in policies [..., I, A] of Kuhn poker, [..., 4, 3]."""
    furthest = RAISE - np.argmax(tree.legal[:, ::-1], axis=1)  # bet, or call when facing a bet
    taken = policy[..., np.arange(tree.size), furthest]
    out = np.empty_like(taken)
    out[..., places(tree)] = taken
    return out.reshape(*taken.shape[:-1], len(LINES), len(CARDS))


def member(bets: np.ndarray) -> np.ndarray:
    """The equilibrium at a policy's own alpha, its bet with the jack up to 1/3, [..., 4, 3]."""
    return optimal(np.clip(bets[..., 0, 0], 0, 1 / 3))


def distance(bets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance to optimal of each player's six probabilities, [...] and [...].

    The first player's optimum is the equilibrium at a third of his own bet with the king (BSM
    2025).
    """
    error = (bets - optimal(bets[..., 0, 2] / 3)) ** 2  # [..., 4, 3]
    return error[..., FIRST, :].sum((-2, -1)), error[..., SECOND, :].sum((-2, -1))
