"""One betting engine for every poker variant: Kuhn, Leduc, limit hold'em, 2-9 seats.

A variant is a record of GAME; a table is a record of TABLE. The rules below are functions of both.
Betting order, fold only when facing a bet, and raises counted without the blinds follow the ACPC
conventions (OpenSpiel's `universal_poker`); heads-up the button is seat 1 and posts the small blind.

Actions: 0 fold, 1 check or call, 2 bet or raise.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import strength
from poker_rl.games.game import rule, shuffle

SEATS, STREETS, HOLE, CARDS, MOVES = 9, 4, 2, 52, 192
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
        ("post", "i4", SEATS),  # ante and blind of each seat
        ("opener", "i1", STREETS),
        ("raise_size", "i4", STREETS),
        ("max_raises", "i1", STREETS),
        ("forced_raises", "i1"),  # 1 if the big blind counts as the first bet
        ("ante", "i4"),
        ("levels", "i1"),  # raise counts told apart by the observation
        ("kinds", "i1"),  # actions told apart: raise, call and, with three seats or more, fold
    ]
)

TABLE = np.dtype(
    [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("deck", "i1", CARDS),
        ("street", "i1"),
        ("to_act", "i1"),
        ("raises", "i1"),  # on this street, the big blind counted
        ("live", "i1"),  # seats that have not folded
        ("pending", "i1"),  # seats still to act on this street
        ("over", "i1"),
        ("error", "i1"),  # 1 + the illegal action; checked after the loop
        ("moves", "i2"),
        ("marks", "i2"),
        ("price", "i4"),  # chips a seat must have put in to stay
        ("folded", "i1", SEATS),
        ("paid", "i4", SEATS),  # chips put in by each seat
        ("line", "u1", MOVES),  # actions so far
        ("mark", "i2", MOVES + SEATS),  # their cells in the observation's betting block, by seat
    ]
)


@rule
def deal(game, table):
    """Draw the cards of a hand: hole cards seat by seat, then the board."""
    shuffle(table, game.cards, game.dealt)


@rule
def start(game, table):
    """Post antes and blinds; the first opener is to act."""
    table.street = 0
    table.live = game.seats
    table.pending = game.seats
    table.over = 0
    table.error = 0
    table.moves = 0
    table.marks = 0
    table.raises = game.forced_raises
    price = 0
    for seat in range(game.seats):
        table.folded[seat] = 0
        table.paid[seat] = game.post[seat]
        price = max(price, game.post[seat])
    table.price = price
    if game.forced_raises:
        for seat in range(game.seats):
            if game.post[seat] == price:
                note(game, table, seat, 0, RAISE)
            elif game.post[seat] > game.ante:
                note(game, table, seat, 0, CALL)
    table.to_act = game.opener[0]


@rule
def note(game, table, seat, raises, action):
    """Mark an action's cell [seat, street, raises before it, kind], where the network sees it."""
    kind = RAISE - action  # raise, call, fold
    if kind < game.kinds:
        cell = (seat * game.streets + table.street) * game.levels + raises
        table.mark[table.marks] = cell * game.kinds + kind
        table.marks += 1


@rule
def may(game, table, action):
    """Whether the seat to act may take this action."""
    if action == FOLD:
        return table.paid[table.to_act] < table.price
    if action == RAISE:
        most = game.max_raises[table.street]
        forced = game.forced_raises if table.street == 0 else 0
        return table.raises - forced < most
    return action == CALL


@rule
def legal(game, table, mask):
    """Write which of the three actions the seat to act may take."""
    mask[FOLD] = may(game, table, FOLD)
    mask[CALL] = True
    mask[RAISE] = may(game, table, RAISE)


@rule
def step(game, table, action):
    """Play one action of the seat to act; an illegal one only sets `table.error`."""
    if table.over or not may(game, table, action):
        table.error = 1 + action if 0 <= action <= RAISE else 127
        return
    seat = table.to_act
    note(game, table, seat, table.raises, action)
    table.line[table.moves] = action
    table.moves += 1
    table.pending -= 1
    if action == FOLD:
        table.folded[seat] = 1
        table.live -= 1
        if table.live == 1:
            table.over = 1
            return
    else:
        if action == RAISE:
            table.price += game.raise_size[table.street]
            table.raises += 1
            table.pending = table.live - 1
        table.paid[seat] = table.price
    if table.pending > 0:
        table.to_act = next_seat(game, table, seat + 1)
    elif table.street + 1 < game.streets:
        table.street += 1
        table.raises = 0
        table.pending = table.live
        table.to_act = next_seat(game, table, game.opener[table.street])
    else:
        table.over = 1


