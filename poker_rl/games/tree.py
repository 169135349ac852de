"""Every node and information set of a game small enough to enumerate: all deals times all lines.

Nodes lie in breadth-first order in flat arrays, so reach goes forward in one loop and values come
back in one. There are no chance nodes: each deal is a root, and all deals are equally likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numba
import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.layout import laid_out
from poker_rl.games.tables import Tables

MOST_BYTES = 4 * 10**9  # of memory while a tree is built: what most machines have to spare


class Tree:
    """The enumerated game: N nodes, I information sets, A actions, D deals.

    Attributes:
        parent: node above, -1 at a root, [N] int32
        edge: information set of the parent times A plus the action taken there, -1 at a root,
            [N] int32
        seat: who acts, -1 where the hand is over, [N] int8
        infoset: information set, -1 where the hand is over, [N] int32
        payoffs: chips won where the hand is over, else 0, [N, seats] float64
        levels: first node of each depth, and N, [depths + 1]
        records: a table at each information set, to ask players, [I]
        owner: who acts at each information set, [I] int8
        node: line of actions that leads to each information set, whatever the cards, [I] int64;
            where some of the actions are hidden from the seat to act, one of several such lines
        legal: [I, A] bool
        first: first information set of each seat, and I; a seat's own lie side by side, those
            further down its moves later, [seats + 1]
        sequences: what passes over the seats' own moves read. A seat's information sets are one
            part in a small tree, else one for each hand that it can hold
        part_of_deal: the part in which each seat is with each deal, [seats, D]

    Raises:
        Refused: if building the tree would take more than `most_bytes` of memory, or the game has
            deals of different chance or with different lines of moves, or an information set that
            is met after different numbers of moves.
    """

    def __init__(self, game: Game, most_bytes: int = MOST_BYTES) -> None:
        self.game = game
        if len(game.record) > 1:
            raise Refused(f"game: {game.name} is drawn anew for each hand, and is not enumerated")
        needed = byte_count(game, most_bytes)
        _demand(game, needed, most_bytes)
        decks = game.deals()
        self.deals = len(decks)
        parts, keys = _enumerated(game, decks, needed, most_bytes)
        self.levels = np.cumsum([0] + [len(part) for part in parts["seat"]])
        joined: dict[str, Any] = {name: _joined(parts.pop(name)) for name in list(parts)}
        owner = joined["records"]["to_act"].astype(np.int8)
        order = np.argsort(owner, kind="stable")
        rank = np.argsort(order).astype(np.int32)  # new place of each information set
        self.parent = joined["parent"].astype(np.int32)
        self.seat: np.ndarray = joined["seat"]
        live = np.flatnonzero(self.seat >= 0)
        self.infoset = np.full(len(self.seat), -1, np.int32)
        self.infoset[live] = rank[joined["infoset"][live]]
        self.edge = np.full(len(self.seat), -1, np.int32)
        parent_infoset, action = np.divmod(joined["edge"][self.deals :], game.actions)
        self.edge[self.deals :] = rank[parent_infoset] * game.actions + action
        self.payoffs: np.ndarray = joined["payoffs"]
        self.owner = owner[order]
        self.records: np.ndarray = joined.pop("records").take(order)
        self.legal: np.ndarray = joined["legal"][order]
        self.node: np.ndarray = joined["node"][order]
        self.first = np.searchsorted(self.owner, np.arange(game.seats + 1))
        self._keys = keys[order]
        self._order = np.argsort(self._keys)
        ordered = self._keys[self._order]
        if (ordered[1:] == ordered[:-1]).any():
            raise Refused(
                f"game: {game.name} has an information set that is met after different numbers of"
                " moves, so it is not enumerated"
            )

        self.sequences, self.part_of_deal = laid_out(self)

    @property
    def size(self) -> int:
        """Number of information sets, I."""
        return len(self.records)

    @property
    def threads(self) -> int:
        """How many threads share a pass over the parts: one in a small tree, whatever is set."""
        return numba.get_num_threads() if len(self.sequences.parts) > len(self.first) else 1

    @property
    def node_count(self) -> int:
        """Number of betting lines at which somebody acts."""
        return int(self.node.max()) + 1

    @cached_property
    def names(self) -> list[str]:
        """Each information set for people."""
        return [self.game.infoset_name(record) for record in self.records]

    @cached_property
    def child(self) -> np.ndarray:
        """First child of each node, N where it has none, [N] int32. Children lie side by side."""
        child = np.full(len(self.parent), len(self.parent), np.int32)
        below = np.arange(self.deals, len(self.parent))
        child[self.parent[below][::-1]] = below[::-1]
        return child

    def infoset_of(self, records: np.ndarray) -> np.ndarray:
        """Information set of the seat to act at each table, [B] int64.

        Raises:
            KeyError: if a table is not of this game.
        """
        tables = Tables(self.game, 0, 0)
        tables.use(records)
        wanted = tables.infosets()
        place = np.searchsorted(self._keys, wanted, sorter=self._order)
        found = self._order[np.minimum(place, self.size - 1)]
        if (self._keys[found] != wanted).any():
            raise KeyError("a table's information set is not in this tree")
        return found

    def node_of(self, records: np.ndarray) -> np.ndarray:
        """Betting line of each table, whatever its cards, [B] int64."""
        lines: np.ndarray = self.node[self.infoset_of(records)]
        return lines

    def uniform(self) -> np.ndarray:
        """The policy that takes each legal action equally often, [I, A]."""
        policy: np.ndarray = self.legal / self.legal.sum(1, keepdims=True)
        return policy

    def normalise(self, weights: np.ndarray) -> np.ndarray:
        """The policy in proportion to weights [I, A], uniform where all are 0."""
        total = weights.sum(1, keepdims=True)
        return np.where(total > 0, weights / np.where(total > 0, total, 1), self.uniform())


_trees: dict[str, Tree] = {}
KEPT = 4  # trees, each of which may take `MOST_BYTES`


def tree_of(game: Game) -> Tree:
    """The game's tree, built once for solver, players and evaluation alike; the newest are kept.

    Raises:
        Refused: if the game is too large to enumerate, or its deals are not equally likely.
    """
    key = repr(game.state())
    if key not in _trees:
        _trees[key] = Tree(game)
        for oldest in list(_trees)[:-KEPT]:
            del _trees[oldest]
    return _trees[key]


def row_count(game: Game, most: int) -> int:
    """Nodes of the game's tree, or some number over `most` if there are more or it has no tree."""
    if len(game.record) > 1:
        return most + 1
    deals, lines = game.deal_count(), 0
    for width in _widths(game):
        lines += width
        if lines * deals > most:
            break
    return lines * deals


