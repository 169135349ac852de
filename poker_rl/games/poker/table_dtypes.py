"""The dtype of a poker game's definition, and the dtypes of three kinds of tables.

A field that a kind of table does not need has length 0. Lengths are part of the dtype, so the
compiler knows `has_limited_stacks` and `is_no_limit`, and omits the code for other kinds of tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poker_rl.games.game import jit

MAX_SEATS, MAX_STREETS, MAX_HOLE_CARDS, MAX_BOARD_CARDS = 9, 4, 2, 5
MAX_DECK_SIZE, MAX_MOVES = 52, 192
MAX_BET_SIZES = 8  # length of the longest list of bet sizes
FULL_POT = 100  # the bet size of a whole pot; bet sizes are in hundredths of the pot
MAX_CHIPS = 10**7  # largest ante, blind or limit raise; `MAX_MOVES` such raises fit into int32
MAX_STACK = 2**15 - 1
ALL_IN_SIZE = FULL_POT * MAX_STACK  # the bet size of a whole stack, however small the pot
FOLD, CALL, RAISE = 0, 1, 2

DEFINITION_DTYPE = np.dtype(
    [
        ("seats", "i1"),
        ("suits", "i1"),
        ("cards", "i1"),  # number of cards in the deck
        ("dealt", "i1"),  # number of hole and board cards in a whole hand
        ("hole", "i1"),  # number of hole cards of a seat
        ("streets", "i1"),
        ("board", "i1", MAX_STREETS),  # number of board cards dealt at each street
        ("shown", "i1", MAX_STREETS),  # number of visible board cards on each street
        ("ante", "i4"),  # the smallest of the seats' antes
        ("post", "i4", MAX_SEATS),  # `ante` plus the blind of each seat
        ("price", "i4"),  # the largest `post`, which a seat has to match at first
        ("opener", "i1", MAX_STREETS),  # the seat that acts first on each street
        ("raise_size", "i4", MAX_STREETS),
        ("max_raises", "i1", MAX_STREETS),  # most raises on each street, including the big blind
        ("blind_raise_count", "i1"),  # 1 if the big blind counts as the first raise
        ("raise_levels", "i1"),  # an observation distinguishes 0 to raise_levels - 1 raises
        ("type_count", "i1"),  # action types in an observation: 2 (raise, call), or 3 with fold
        ("seat_cells", "i2"),  # number of features of a seat's actions in an observation
        ("seat_slots", "i1"),  # seats in an observation, at least those of the game
        ("hole_offset", "i2"),  # offset of the hole cards in an observation
        ("board_offset", "i2", MAX_BOARD_CARDS),  # offset of each board card's features
        ("chip", "f4"),  # value of a chip in an observation: 1 / the most that a seat can put in
        ("chip_offset", "i2"),  # offset of the chip features, which games with stacks have
        ("stack", "i4", MAX_SEATS),  # chips of each seat before the hand, without dead antes
        # The five fields from here to `last_raise` are 0 unless the game is no-limit.
        ("min_bet", "i4"),
        ("short_bets_reopen", "i1"),  # 1 if a first bet of less than min_bet counts as full
        ("sizes", "i1"),  # length of the list of bet sizes; 0: any number of chips
        ("size", "i4", MAX_BET_SIZES),  # bet sizes in hundredths of the pot after calling
        ("last_raise", "u2"),  # number of moves in a hand after which nobody may raise
        ("short_deck", "i1"),  # 1 if hands rank as in short-deck hold'em
        ("dead", "i4", MAX_SEATS),  # the part of each seat's ante above `ante`; not in `paid`
        ("dead_pot", "i4"),  # sum of `dead`
        ("spare", "u1", 33),  # pads the record to a power of two, which makes indexing fast
    ]
)


def build_table_dtype(stacks: bool, no_limit: bool) -> np.dtype[np.void]:
    """Return the dtype of a kind of tables; fields that every move changes are side by side."""
    chips_length = MAX_MOVES + MAX_SEATS if stacks else 0
    fields: list[Any] = [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("price", "i4"),  # chips that a seat must have put in to stay in the hand
        ("paid", "i4", MAX_SEATS),  # chips put in by each seat, without dead antes
        ("moves", "u2"),  # number of actions so far
        ("marks", "u2"),  # number of blinds and actions in `mark`
        ("street", "i1"),
        ("to_act", "u1"),
        ("raises", "i1"),  # number of raises on this street, including the big blind
        ("live", "i1"),  # number of seats that have not folded
        ("pending", "i1"),  # number of seats still to act on this street
        ("over", "i1"),
        ("error", "i1"),  # 1 if the last action was illegal, else 0
        ("variant", "u1"),  # index of the definition in play
        ("raise_by", "i4", (int(no_limit),)),  # chips that the largest raise on this street added
        ("able", "i4", (int(stacks),)),  # number of seats that are neither folded nor all-in
        ("acted", "i4", (int(stacks),)),  # bit s: seat s has acted on this street
        ("folded", "i1", MAX_SEATS),
        ("deck", "i1", MAX_DECK_SIZE),
        ("hand", "i1", MAX_HOLE_CARDS + MAX_BOARD_CARDS),  # scratch memory of `payoffs`
        ("rank", "i4", MAX_SEATS),  # scratch memory of the functions `payoffs`, `observe_history`
        # Index of the observation feature that each blind and each action sets.
        ("mark", "i2", MAX_MOVES + MAX_SEATS),
        ("line", "i2" if no_limit else "u1", MAX_MOVES),  # actions so far
        ("chips", "i2", (chips_length,)),  # chips that the acting seat has put in after each mark
    ]
    return np.dtype([*fields, ("spare", "u1", -np.dtype(fields).itemsize % 8)])


LIMIT_TABLE_DTYPE = build_table_dtype(stacks=False, no_limit=False)
LIMIT_STACKS_TABLE_DTYPE = build_table_dtype(stacks=True, no_limit=False)
NO_LIMIT_TABLE_DTYPE = build_table_dtype(stacks=True, no_limit=True)


@jit
def has_limited_stacks(table):
    """Return whether stacks are limited, so that a seat can be all-in."""
    return len(table.able) > 0


@jit
def is_no_limit(table):
    return len(table.raise_by) > 0


@jit
def get_deck_card(table, position):
    """Return a card of the deck; the unsigned index avoids a test for negative indices."""
    return table.deck[np.uint64(position)]
