"""The nodes of the enumerated tree of a small game: all deals times all betting lines.

A betting line is a sequence of actions from the start of a hand. Nodes are in breadth-first order
in flat arrays, so one forward loop computes reach probabilities and one backward loop computes
values. There are no chance nodes: each deal is a root, and all deals are equally likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, tables_from_records

MAX_BYTES = 4 * 10**9  # memory for building a tree; most machines have this much


class TreeNodes:
    """The nodes of the enumerated game: N nodes, I information sets, A actions, D deals.

    Attributes:
        parent: parent node, -1 at a root, [N] int32
        edge: i * A + a for the action a at the parent's information set i that leads to the node,
            -1 at a root, [N] int32
        seat: the seat to act, -1 where the hand is over, [N] int8
        infoset: information set of the seat to act, -1 where the hand is over, [N] int32
        node_payoffs: chips won by each seat where the hand is over, else 0, [N, seats] float64
        level_starts: first node of each depth, then N, [depths + 1]
        infoset_records: the record of one table in each information set, [I]
        infoset_seat: the seat to act at each information set, [I] int8
        betting_node: index of a betting line that leads to each information set, [I] int64; there
            are several if actions are hidden from the seat to act
        legal_mask: action mask of each information set, [I, A] bool
        first_infoset_of_seat: first information set of each seat, then I, [seats + 1]; those of a
            seat are adjacent and in the order of their depth

    Raises:
        ConfigError: if building the tree would take more than `MAX_BYTES` of memory, if the game
            lacks the rule `infoset`, or if it has several definitions, betting lines that depend on
            the cards, or an information set that is reached after different numbers of moves.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        if len(game.definitions) > 1:
            problem = "samples its definition for each hand, and is not enumerated"
            raise ConfigError(f"game: {game.name} {problem}")
        needed_bytes = estimate_bytes(game)
        _check_memory(game, needed_bytes)
        deals = game.list_deals()
        self.deal_count = len(deals)
        arrays_by_level, infoset_keys = _enumerate_nodes(game, deals, needed_bytes)
        self.level_starts = np.cumsum([0] + [len(part) for part in arrays_by_level["seat"]])
        arrays: dict[str, Any] = {
            name: _concatenate(arrays_by_level.pop(name)) for name in list(arrays_by_level)
        }
        owner = arrays["records"]["to_act"].astype(np.int8)
        order = np.argsort(owner, kind="stable")
        new_index = np.argsort(order).astype(np.int32)
        self.parent = arrays["parent"].astype(np.int32)
        self.seat: np.ndarray = arrays["seat"]
        decision_nodes = np.flatnonzero(self.seat >= 0)
        self.infoset = np.full(len(self.seat), -1, np.int32)
        self.infoset[decision_nodes] = new_index[arrays["infoset"][decision_nodes]]
        self.edge = np.full(len(self.seat), -1, np.int32)
        parent_infoset, action = np.divmod(arrays["edge"][self.deal_count :], game.action_count)
        self.edge[self.deal_count :] = new_index[parent_infoset] * game.action_count + action
        self.node_payoffs: np.ndarray = arrays["payoffs"]
        self.infoset_seat = owner[order]
        self.infoset_records: np.ndarray = arrays.pop("records").take(order)
        self.legal_mask: np.ndarray = arrays["legal"][order]
        self.betting_node: np.ndarray = arrays["node"][order]
        self.first_infoset_of_seat = np.searchsorted(self.infoset_seat, np.arange(game.seats + 1))
        self._infoset_keys = infoset_keys[order]
        self._key_order = np.argsort(self._infoset_keys)
        sorted_keys = self._infoset_keys[self._key_order]
        if (sorted_keys[1:] == sorted_keys[:-1]).any():
            problem = "has an information set that is reached after different numbers of moves"
            raise ConfigError(f"game: {game.name} {problem}, so it is not enumerated")

    @property
    def infoset_count(self) -> int:
        """Number of information sets, I."""
        return len(self.infoset_records)

    @property
    def betting_node_count(self) -> int:
        """Number of betting lines after which a seat acts."""
        return int(self.betting_node.max()) + 1


def count_nodes(game: Game, limit: int) -> int:
    """Return the number of nodes of a game's tree if it is at most `limit`.

    If the tree has more nodes or cannot be enumerated, return any number above `limit`.
    """
    if len(game.definitions) > 1 or not game.infoset_key_size:
        return limit + 1
    deal_count, nodes_per_deal = game.count_deals(), 0
    for level_size in _iterate_level_sizes(game):
        nodes_per_deal += level_size
        if nodes_per_deal * deal_count > limit:
            break
    return nodes_per_deal * deal_count


def _check_memory(game: Game, needed_bytes: int) -> None:
    if needed_bytes > MAX_BYTES:
        raise ConfigError(
            f"game: {game.name} has {describe_node_count(game)}; to enumerate them would take more"
            f" than {MAX_BYTES / 1e9:.3g} GB of memory, the most that is allowed"
        )


