"""A bot that bids what a prize is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goofspiel import rules
from poker_rl.config import Probability, Refused
from poker_rl.games import Game
from poker_rl.players import Bot


@dataclass(kw_only=True)
class Matching(Bot):
    """Bids the card of the prize's own value; now and then any card that it holds.

    Raises:
        Refused: if the game is not Goofspiel.
    """

    deviation: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not rules:
            raise Refused(f"a bot of Goofspiel, which {game.name} is not")

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        legal = self.legal(records)
        rows = np.arange(len(records))
        prize = records["deck"][rows, records["round"]]  # [B]
        uniform = legal / legal.sum(1, keepdims=True)
        wish = np.zeros(legal.shape)
        wish[rows, prize] = 1
        wish = np.where(legal[rows, prize][:, None], wish, uniform)  # the card may be gone
        chances: np.ndarray = self.deviation * uniform + (1 - self.deviation) * wish
        return chances
