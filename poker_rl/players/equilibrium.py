"""The equilibria of Kuhn poker as players (Kuhn 1950, "A simplified two-person poker")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.settings import Range, Refused
from poker_rl.games.game import Game
from poker_rl.games.poker.betting import CALL, FOLD, RAISE
from poker_rl.games.tree import Tree, tree_of
from poker_rl.players.bots import Bot

FIRST_MOVE, AFTER_CHECK, AFTER_CHECK_BET, AFTER_BET = range(4)


@dataclass(kw_only=True)
class Equilibrium(Bot):
    """One of Kuhn poker's equilibria; `alpha` is the first player's chance to bet with the jack.

    Raises:
        Refused: if the game is not Kuhn poker.
    """

    alpha: Annotated[float, Range(0, 1 / 3)]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.deal_count() != 6 or not is_kuhn(tree_of(game)):
            raise Refused(f"known only of Kuhn poker, not of {game.name}")

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        rows = np.arange(len(records))
        moves = records["moves"]
        opening = np.where(records["line"][:, 0] == RAISE, AFTER_BET, AFTER_CHECK)
        situation = np.choose(moves, [FIRST_MOVE, opening, AFTER_CHECK_BET])  # [B]
        card = records["deck"][rows, records["to_act"]]  # [B]
        bet = optimal(self.alpha)[situation, card]  # [B]
        facing = self.legal(records)[:, FOLD]
        out = np.zeros((len(records), RAISE + 1))
        out[rows, np.where(facing, CALL, RAISE)] = bet
        out[rows, np.where(facing, FOLD, CALL)] = 1 - bet
        return out


def optimal(alpha: float | np.ndarray) -> np.ndarray:
    """Chance of a bet, or of a call when facing one, [..., situations, cards] = [..., 4, 3]."""
    a = np.asarray(alpha, float)[..., None, None]
    start = np.array([[0, 0, 0], [1 / 3, 0, 1], [0, 1 / 3, 1], [0, 1 / 3, 1]])
    slope = np.array([[1, 0, 3], [0, 0, 0], [0, 1, 0], [0, 0, 0]])
    bet: np.ndarray = start + a * slope
    return bet


def is_kuhn(tree: Tree) -> bool:
    """Whether a game is Kuhn poker, by its information sets and its payoffs in antes."""
    game = tree.game
    won = np.unique(tree.payoffs[tree.seat < 0, 0] / game.unit_chips)
    sizes = (tree.deals, tree.size, tree.node_count, game.seats, game.actions)
    return sizes == (6, 12, 4, 2, RAISE + 1) and np.array_equal(won, [-2, -1, 1, 2])
