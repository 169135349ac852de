"""A table of probabilities for a game of poker for two that is too large to enumerate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.games.public.places import Places
from poker_rl.players.player import Unvalued


class PublicTablePlayer(Unvalued):
    """A policy that is looked up by board, betting line and hand, suits merged.

    Args:
        policy: [I, A] float16, in the order of the game's `Places`.
    """

    instances = 1
    blind_to_suits = True

    def __init__(self, game: Game, policy: np.ndarray) -> None:
        self.places, self.policy = places_of(game), policy
        wanted = self.places.rows, game.actions
        if policy.shape != wanted:
            raise ValueError(f"policy: {policy.shape} is not {wanted}")

    def instance(self, k: int) -> PublicTablePlayer:
        """Itself."""
        return self

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        rows = self.policy[self.places.of(records)].astype(np.float64)
        chances: np.ndarray = rows / rows.sum(1, keepdims=True)  # 16 bits add up to 1 nearly
        return chances

    def state(self) -> dict[str, Any]:
        """The table."""
        return {
            "_target_": "poker_rl.players.public_table.PublicTablePlayer",
            "policy": torch.from_numpy(self.policy),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        return cls(game, state["policy"].numpy())


def places_of(game: Game) -> Places:
    """The rows of a game's information sets, found once for each game.

    Raises:
        Refused: if its public tree cannot be walked.
    """
    found = _places.get(key := repr(game.state()))
    if found is None:
        _places.clear()  # that of a large game takes gigabytes, and there is one game at a time
        found = _places[key] = Places(game)
    return found


_places: dict[str, Places] = {}