def estimate_bytes(game: Game) -> int:
    """Estimate the memory in bytes for building the tree; stop counting above `MAX_BYTES`.

    The estimate includes the tables and action masks of two adjacent levels and the arrays of all
    nodes, but not the arrays of information sets, whose number is not known yet.
    """
    deal_count, bytes_per_node = game.count_deals(), 64 + 16 * game.seats
    nodes_per_deal = previous_level_size = max_two_level_size = needed_bytes = 0
    for level_size in _iterate_level_sizes(game):
        nodes_per_deal += level_size
        max_two_level_size = max(max_two_level_size, previous_level_size + level_size)
        previous_level_size = level_size
        needed_bytes = deal_count * (
            nodes_per_deal * bytes_per_node
            + max_two_level_size * (game.table_dtype.itemsize + game.action_count)
        )
        if needed_bytes > MAX_BYTES:
            break
    return needed_bytes


def _iterate_level_sizes(game: Game) -> Iterator[int]:
    """Yield the number of betting lines at each depth, by playing them all with one deal."""
    tables = Tables(game, 1, 0)
    tables.deal()
    yield 1
    while True:
        decision_rows = np.flatnonzero(tables.records["over"] == 0)
        mask = tables.legal_mask(decision_rows)
        if not mask.any():
            return
        yield int(mask.sum())
        row, action = np.nonzero(mask)
        tables = tables_from_records(game, tables.records[decision_rows[row]])
        tables.step(action)


def describe_node_count(game: Game) -> str:
    """Return the number of nodes of the game's tree as text, such as `more than 3e+06 nodes`."""
    limit = 3 * 10**4 * game.count_deals()
    node_count = count_nodes(game, limit)
    return f"{'more than ' if node_count > limit else ''}{node_count:.3g} nodes"


def _enumerate_nodes(
    game: Game, decks: np.ndarray, needed_bytes: int
) -> tuple[dict[str, list[np.ndarray]], np.ndarray]:
    """Enumerate all nodes level by level, and number information sets in that order.

    `needed_bytes` is an estimate of the memory without the arrays of information sets.

    Returns:
        lists with an array for each level, keyed by the name of the arrays; and the key of each
        information set.
    """
    deal_count = len(decks)
    tables = Tables(game, deal_count, 0)
    tables.deal(decks=decks)
    parent = np.full(deal_count, -1)
    edge = np.full(deal_count, -1)
    betting_line = np.zeros(deal_count, np.int64)  # betting line of each node of the level
    deal_of_node = np.arange(deal_count)  # deal of each node of the level
    arrays_by_level: dict[str, list[np.ndarray]] = {}
    keys_by_level: list[np.ndarray] = []
    first_node = first_infoset = first_betting_node = 0
    while len(tables.records):
        is_over = tables.records["over"] != 0
        decision_rows = np.flatnonzero(~is_over)
        infoset = np.full(len(is_over), -1)
        payoffs = np.zeros((len(is_over), game.seats))
        payoffs[is_over] = tables.payoffs(np.flatnonzero(is_over))
        level_keys, first_row_of_infoset, infoset[decision_rows] = np.unique(
            tables.infoset_keys(decision_rows), return_index=True, return_inverse=True
        )
        infoset[decision_rows] += first_infoset
        # The action masks of information sets need memory twice, since `_concatenate` copies them.
        needed_bytes += len(level_keys) * (game.table_dtype.itemsize + 2 * game.action_count)
        _check_memory(game, needed_bytes)
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
            "records": tables.records.take(decision_rows[first_row_of_infoset]),
            "legal": mask[first_row_of_infoset],
            "node": level_lines + first_betting_node,
        }.items():
            arrays_by_level.setdefault(name, []).append(level_array)
        keys_by_level.append(level_keys)

        row, action = np.nonzero(mask)
        parent = first_node + decision_rows[row]
        edge = infoset[decision_rows[row]] * game.action_count + action
        _, betting_line = np.unique(
            betting_line[decision_rows[row]] * game.action_count + action, return_inverse=True
        )
        deal_of_node = deal_of_node[decision_rows[row]]
        if len(deal_of_node) and np.ptp(np.bincount(deal_of_node, minlength=deal_count)):
            problem = "has other lines of moves with other cards, so it is not enumerated"
            raise ConfigError(f"game: {game.name} {problem}")
        first_node += len(is_over)
        first_infoset += len(level_keys)
        first_betting_node += int(level_lines.max(initial=-1)) + 1
        # `take` copies whole records; indexing would copy field by field.
        tables = tables_from_records(game, tables.records.take(decision_rows[row]))
        tables.step(action)
    return arrays_by_level, np.concatenate(keys_by_level)


def _concatenate(arrays: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; copy records as bytes, since NumPy would copy field by field."""
    dtype = arrays[0].dtype
    if dtype.names is not None:
        arrays = [part.view(f"V{dtype.itemsize}") for part in arrays]
    return np.concatenate(arrays).view(dtype)
