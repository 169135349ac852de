"""Bot that bids the value of the prize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goofspiel import rules
from poker_rl.config import ConfigError, Probability
from poker_rl.games import Game
from poker_rl.players import Bot


@dataclass(kw_only=True)
class MatchingBot(Bot):
    """Bot that bids the card of the prize's value, or any card with probability `deviation_prob`.

    Raises:
        ConfigError: if the game is not Goofspiel.
    """

    deviation_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not rules:
            raise ConfigError(f"a bot of Goofspiel, not of {game.name}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probability of each action, [B, actions], at B tables with `records` [B]."""
        legal_mask, rows = self.legal_mask(records), np.arange(len(records))
        prize = records["deck"][rows, records["round"]]  # [B]
        uniform = legal_mask / legal_mask.sum(1, keepdims=True)
        is_prize = prize[:, None] == np.arange(legal_mask.shape[1])
        # If the card of the prize's value is gone after a deviation, bid any other card.
        plan = np.where(legal_mask[rows, prize][:, None], is_prize, uniform)
        probs: np.ndarray = self.deviation_prob * uniform + (1 - self.deviation_prob) * plan
        return probs
