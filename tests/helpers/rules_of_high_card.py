"""The rules that every game needs, in the smallest form.

The cache of compiled code does not notice a change of this file: delete it after one.
"""

import numpy as np

from poker_rl.games import jit

PASS, DOUBLE = 0, 1

DEFINITION_DTYPE = np.dtype([("seats", "i1"), ("cards", "i1"), ("dealt", "i1")])
TABLE_DTYPE = np.dtype(
    [
        ("key", "u8"),
        ("draws", "u8"),
        ("deck", "i1", 4),
        ("line", "i1", 2),
        ("moves", "i1"),
        ("variant", "u1"),
        ("to_act", "u1"),
        ("over", "i1"),
        ("error", "i1"),
    ]
)


@jit
def start(game, table):
    """Start with seat 0."""
    table.moves = table.to_act = table.over = table.error = 0


@jit
def legal(game, table, mask):
    """Allow both actions."""
    mask[PASS] = mask[DOUBLE] = True


@jit
def step(game, table, action):
    """Note the action; the hand is over after two."""
    if table.over or action < PASS or action > DOUBLE:
        table.error = 1
        return
    table.line[table.moves] = action
    table.moves += 1
    table.to_act = table.moves % 2
    table.over = table.moves == 2


@jit
def payoffs(game, table, out):
    """Give the stakes, which each double doubles, to the higher card."""
    stakes = (1 + table.line[0]) * (1 + table.line[1])
    out[0] = stakes if table.deck[0] > table.deck[1] else -stakes
    out[1] = -out[0]


@jit
def observe(game, table, seat, out):
    """Write the own card, [4], and whether seat 0 has passed or doubled, [2]."""
    for i in range(len(out)):
        out[i] = 0
    out[table.deck[seat]] = 1
    if table.moves > 0:
        out[4 + table.line[0]] = 1
