"""Bot that plays an equilibrium of Kuhn poker (Kuhn 1950, "A simplified two-person poker")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.input_checks import ConfigError, Range
from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.players.bots.bot import Bot

FIRST_MOVE, AFTER_CHECK, AFTER_CHECK_BET, AFTER_BET = range(4)


@dataclass(kw_only=True)
class KuhnEquilibriumBot(Bot):
    """Bot that plays the equilibrium whose first player bets a jack with probability `alpha`."""

    alpha: Annotated[float, Range(0, 1 / 3)]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not is_kuhn(game):
            raise ConfigError(f"known only of Kuhn poker, not of {game.name}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        indices = find_situations_and_cards(records)
        bet_prob = compute_equilibrium_bet_probs(self.alpha)[indices]  # [B]
        rows, facing_bet = np.arange(len(records)), self.legal_mask(records)[:, FOLD]
        out = np.zeros((len(records), RAISE + 1))
        out[rows, np.where(facing_bet, CALL, RAISE)] = bet_prob
        out[rows, np.where(facing_bet, FOLD, CALL)] = 1 - bet_prob
        return out


def find_situations_and_cards(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the situations of the seats to act, such as `AFTER_BET`, and their cards, [B] each."""
    second_move = np.where(records["line"][:, 0] == RAISE, AFTER_BET, AFTER_CHECK)
    situation = np.choose(records["moves"], [FIRST_MOVE, second_move, AFTER_CHECK_BET])
    return situation, records["deck"][np.arange(len(records)), records["to_act"]]


def compute_equilibrium_bet_probs(alpha: float | np.ndarray) -> np.ndarray:
    """Return the probabilities to bet or to call a bet, [..., situations, cards].

    The leading axes are those of `alpha`. A situation is one of `FIRST_MOVE` to `AFTER_BET`; the
    cards are jack, queen and king.
    """
    a = np.asarray(alpha, float)[..., None, None]
    start = np.array([[0, 0, 0], [1 / 3, 0, 1], [0, 1 / 3, 1], [0, 1 / 3, 1]])
    slope = np.array([[1, 0, 3], [0, 0, 0], [0, 1, 0], [0, 0, 0]])
    return np.asarray(start + a * slope)


def is_kuhn(game: Game) -> bool:
    """Return whether a game is Kuhn poker, judged by the size of its tree and its payoffs."""
    if game.count_deals() != 6:
        return False
    tree = get_tree(game)
    payoffs = np.unique(tree.node_payoffs[tree.seat < 0, 0] / game.unit_chips)
    sizes = game.seats, game.action_count, tree.infoset_count, tree.betting_node_count
    return sizes == (2, RAISE + 1, 12, 4) and np.array_equal(payoffs, [-2, -1, 1, 2])
