"""The enumerated tree of a small game: all deals times all betting lines.

A betting line is a sequence of actions from the start of a hand. Nodes are in breadth-first order
in flat arrays. There are no chance nodes: each deal is a root, and all deals are equally likely.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numba
import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.sequence_form import build_sequence_form
from poker_rl.games.tables import Tables, tables_from_records

MAX_BYTES = 4 * 10**9  # limit on the memory for building a tree; most machines have this much
MAX_CACHED_TREES = 4  # only a few trees, since each may take gigabytes of memory


class GameTree:
    """The N nodes of an enumerated game, with I information sets and A actions.

    Attributes:
        parent: parent node, -1 at a root, [N] int32
        edge: i * A + a for the action a at the parent's information set i that leads to the node,
            -1 at a root, [N] int32
        seat: the seat to act, -1 where the hand is over, [N] int8
        infoset: information set of the seat to act, -1 where the hand is over, [N] int32
        node_payoffs: chips won by each seat where the hand is over, else 0, [N, seats] float64
        level_starts: index of the first node of each depth, and at the end N, [depths + 1]
        infoset_records: the record of one table in each information set, [I]
        infoset_seat: the seat to act at each information set, [I] int8
        betting_node: index of each information set's betting node (a betting line and the seat
            that acts after it), [I] int64; if actions are hidden, several lines may lead to an
            information set, and one of them is used
        legal_mask: action mask of each information set, [I, A] bool
        first_infoset_of_seat: first information set of each seat, and at the end I, [seats + 1];
            the information sets of a seat are adjacent and in the order of their depth
        sequence_form: the arrays for compiled passes over the tree, see `sequence_form`

    Raises:
        ConfigError: if building the tree would take more than `MAX_BYTES` of memory, if the game
            lacks the rule `infoset`, or if it has several definitions, betting lines that depend on
            the cards, or an information set that is reached after different numbers of moves.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        _check_enumerable(game)
        deals = game.list_deals()
        self.deal_count = len(deals)
        level_arrays = _enumerate_nodes(game, deals)
        self.level_starts = np.cumsum([0] + [len(level) for level in level_arrays["seat"]])
        arrays: dict[str, Any] = {
            name: _concatenate_records(level_arrays.pop(name)) for name in list(level_arrays)
        }
        owner = arrays["records"]["to_act"].astype(np.int8)
        order = np.argsort(owner, kind="stable")
        # The new index of each information set; index -1, which stands for none, stays -1.
        new_index = np.append(np.argsort(order), -1).astype(np.int32)
        self.parent = arrays["parent"].astype(np.int32)
        self.seat: np.ndarray = arrays["seat"]
        self.infoset: np.ndarray = new_index[arrays["infoset"]]
        parent_infoset, action = np.divmod(arrays["edge"], game.action_count)
        edge = new_index[parent_infoset] * game.action_count + action
        self.edge: np.ndarray = edge.astype(np.int32)
        self.node_payoffs: np.ndarray = arrays["payoffs"]
        self.infoset_seat = owner[order]
        self.infoset_records: np.ndarray = arrays.pop("records").take(order)
        self.legal_mask: np.ndarray = arrays["legal"][order]
        self.betting_node: np.ndarray = arrays["betting_node"][order]
        self.first_infoset_of_seat = np.searchsorted(self.infoset_seat, np.arange(game.seats + 1))
        self._infoset_keys = arrays["key"][order]
        self._key_order = np.argsort(self._infoset_keys)
        sorted_keys = self._infoset_keys[self._key_order]
        if (sorted_keys[1:] == sorted_keys[:-1]).any():
            problem = "has an information set that is reached after different numbers of moves"
            raise ConfigError(f"game: {game.name} {problem}, so it is not enumerated")
        self.sequence_form = build_sequence_form(self)

    @property
    def infoset_count(self) -> int:
        """Number of information sets, I."""
        return len(self.infoset_records)

    @property
    def betting_node_count(self) -> int:
        """Number of betting nodes: betting lines after which a seat acts."""
        return int(self.betting_node.max()) + 1

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
        """Return the information set of the seat to act at each table, [B] int64.

        Raise KeyError if an information set is not in this tree.
        """
        keys = tables_from_records(self.game, records).infoset_keys()
        sorted_index = np.searchsorted(self._infoset_keys, keys, sorter=self._key_order)
        infosets = self._key_order[np.minimum(sorted_index, self.infoset_count - 1)]
        if (self._infoset_keys[infosets] != keys).any():
            raise KeyError("a table's information set is not in this tree")
        return infosets

    def build_uniform_policy(self) -> np.ndarray:
        """Return the uniform policy over the legal actions, [I, A]."""
        return np.asarray(self.legal_mask / self.legal_mask.sum(1, keepdims=True))

    def normalize_policy(self, weights: np.ndarray) -> np.ndarray:
        """Return the policy proportional to weights [I, A]; a row of zeros is played uniformly."""
        total = weights.sum(1, keepdims=True)
        probs = weights / np.where(total > 0, total, 1)
        return np.where(total > 0, probs, self.build_uniform_policy())


_cached_trees: dict[str, GameTree] = {}