@rule
def next_seat(game, table, seat):
    """The first seat at or after this one that has not folded."""
    if seat == game.seats:
        seat = 0
    while table.folded[seat]:
        seat += 1
        if seat == game.seats:
            seat = 0
    return seat


@rule
def payoffs(game, table, out):
    """Write the chips won by each seat, summing to zero.

    Best hands share the pot; its odd chips go one each to the first winners left of the button.
    """
    pot = 0
    best = -1
    winners = 0
    ranks = np.empty(SEATS, np.int64)
    hand = np.empty(HOLE + 5, np.int64)
    board = game.dealt - game.seats * game.hole
    for i in range(board):
        hand[game.hole + i] = table.deck[game.seats * game.hole + i]
    for seat in range(game.seats):
        pot += table.paid[seat]
        ranks[seat] = -1
        if table.folded[seat]:
            continue
        if table.live > 1:
            for i in range(game.hole):
                hand[i] = table.deck[seat * game.hole + i]
            ranks[seat] = strength(hand, game.hole + board, game.suits)
        else:
            ranks[seat] = 0
        if ranks[seat] > best:
            best = ranks[seat]
            winners = 1
        elif ranks[seat] == best:
            winners += 1
    share = pot // winners
    odd = pot - share * winners
    for seat in range(game.seats):
        out[seat] = -table.paid[seat]
        if ranks[seat] == best:
            out[seat] += share
            if odd > 0:
                out[seat] += 1
                odd -= 1


@rule
def observe(game, table, seat, out):
    """Write what a seat sees as 0/1 features.

    [seats, streets, levels, kinds]  actions so far by seat relative to the observer, street, raises
                                     before the action, and kind (raise, call, fold); blinds that
                                     differ stand as a call (small) and a raise (big)
    [cards]                          own hole cards
    [cards] for each street that deals board cards
    """
    plane = game.streets * game.levels * game.kinds
    block = game.seats * plane
    out[:] = 0
    for i in range(table.marks):
        cell = table.mark[i] - seat * plane
        out[cell if cell >= 0 else cell + block] = 1
    first = seat * game.hole
    for i in range(first, first + game.hole):
        out[block + table.deck[i]] = 1
    dealt = game.seats * game.hole
    for street in range(game.streets):
        if game.board[street] > 0:
            block += game.cards
            if street <= table.street:
                for i in range(dealt, dealt + game.board[street]):
                    out[block + table.deck[i]] = 1
            dealt += game.board[street]


@rule
def reveal(game, table, seat, out):
    """Write the others' hole cards, [seats - 1, cards], in order from the observer's left."""
    out[:] = 0
    for other in range(1, game.seats):
        first = (seat + other) % game.seats * game.hole
        for i in range(first, first + game.hole):
            out[(other - 1) * game.cards + table.deck[i]] = 1


@rule
def infoset(game, table, seat, out):
    """Write the key of what a seat knows: seat, own cards, visible board, actions so far.

    Cards that came together are sorted, since their order means nothing.
    """
    out[:] = 0
    out[0] = seat
    at = write_sorted(table, seat * game.hole, game.hole, out, 1)
    dealt = game.seats * game.hole
    for street in range(game.streets):
        if street <= table.street:
            at = write_sorted(table, dealt, game.board[street], out, at)
            dealt += game.board[street]
    out[at] = table.moves
    for i in range(table.moves):
        out[at + 1 + i] = table.line[i]


@rule
def write_sorted(table, first, count, out, at):
    """Write `count` cards of the deck from `first` on in ascending order; return the next place."""
    for i in range(count):
        card = table.deck[first + i]
        place = at + i
        while place > at and out[place - 1] > card:
            out[place] = out[place - 1]
            place -= 1
        out[place] = card
    return at + count