def _demand(game: Game, needed: int, most_bytes: int) -> None:
    if needed > most_bytes:
        raise Refused(
            f"game: {game.name} has {describe_rows(game)}; to enumerate them would take more"
            f" than {most_bytes / 1e9:.3g} GB of memory, the most that is allowed"
        )


def byte_count(game: Game, most: int) -> int:
    """Bytes that the tree takes while it is built, about, or some number over `most` if more.

    Two levels of tables and of their legal actions at a time, and for each node what is kept of it
    and what that is made from. What is kept at information sets, of which there are fewer than
    nodes, comes on top.
    """
    deals, node = game.deal_count(), 64 + 16 * game.seats
    lines = above = widest = needed = 0
    for width in _widths(game):
        lines += width
        widest = max(widest, above + width)
        above = width
        needed = deals * (lines * node + widest * (game.table.itemsize + game.actions))
        if needed > most:
            break
    return needed


def _widths(game: Game) -> Iterator[int]:
    """Lines of one deal at each depth, each number told before its tables are made.

    All deals have as many, and so the tree has that many nodes times the number of deals.
    """
    tables = Tables(game, 1, 0)
    tables.deal()
    yield 1
    while True:
        live = np.flatnonzero(tables.records["over"] == 0)
        mask = tables.legal(live)
        if not mask.any():
            return
        yield int(mask.sum())
        row, action = np.nonzero(mask)
        below = Tables(game, 0, 0)
        below.use(tables.records[live[row]])
        below.step(action)
        tables = below


