"""Player that looks up its probabilities in a table with a row for each information set."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.players.player import Player, get_class_path


class TabularPlayer(Player):
    """Player with a table of probabilities, for games that are small enough to enumerate.

    Args:
        policy: the probabilities [I, A], in the order of the information sets in `GameTree`.
    """

    def __init__(self, game: Game, policy: np.ndarray) -> None:
        self.tree, self.policy = get_tree(game), policy
        if policy.shape != self.tree.legal_mask.shape:
            raise ValueError(f"policy: {policy.shape} is not {self.tree.legal_mask.shape}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        if records is self.tree.infoset_records:  # in the order of the policy
            return self.policy
        rows: np.ndarray = self.policy[self.tree.lookup_infosets(records)]
        return rows

    def to_dict(self) -> dict[str, Any]:
        policy = torch.from_numpy(self.policy.copy())
        return {"_target_": get_class_path(self), "policy": policy}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        return cls(game, state["policy"].numpy())
