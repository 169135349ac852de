"""Wrapper that makes any player greedy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from poker_rl.games.game import Game
from poker_rl.players.player import (
    Player,
    PlayerWrapper,
    compute_checked_probs,
    player_from_dict,
)


class GreedyWrapper(PlayerWrapper):
    """Player that always takes the most probable action of another player, the wrapped player.

    The probabilities of actions that differ only in size, such as no-limit raises, are first added
    up: if all raises together are more probable than a call, the most probable raise is taken. Of
    equally probable actions the first is taken.
    """

    def __init__(self, game: Game, player: Player) -> None:
        super().__init__(game, player)
        self._action_type = np.unique(game.action_types, return_inverse=True)[1]  # [A]

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        probs = compute_checked_probs(self._game, self._player, records)
        probs_of_type = probs @ np.eye(self._action_type.max() + 1)[self._action_type]  # [B, types]
        is_best_type = self._action_type == probs_of_type.argmax(1)[:, None]
        best_action = np.where(is_best_type, probs, -1).argmax(1)
        is_best_action: np.ndarray = best_action[:, None] == np.arange(probs.shape[1])
        return is_best_action.astype(np.float64)

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        return cls(game, player_from_dict(state["player"], game, device))