def get_tree(game: Game) -> GameTree:
    """Return the game's tree; the last `MAX_CACHED_TREES` trees that were built are cached."""
    key = repr(game.to_dict())
    if key not in _cached_trees:
        _cached_trees[key] = GameTree(game)
        for oldest in list(_cached_trees)[:-MAX_CACHED_TREES]:
            del _cached_trees[oldest]
    return _cached_trees[key]


def count_nodes(game: Game, limit: int) -> int:
    """Return the number of nodes of the game's tree.

    If there are more than `limit`, or if the game has several definitions or no rule `infoset`,
    return some number greater than `limit`.
    """
    if len(game.definitions) > 1 or not game.infoset_key_size:
        return limit + 1
    deal_count = node_count = game.count_deals()
    tables = Tables(game, 1, 0)
    tables.deal()
    while True:  # in a `GameTree` all deals have the same betting lines, so count those of one
        decision_rows = np.flatnonzero(tables.records["over"] == 0)
        mask = tables.legal_mask(decision_rows)
        node_count += int(mask.sum()) * deal_count
        if node_count > limit or not mask.any():
            return node_count
        row, action = np.nonzero(mask)
        tables = tables_from_records(game, tables.records[decision_rows[row]])
        tables.step(action)


def _check_enumerable(game: Game) -> None:
    if len(game.definitions) > 1:
        problem = "samples its definition for each hand, and is not enumerated"
        raise ConfigError(f"game: {game.name} {problem}")
    if not game.infoset_key_size:
        raise ConfigError(f"game: {game.name} has no rule `infoset`, and is not enumerated")
    # About half of the nodes have tables in memory at a time: those of two adjacent levels.
    table_bytes = game.table_dtype.itemsize + game.action_count
    max_nodes = MAX_BYTES // (64 + 16 * game.seats + table_bytes // 2)
    if count_nodes(game, max_nodes) > max_nodes:
        raise ConfigError(
            f"game: {game.name} has more than {max_nodes:.1g} nodes; to enumerate them would take"
            f" more than {MAX_BYTES / 1e9:.3g} GB of memory, the most that is allowed"
        )


def _enumerate_nodes(game: Game, deals: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Return the arrays of nodes and information sets by name, as lists of one array per level.

    Nodes and information sets are numbered in the order of the levels.
    """
    deal_count = len(deals)
    tables = Tables(game, deal_count, 0)
    tables.deal(decks=deals)
    parent = edge = np.full(deal_count, -1)
    betting_line = np.zeros(deal_count, np.int64)  # betting line of each node of the level
    level_arrays: dict[str, list[np.ndarray]] = {}
    first_node = first_infoset = first_betting_node = 0
    while len(tables.records):
        is_over = tables.records["over"] != 0
        decision_rows = np.flatnonzero(~is_over)
        infoset = np.full(len(is_over), -1)
        payoffs = np.zeros((len(is_over), game.seats))
        payoffs[is_over] = tables.payoffs(np.flatnonzero(is_over))
        keys, first_row_of_infoset, infoset[decision_rows] = np.unique(
            tables.infoset_keys(decision_rows), return_index=True, return_inverse=True
        )
        infoset[decision_rows] += first_infoset
        mask = tables.legal_mask(decision_rows)
        to_act = tables.records["to_act"][decision_rows].astype(np.int64)
        seat_and_line = to_act * (betting_line.max(initial=0) + 1) + betting_line[decision_rows]
        _, level_lines = np.unique(seat_and_line[first_row_of_infoset], return_inverse=True)
        for name, level_array in {
            "parent": parent,
            "edge": edge,
            "seat": np.where(is_over, -1, tables.records["to_act"].astype(np.int8)),
            "infoset": infoset,
            "payoffs": payoffs,
            "key": keys,
            "records": tables.records.take(decision_rows[first_row_of_infoset]),
            "legal": mask[first_row_of_infoset],
            "betting_node": level_lines + first_betting_node,
        }.items():
            level_arrays.setdefault(name, []).append(level_array)

        row, action = np.nonzero(mask)
        parent = first_node + decision_rows[row]
        edge = infoset[decision_rows[row]] * game.action_count + action
        _, betting_line = np.unique(
            betting_line[decision_rows[row]] * game.action_count + action, return_inverse=True
        )
        # The nodes of this level are sorted by deal, with equally many for each deal. Check that
        # this also holds for their children, the next level.
        deal_of_child = decision_rows[row] // (len(is_over) // deal_count)
        if np.ptp(np.bincount(deal_of_child, minlength=deal_count)):
            problem = "has betting lines that depend on the cards, so it is not enumerated"
            raise ConfigError(f"game: {game.name} {problem}")
        first_node += len(is_over)
        first_infoset += len(keys)
        first_betting_node += int(level_lines.max(initial=-1)) + 1
        # `take` copies whole records; indexing would copy field by field.
        tables = tables_from_records(game, tables.records.take(decision_rows[row]))
        tables.step(action)
    return level_arrays


def _concatenate_records(arrays: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; copy records as bytes, since NumPy would copy field by field."""
    dtype = arrays[0].dtype
    if dtype.names is not None:
        arrays = [part.view(f"V{dtype.itemsize}") for part in arrays]
    return np.concatenate(arrays).view(dtype)
