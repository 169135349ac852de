"""The best action of any player, always."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from poker_rl.config.classes import class_of
from poker_rl.games.game import Game
from poker_rl.players.player import Player, Unvalued, policy_at


class Greedy(Unvalued):
    """Takes the action that another player takes most often, the first of several.

    Actions that differ in size alone, as the raises of no-limit do, first count together: a raise
    is best where the player raises more often than it calls, though it shares that among many
    amounts. The best amount is then the most frequent one.
    """

    def __init__(self, game: Game, player: Player) -> None:
        self._game, self._player = game, player
        self._kind = np.unique(game.kinds, return_inverse=True)[1]  # of each action, [A]

    @property
    def instances(self) -> int:
        """Those of the other player."""
        return self._player.instances

    @property
    def blind_to_suits(self) -> bool:
        """As the other player."""
        return self._player.blind_to_suits

    def instance(self, k: int) -> Greedy:
        """One of the copies, alone."""
        return Greedy(self._game, self._player.instance(k))

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        chances = policy_at(self._game, self._player, records)
        of_kind = chances @ np.eye(self._kind.max() + 1)[self._kind]  # [B, kinds]
        among = self._kind == of_kind.argmax(1)[:, None]
        best: np.ndarray = np.where(among, chances, -1).argmax(1)[:, None] == np.arange(
            len(self._kind)
        )
        return best.astype(np.float64)

    def state(self) -> dict[str, Any]:
        """That of the other player."""
        return {"_target_": f"{__name__}.{type(self).__name__}", "player": self._player.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        kind = class_of(state["player"]["_target_"])
        return cls(game, kind.from_state(state["player"], game, device))
