"""Evaluator of the distance to optimal play in Kuhn poker, as in "Kuhn poker via RL" (BSM 2025).

The array `bet_probs` [situations, cards] = [4, 3] describes a policy: it holds the probability of a
bet or, when facing a bet, of a call. Its rows are the moves so far: none, check, check and bet, or
bet; rows 0 and 2 belong to the first player. Its columns are jack, queen and king. Kuhn poker has
one equilibrium for each alpha from 0 to 1/3, the first player's probability of a bet with the jack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import EXACT, Result
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.games.poker.table_dtypes import CALL, RAISE
from poker_rl.players.bots.kuhn_equilibrium_bot import (
    compute_equilibrium_bet_probs,
    find_situations_and_cards,
    is_kuhn,
)
from poker_rl.players.player import Player


def extract_bet_probs(tree: GameTree, policy: np.ndarray) -> np.ndarray:
    """Convert a policy [I, A] for I information sets and A actions to `bet_probs` [4, 3]."""
    bet_probs = np.empty((4, 3))
    bet_action = np.where(tree.legal_mask[:, RAISE], RAISE, CALL)
    bet_probs[find_situations_and_cards(tree.infoset_records)] = policy[
        np.arange(len(policy)), bet_action
    ]
    return bet_probs


def compute_squared_distances(bet_probs: np.ndarray) -> dict[str, float]:
    """Return the squared distances of the "first" and the "second" player to an equilibrium.

    The equilibrium is the one whose alpha is a third of the first player's probability of a bet
    with the king (BSM 2025). A distance is a sum over the player's rows of `bet_probs` [4, 3].
    """
    squared_errors = (bet_probs - compute_equilibrium_bet_probs(bet_probs[0, 2] / 3)) ** 2
    first, second = (float(squared_errors[rows].sum()) for rows in ([0, 2], [1, 3]))
    return {"first": first, "second": second}


@dataclass(kw_only=True)
class KuhnDistanceEvaluator(PlayerEvaluator):
    """Evaluator that also measures each seat's squared distance to an equilibrium.

    See `compute_squared_distances` for the choice of the equilibrium. Only the first seat is
    measured if `other_seats_player` plays in the second seat.
    """

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        if not is_kuhn(game):
            raise ConfigError(f"_target_: the evaluation is of Kuhn poker, not of {game.name}")
        super().__post_init__(game, load, seed)

    def evaluate_exactly(self, name: str, tree: GameTree, policy: np.ndarray) -> list[Result]:
        """Return exact results of a policy [I, A], with squared distances from an equilibrium."""
        distances = compute_squared_distances(extract_bet_probs(tree, policy))
        if self.other_seats_player is not None:
            del distances["second"]
        return super().evaluate_exactly(name, tree, policy) + [
            Result(name, f"distance_{position}", distance, None, "squared distance", EXACT)
            for position, distance in distances.items()
        ]
