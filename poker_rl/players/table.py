"""A table of probabilities as a player."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.games.tree import tree_of
from poker_rl.players.player import Unvalued


class TablePlayer(Unvalued):
    """A policy that is looked up: a row of probabilities for each information set.

    Args:
        policy: [I, A], in the order of the game's tree.
    """

    instances = 1
    blind_to_suits = False

    def __init__(self, game: Game, policy: np.ndarray) -> None:
        self.tree, self.policy = tree_of(game), policy
        if policy.shape != self.tree.legal.shape:
            raise ValueError(f"policy: {policy.shape} is not {self.tree.legal.shape}")

    def instance(self, k: int) -> TablePlayer:
        """Itself."""
        return self

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        if records is self.tree.records:  # in the order of the table already
            return self.policy
        rows: np.ndarray = self.policy[self.tree.infoset_of(records)]
        return rows

    def state(self) -> dict[str, Any]:
        """The table."""
        return {
            "_target_": "poker_rl.players.table.TablePlayer",
            "policy": torch.from_numpy(self.policy.copy()),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        return cls(game, state["policy"].numpy())
