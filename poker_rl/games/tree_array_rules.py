"""Compiled rules that play any game whose tree is given as arrays, such as one of OpenSpiel.

Arrays of a definition describe the N nodes: `owner` is the seat to act, OVER or CHANCE; the
children of a node are adjacent, from `first_child` on. The entry of `index` is the information set
of a decision node, the row of `payoff` for a terminal node, and for a chance node the number of
chance nodes before it on the path from the root. The "cards" of the deck are the numbers of all
deals. The first number of the shuffled deck, d, is the deal in play, and leads from a chance node n
to the child `first_child[n] + outcome[d, index[n]]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poker_rl.games.game import fill_zeros, jit

OVER, CHANCE = -1, -2  # the `owner` of terminal nodes and of chance nodes


def build_definitions(**arrays: Any) -> np.ndarray:
    """Return the definition of a game as an array of one record, with an array in each field.

    With N nodes, I information sets, A actions and W features the arrays are:

    seats: the number of seats
    owner, first_child, index: see the module's docstring, [N]
    rank: position of each action among the legal ones of the information set, -1 if illegal, [I, A]
    observation: features of each information set, [I, W]
    payoff: chips won by each seat, [terminal nodes, seats]
    outcome: see the module's docstring, [deals, most chance nodes on a path]
    """
    columns = {"dealt": 1, "cards": len(arrays["outcome"]), **arrays}
    columns = {name: np.asarray(column) for name, column in columns.items()}
    dtype = np.dtype([(name, column.dtype, column.shape) for name, column in columns.items()])
    return np.array([tuple(columns.values())], dtype)


def build_table_dtype(deal_count: int, max_moves: int) -> np.dtype[np.void]:
    fields: list[Any] = [
        ("key", "u8"),
        ("draws", "u8"),
        ("node", "i4"),
        ("moves", "i2"),
        ("error", "i2"),  # 1 + an illegal action, 32767 for one that does not exist, else 0
        ("to_act", "u1"),
        ("over", "i1"),
        ("variant", "u1"),
        ("deck", "i2", deal_count),  # shuffled numbers of deals; the first is the deal in play
        ("line", "i2", max_moves),
    ]
    return np.dtype(fields)


@jit
def enter_node(game, table, node):
    """Move the table to a node; from a chance node, follow the deal to a node of another kind."""
    while game.owner[node] == CHANCE:
        node = game.first_child[node] + game.outcome[table.deck[0], game.index[node]]
    table.node = node
    table.over = game.owner[node] == OVER
    if not table.over:
        table.to_act = game.owner[node]


@jit
def start(game, table):
    table.error = table.moves = 0
    enter_node(game, table, 0)


@jit
def legal(game, table, mask):
    for action in range(len(mask)):
        mask[action] = not table.over and game.rank[game.index[table.node], action] >= 0


@jit
def step(game, table, action):
    is_action = 0 <= action < game.rank.shape[1]
    if table.over or not is_action or game.rank[game.index[table.node], action] < 0:
        table.error = 1 + action if is_action else 32767
        return
    table.line[table.moves] = action
    table.moves += 1
    rank = game.rank[game.index[table.node], action]
    enter_node(game, table, game.first_child[table.node] + rank)


@jit
def payoffs(game, table, out):
    for seat in range(game.seats):
        out[seat] = game.payoff[game.index[table.node], seat]


@jit
def observe(game, table, seat, out):
    """Write the features of a seat's information set; zeros unless this seat is to act."""
    fill_zeros(out)
    if not table.over and seat == table.to_act:
        for i in range(len(out)):
            out[i] = game.observation[game.index[table.node], i]


@jit
def infoset(game, table, seat, out):
    """Write the number of a seat's information set in base 255; zeros unless the seat is to act.

    The lowest digit comes first. Digits are stored as 1 to 255, never 0, since NumPy strips zeros
    from the end of byte strings.
    """
    fill_zeros(out)
    if not table.over and seat == table.to_act:
        number = game.index[table.node]
        for i in range(len(out)):
            out[i] = 1 + number % 255
            number //= 255