def describe_rows(game: Game) -> str:
    """How large the game's tree is, for people."""
    most = 3 * 10**4 * game.deal_count()
    rows = row_count(game, most)
    return f"{'more than ' if rows > most else ''}{rows:.3g} nodes"


def _enumerated(
    game: Game, decks: np.ndarray, needed: int, most_bytes: int
) -> tuple[dict[str, list[np.ndarray]], np.ndarray]:
    """Every node, level by level, with the information sets numbered as they are met.

    Args:
        needed: bytes that it takes, about, but for the information sets.

    Returns:
        what `Tree` holds by name, an array a level; and the key of each information set.

    Raises:
        Refused: if it would take more than `most_bytes`, or lines of moves differ by the cards.
    """
    deals = len(decks)
    tables = Tables(game, deals, 0)
    tables.deal(decks=decks)
    parent = np.full(deals, -1)
    edge = np.full(deals, -1)
    line = np.zeros(deals, np.int64)  # of each node of a level, numbered in order
    deal = np.arange(deals)  # of each node of a level
    parts: dict[str, list[np.ndarray]] = {}
    keys: list[np.ndarray] = []
    first_node = first_infoset = first_line = 0
    while len(tables.records):
        over = tables.records["over"] != 0
        live = np.flatnonzero(~over)
        infoset = np.full(len(over), -1)
        won = np.zeros((len(over), game.seats))
        won[over] = tables.payoffs(np.flatnonzero(over))
        level_keys, sample, infoset[live] = np.unique(
            tables.infosets(live), return_index=True, return_inverse=True
        )
        infoset[live] += first_infoset
        # Their number is not known before; legal actions are there twice while all are joined.
        needed += len(level_keys) * (game.table.itemsize + 2 * game.actions)
        _demand(game, needed, most_bytes)
        mask = tables.legal(live)
        to_act = tables.records["to_act"][live].astype(np.int64)
        _, level_lines = np.unique(
            (to_act * (line.max(initial=0) + 1) + line[live])[sample], return_inverse=True
        )
        for name, part in {
            "parent": parent,
            "edge": edge,
            "seat": np.where(over, -1, tables.records["to_act"].astype(np.int8)),
            "infoset": infoset,
            "payoffs": won,
            "records": tables.records.take(live[sample]),
            "legal": mask[sample],
            "node": level_lines + first_line,
        }.items():
            parts.setdefault(name, []).append(part)
        keys.append(level_keys)

        row, action = np.nonzero(mask)
        parent = first_node + live[row]
        edge = infoset[live[row]] * game.actions + action
        _, line = np.unique(line[live[row]] * game.actions + action, return_inverse=True)
        deal = deal[live[row]]
        if len(deal) and np.ptp(np.bincount(deal, minlength=deals)):
            raise Refused(
                f"game: {game.name} has other lines of moves with other cards, so it"
                " is not enumerated"
            )
        first_node += len(over)
        first_infoset += len(level_keys)
        first_line += int(level_lines.max(initial=-1)) + 1
        below = Tables(game, 0, 0)
        below.use(tables.records.take(live[row]))  # indexing goes field by field
        below.step(action)
        tables = below
    return parts, np.concatenate(keys)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays one after the other; records as bytes, since NumPy copies them field by field."""
    kind = parts[0].dtype
    plain = parts if kind.names is None else [part.view(f"V{kind.itemsize}") for part in parts]
    return np.concatenate(plain).view(kind)
