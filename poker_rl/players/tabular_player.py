"""Players whose action probabilities are in a table with a row for each information set."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from poker_rl.config.target_classes import get_class_path
from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.games.public.infoset_index import InfosetIndex
from poker_rl.players.player import Player


class TabularPlayer(Player):
    """Player with a table of action probabilities, for games that are small enough to enumerate.

    Args:
        policy: the probabilities of A actions at all I information sets, [I, A], in the order of
            the information sets in `GameTree`.
    """

    def __init__(self, game: Game, policy: np.ndarray) -> None:
        self.tree, self.policy = get_tree(game), policy
        if policy.shape != self.tree.legal_mask.shape:
            raise ValueError(f"policy: {policy.shape} is not {self.tree.legal_mask.shape}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        if records is self.tree.infoset_records:  # in the order of the rows
            return self.policy
        return np.asarray(self.policy[self.tree.lookup_infosets(records)])

    def to_dict(self) -> dict[str, Any]:
        policy = torch.from_numpy(self.policy.copy())
        return {"_target_": get_class_path(self), "policy": policy}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        return cls(game, state["policy"].numpy())


class PublicTabularPlayer(TabularPlayer):
    """Tabular player for heads-up poker games that are too large to enumerate.

    The table has a row for each combination of a board, a betting line (a sequence of actions) and
    a hand. Information sets that differ only by a permutation of suits share a row.

    Args:
        policy: the probabilities of A actions in I rows, [I, A] float16, in the order of the game's
            `InfosetIndex`.
    """

    is_suit_invariant = True

    def __init__(self, game: Game, policy: np.ndarray) -> None:
        self.infoset_index, self.policy = get_or_build_infoset_index(game), policy
        shape = self.infoset_index.row_count, game.action_count
        if policy.shape != shape:
            raise ValueError(f"policy: {policy.shape} is not {shape}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        rows = self.policy[self.infoset_index.lookup_rows(records)].astype(np.float64)
        return np.asarray(rows / rows.sum(1, keepdims=True))  # 16-bit rows do not sum to exactly 1


def get_or_build_infoset_index(game: Game) -> InfosetIndex:
    """Return the `InfosetIndex` of a game; the cache holds only the newest index."""
    infoset_index = _cached_infoset_index.get(key := repr(game.to_dict()))
    if infoset_index is None:
        _cached_infoset_index.clear()  # frees memory first; a large game's index takes gigabytes
        infoset_index = _cached_infoset_index[key] = InfosetIndex(game)
    return infoset_index


_cached_infoset_index: dict[str, InfosetIndex] = {}
