"""Policies of Kuhn poker beside the equilibria, and their distance to optimal.

A policy is given by `bet_probs` [situations, cards] = [4, 3]: the probability of a bet, or of a
call when facing one. There is an equilibrium for each alpha from 0 to 1/3, the first player's
probability of a bet with the jack.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from poker_rl.evaluation.result import EXACT, Result
from poker_rl.games.game_tree import GameTree
from poker_rl.games.poker.betting import CALL, RAISE
from poker_rl.players.bots.kuhn_equilibrium_bot import compute_equilibrium_bet_probs

KUHN_CARDS = ("J", "Q", "K")
KUHN_SITUATIONS = ("first move", "after a check", "after check-bet", "after a bet")
SITUATION_LINES = ((), (CALL,), (CALL, RAISE), (RAISE,))  # actions so far in each situation
FIRST_PLAYER_SITUATIONS, SECOND_PLAYER_SITUATIONS = [0, 2], [1, 3]


@lru_cache(maxsize=8)
def _compute_cell_of_infoset(tree: GameTree) -> np.ndarray:
    """Return the index of each information set in the flattened `bet_probs`, [12]."""
    lines = [tuple(record["line"][: record["moves"]]) for record in tree.infoset_records]
    cards = tree.infoset_records["deck"][np.arange(tree.infoset_count), tree.infoset_seat]
    situation = np.array([SITUATION_LINES.index(line) for line in lines])
    cell: np.ndarray = situation * len(KUHN_CARDS) + cards
    return cell


def extract_bet_probs(tree: GameTree, policy: np.ndarray) -> np.ndarray:
    """Return the `bet_probs` [..., 4, 3] of policies [..., I, A]."""
    # The last legal action is a bet, or a call when facing one.
    bet_or_call = RAISE - np.argmax(tree.legal_mask[:, ::-1], axis=1)
    infoset_bet_probs = policy[..., np.arange(tree.infoset_count), bet_or_call]
    bet_probs = np.empty_like(infoset_bet_probs)
    bet_probs[..., _compute_cell_of_infoset(tree)] = infoset_bet_probs
    return bet_probs.reshape(*infoset_bet_probs.shape[:-1], len(SITUATION_LINES), len(KUHN_CARDS))


def compute_equilibrium_at_alpha(bet_probs: np.ndarray) -> np.ndarray:
    """Return the equilibrium whose alpha is the policy's first bet with the jack, at most 1/3."""
    return compute_equilibrium_bet_probs(np.clip(bet_probs[..., 0, 0], 0, 1 / 3))


def compute_squared_distances(bet_probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances [...] of the first and of the second player to optimal.

    Optimal is the equilibrium whose alpha is a third of the first player's probability of a bet
    with the king (BSM 2025).
    """
    optimum = compute_equilibrium_bet_probs(bet_probs[..., 0, 2] / 3)
    squared_error = (bet_probs - optimum) ** 2  # [..., 4, 3]
    return (
        squared_error[..., FIRST_PLAYER_SITUATIONS, :].sum((-2, -1)),
        squared_error[..., SECOND_PLAYER_SITUATIONS, :].sum((-2, -1)),
    )


def list_bet_prob_results(player: str, bet_probs: np.ndarray) -> list[Result]:
    """Return results for the bets of a policy [4, 3] and of the equilibrium at its alpha."""
    equilibrium_kind = f"equilibrium at alpha {min(bet_probs[0, 0], 1 / 3):.3f}"
    results = []
    for i, situation in enumerate(KUHN_SITUATIONS):
        rows = ((bet_probs, EXACT), (compute_equilibrium_at_alpha(bet_probs), equilibrium_kind))
        results += [
            Result(player, f"bet_with_{card}/{situation}", float(prob), None, "", kind)
            for probs, kind in rows
            for card, prob in zip(KUHN_CARDS, probs[i], strict=True)
        ]
    return results
