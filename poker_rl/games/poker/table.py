"""The records of poker: a variant is a record of GAME, a table one of three dtypes.

They are TABLE for limit games without stacks, STACKS_TABLE for limit games with stacks, and
NO_LIMIT_TABLE, all with the same fields. A field that a kind of table does not need has length 0
there. So `has_stacks` and `no_limit` are known when the rules are compiled for a table, and limit
rules hold nothing of the others.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

from poker_rl.games.game import rule

SEATS, STREETS, HOLE, BOARD, CARDS, MOVES = 9, 4, 2, 5, 52, 192
SIZES = 8  # bet sizes in a list
POT = 100  # a bet size of a whole pot: sizes are whole hundredths, exact where fractions are not
CHIPS = 2**31 - 1  # in a pot
STACK = 2**15 - 1  # in no-limit
ALL_IN = POT * STACK  # a size that is everything, however small the pot
FOLD, CALL, RAISE = 0, 1, 2

GAME = np.dtype(
    [
        ("seats", "i1"),
        ("suits", "i1"),
        ("cards", "i1"),  # in the deck
        ("dealt", "i1"),  # hole and board cards of a whole hand
        ("hole", "i1"),
        ("streets", "i1"),
        ("board", "i1", STREETS),  # board cards that open each street
        ("shown", "i1", STREETS),  # board cards seen by then; 0 on streets that the game has not
        ("ante", "i4"),  # the smallest of the seats' antes
        ("post", "i4", SEATS),  # that ante and the blind of each seat
        ("price", "i4"),  # the highest of them
        ("opener", "i1", STREETS),
        ("raise_size", "i4", STREETS),
        ("max_raises", "i1", STREETS),  # the big blind counted where it is the first bet
        ("forced_raises", "i1"),  # 1 if it is
        ("levels", "i1"),  # raise counts told apart by the observation
        ("kinds", "i1"),  # actions told apart: raise, call and, with three seats or more, fold
        ("plane", "i2"),  # cells of a seat in the observation's betting block
        ("room", "i1"),  # seats in that block, some of them empty where the number is drawn
        ("own_plane", "i2"),  # where it ends and the own cards start
        ("card_plane", "i2", BOARD),  # where the cards of each board card's street start
        ("chip", "f4"),  # a chip as a network sees it: 1 is the most that a seat can put in
        # games with stacks only
        ("chip_plane", "i2"),  # where the chips of the seats start in the observation
        ("stack", "i4", SEATS),  # `dead` antes taken off
        # no-limit only
        ("min_bet", "i4"),
        ("short_bets_reopen", "i1"),  # 1 if the first all-in of less than min_bet is a full bet
        ("sizes", "i1"),  # length of the list of bet sizes; 0: any amount
        ("size", "i4", SIZES),  # hundredths of the pot after calling
        ("last_raise", "u2"),  # moves of a hand from which on nobody may raise
        ("short_deck", "i1"),  # 1 if hands rank as in short-deck hold'em
        ("dead", "i4", SEATS),  # of each seat's ante, what is above the smallest: in no `paid`
        ("dead_pot", "i4"),  # the sum of it
        ("spare", "u1", 33),  # a power of two finds the record of a table soonest
    ]
)


def table_dtype(stacks: bool, no_limit: bool) -> np.dtype[np.void]:
    """What a move touches lies together, fields aligned; 12 cache lines in all for limit games."""
    amounts = MOVES + SEATS if stacks else 0
    fields: list[Any] = [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("price", "i4"),  # chips a seat must have put in to stay
        ("paid", "i4", SEATS),  # chips put in by each seat, `dead` antes not counted
        ("moves", "u2"),
        ("marks", "u2"),
        ("street", "i1"),
        ("to_act", "u1"),
        ("raises", "i1"),  # on this street, the big blind counted
        ("live", "i1"),  # seats that have not folded
        ("pending", "i1"),  # seats still to act on this street
        ("over", "i1"),
        ("error", "i1"),  # whether the last action was illegal; checked after the loop
        ("variant", "u1"),  # which of the game's definitions it plays
        ("raise_by", "i4", (int(no_limit),)),  # the largest raise on this street
        ("able", "i4", (int(stacks),)),  # seats that have neither folded nor put in all they have
        ("acted", "i4", (int(stacks),)),  # seats that have acted on this street, a bit each
        ("folded", "i1", SEATS),
        ("deck", "i1", CARDS),
        ("hand", "i1", HOLE + BOARD),  # room for `payoffs`
        ("rank", "i4", SEATS),  # room for `payoffs` and `history`
        ("mark", "i2", MOVES + SEATS),  # cells of the actions in the betting block, by seat
        ("line", "i2" if no_limit else "u1", MOVES),  # actions so far
        ("chips", "i2", (amounts,)),  # what the seat of each mark had put in after it
    ]
    return np.dtype([*fields, ("spare", "u1", -np.dtype(fields).itemsize % 8)])


TABLE = table_dtype(stacks=False, no_limit=False)
STACKS_TABLE = table_dtype(stacks=True, no_limit=False)
NO_LIMIT_TABLE = table_dtype(stacks=True, no_limit=True)


@rule
def has_stacks(table):
    """Return whether the seats have a number of chips each, and can be all-in."""
    return len(table.able) > 0


@rule
def no_limit(table):
    """Whether the table is one of no-limit betting."""
    return len(table.raise_by) > 0


@rule
def card_at(table, place):
    """A card of the deck; an unsigned index spares the test for one that counts from the end."""
    return table.deck[np.uint64(place)]
