"""Every node and information set of a game small enough to enumerate: all deals times all lines.

Nodes lie in breadth-first order in flat arrays, so reach goes forward in one loop and values come
back in one. There are no chance nodes: each deal is a root, and all deals are equally likely.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from poker_rl.games.game import Game, rule
from poker_rl.games.tables import Tables
from poker_rl.settings import Refused

MOST_ROWS = 20_000_000


class Tree:
    """The enumerated game: N nodes, I information sets, A actions, D deals.

    Attributes:
        parent: node above, -1 at a root, [N] int32
        edge: information set of the parent times A plus the action taken there, -1 at a root, [N] int32
        seat: who acts, -1 where the hand is over, [N] int8
        infoset: information set, -1 where the hand is over, [N] int32
        payoffs: chips won where the hand is over, else 0, [N, seats] float64
        levels: first node of each depth, and N, [depths + 1]
        records: a table at each information set, to ask players, [I]
        owner: who acts at each information set, [I] int8
        node: betting line of each information set, whatever the cards, [I] int64
        legal: [I, A] bool
        previous: edge of the owner's last own action on the way, -1 if none, [I] int32

    Raises:
        Refused: if the tree would have more than `most_rows` nodes.
    """

    def __init__(self, game: Game, most_rows: int = MOST_ROWS) -> None:
        self.game = game
        if row_count(game, most_rows) > most_rows:
            raise Refused(
                f"game: {game.name} has {describe_rows(game)}; at most {most_rows:,} are enumerated"
            )
        decks = game.deals()
        self.deals = len(decks)
        tables = Tables(game, self.deals, 0)
        tables.deal(decks=decks)

        parent = np.full(self.deals, -1)
        edge = np.full(self.deals, -1)
        parts: dict[str, list[np.ndarray]] = {}
        keys: list[np.ndarray] = []
        lines: list[np.ndarray] = []
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
            mask = tables.legal(live)
            _, level_lines = np.unique(_line_keys(tables.records[live[sample]]), return_inverse=True)
            for name, part in {
                "parent": parent,
                "edge": edge,
                "seat": np.where(over, -1, tables.records["to_act"]),
                "infoset": infoset,
                "payoffs": won,
                "records": tables.records[live[sample]],
                "legal": mask[sample],
                "node": level_lines + first_line,
            }.items():
                parts.setdefault(name, []).append(part)
            keys.append(level_keys)
            lines.append(level_lines)

            row, action = np.nonzero(mask)
            parent = first_node + live[row]
            edge = infoset[live[row]] * game.actions + action
            first_node += len(over)
            first_infoset += len(level_keys)
            first_line += int(level_lines.max(initial=-1)) + 1
            below = Tables(game, 0, 0)
            below.use(tables.records[live[row]])
            below.step(action)
            tables = below

        joined: dict[str, Any] = {name: np.concatenate(part) for name, part in parts.items()}
        self.parent = joined["parent"].astype(np.int32)
        self.edge = joined["edge"].astype(np.int32)
        self.seat = joined["seat"].astype(np.int8)
        self.infoset = joined["infoset"].astype(np.int32)
        self.payoffs: np.ndarray = joined["payoffs"]
        self.records: np.ndarray = joined["records"]
        self.legal: np.ndarray = joined["legal"]
        self.node: np.ndarray = joined["node"]
        self.levels = np.cumsum([0] + [len(part) for part in parts["seat"]])
        self.owner = self.records["to_act"].astype(np.int8)
        self.previous = np.full(len(self.records), -1, np.int32)
        _previous(self.parent, self.edge, self.seat, self.infoset, self.previous, game.seats)
        self._keys = np.concatenate(keys)
        self._order = np.argsort(self._keys)

    @property
    def size(self) -> int:
        """Number of information sets, I."""
        return len(self.records)

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
        return self.node[self.infoset_of(records)]

    def uniform(self) -> np.ndarray:
        """The policy that takes each legal action equally often, [I, A]."""
        return self.legal / self.legal.sum(1, keepdims=True)


def row_count(game: Game, most: int = MOST_ROWS) -> int:
    """Nodes of the game's tree, or some number over `most` if there are more.

    Counts the lines of one deal and multiplies by the number of deals.
    """
    tables = Tables(game, 1, 0)
    tables.deal()
    deals, lines = game.deal_count(), 0
    while len(tables.records) and lines * deals <= most:
        lines += len(tables.records)
        live = np.flatnonzero(tables.records["over"] == 0)
        row, action = np.nonzero(tables.legal(live))
        below = Tables(game, 0, 0)
        below.use(tables.records[live[row]])
        below.step(action)
        tables = below
    return lines * deals


def describe_rows(game: Game) -> str:
    """How large the game's tree is, for people."""
    most = 10**6 * game.deal_count()
    rows = row_count(game, most)
    return f"{'more than ' if rows > most else ''}{rows:.3g} nodes"


def _line_keys(records: np.ndarray) -> np.ndarray:
    longest = int(records["moves"].max(initial=0))
    moves = records["line"][:, :longest].copy()
    moves[np.arange(longest) >= records["moves"][:, None]] = 255
    key = np.c_[records["to_act"].astype(np.uint8), moves]
    return key.view(f"S{longest + 1}")[:, 0]


@rule
def _previous(parent, edge, seat, infoset, previous, seats):  # type: ignore[no-untyped-def]
    last = np.full((len(parent), seats), -1, np.int32)
    for i in range(len(parent)):
        if parent[i] >= 0:
            last[i] = last[parent[i]]
            last[i, seat[parent[i]]] = edge[i]
        if infoset[i] >= 0:
            previous[infoset[i]] = last[i, seat[i]]
