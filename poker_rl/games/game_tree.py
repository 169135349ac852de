"""The tree of a game small enough to enumerate, with its sequence form and look-up methods."""

from __future__ import annotations

from functools import cached_property

import numba
import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.sequence_form_builder import build_sequence_form
from poker_rl.games.tables import tables_from_records
from poker_rl.games.tree_nodes import TreeNodes


class GameTree(TreeNodes):
    """The enumerated nodes of a game with the game's sequence form.

    Threads process parts of the information sets in parallel; see `sequence_form`. A small tree has
    one part for each seat, a large tree one for each private hand of each seat.

    Attributes:
        part_of_deal: for each seat and deal, the part with the information sets that the seat may
            reach in this deal, [seats, D]
    """

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.sequence_form, self.part_of_deal = build_sequence_form(self)

    @property
    def thread_count(self) -> int:
        """Number of threads for a pass over the tree; 1 for a small tree."""
        is_large = len(self.sequence_form.first_run_of_part) > len(self.first_infoset_of_seat)
        return numba.get_num_threads() if is_large else 1

    @cached_property
    def infoset_names(self) -> list[str]:
        """The name of each information set, [I]."""
        return [self.game.infoset_name(record) for record in self.infoset_records]

    @cached_property
    def first_child(self) -> np.ndarray:
        """First child of each node, N if it has none, [N] int32; siblings are adjacent."""
        first_child = np.full(len(self.parent), len(self.parent), np.int32)
        children = np.arange(self.deal_count, len(self.parent))
        first_child[self.parent[children][::-1]] = children[::-1]
        return first_child

    def lookup_infosets(self, records: np.ndarray) -> np.ndarray:
        """Return the information set of the seat to act at each table, [B] int64."""
        keys = tables_from_records(self.game, records).infoset_keys()
        sorted_index = np.searchsorted(self._infoset_keys, keys, sorter=self._key_order)
        infosets = self._key_order[np.minimum(sorted_index, self.infoset_count - 1)]
        if (self._infoset_keys[infosets] != keys).any():
            raise KeyError("a table's information set is not in this tree")
        return infosets

    def lookup_betting_nodes(self, records: np.ndarray) -> np.ndarray:
        """Return the index of the betting line that led to each table, [B] int64."""
        nodes: np.ndarray = self.betting_node[self.lookup_infosets(records)]
        return nodes

    def build_uniform_policy(self) -> np.ndarray:
        """Return the uniform policy over the legal actions, [I, A]."""
        policy: np.ndarray = self.legal_mask / self.legal_mask.sum(1, keepdims=True)
        return policy

    def normalize_policy(self, weights: np.ndarray) -> np.ndarray:
        """Return the policy proportional to weights [I, A], uniform where all weights are 0."""
        total = weights.sum(1, keepdims=True)
        return np.where(
            total > 0, weights / np.where(total > 0, total, 1), self.build_uniform_policy()
        )


_cached_trees: dict[str, GameTree] = {}
MAX_CACHED_TREES = 4  # a tree may take `MAX_BYTES` of memory


def get_tree(game: Game) -> GameTree:
    """Return the game's tree; the `MAX_CACHED_TREES` trees that were built last are cached.

    Raises:
        ConfigError: if the game cannot be enumerated, see `TreeNodes`.
    """
    key = repr(game.to_dict())
    if key not in _cached_trees:
        _cached_trees[key] = GameTree(game)
        for oldest in list(_cached_trees)[:-MAX_CACHED_TREES]:
            del _cached_trees[oldest]
    return _cached_trees[key]
