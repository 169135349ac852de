"""One betting engine for every poker variant: Kuhn, Leduc, limit hold'em, 2-9 seats.

A variant is a record of GAME; a table is a record of TABLE. The rules below are functions of both.
Betting order, fold only when facing a bet, and raises counted without the blinds follow the ACPC
conventions (OpenSpiel's `universal_poker`); heads-up, seat 1 is the button with the small blind.

Actions: 0 fold, 1 check or call, 2 bet or raise.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import strength
from poker_rl.games.game import rule, shuffle

SEATS, STREETS, HOLE, BOARD, CARDS, MOVES = 9, 4, 2, 5, 52, 192
CHIPS = 2**31 - 1  # in a pot
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
        ("shown", "i1", STREETS),  # board cards seen by then
        ("ante", "i4"),
        ("post", "i4", SEATS),  # ante and blind of each seat
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
    ]
)

TABLE = np.dtype(  # what a move touches lies together, fields aligned, 12 cache lines in all
    [
        ("key", "u8"),  # random state: a key and a counter
        ("draws", "u8"),
        ("price", "i4"),  # chips a seat must have put in to stay
        ("paid", "i4", SEATS),  # chips put in by each seat
        ("moves", "u2"),
        ("marks", "u2"),
        ("street", "i1"),
        ("to_act", "u1"),
        ("raises", "i1"),  # on this street, the big blind counted
        ("live", "i1"),  # seats that have not folded
        ("pending", "i1"),  # seats still to act on this street
        ("over", "i1"),
        ("error", "i1"),  # 1 + the illegal action; checked after the loop
        ("variant", "u1"),  # which of the game's definitions it plays
        ("folded", "i1", SEATS),
        ("deck", "i1", CARDS),
        ("hand", "i1", HOLE + BOARD),  # room for `payoffs`
        ("rank", "i4", SEATS),  # room for `payoffs`
        ("mark", "i2", MOVES + SEATS),  # cells of the actions in the betting block, by seat
        ("line", "u1", MOVES),  # actions so far
        ("spare", "u1", 2),
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
    table.raises = 0
    table.live = game.seats
    table.pending = game.seats
    table.over = 0
    table.error = 0
    table.moves = 0
    table.marks = 0
    table.price = game.price
    for seat in range(game.seats):
        table.folded[seat] = 0
        table.paid[seat] = game.post[seat]
    if game.forced_raises:
        for seat in range(game.seats):
            table.to_act = seat
            if game.post[seat] > game.ante:
                note(game, table, RAISE if game.post[seat] == game.price else CALL)
    table.raises = game.forced_raises
    table.to_act = game.opener[0]


@rule
def note(game, table, action):
    """Mark an action's cell [seat, street, raises before it, kind], where the network sees it."""
    kind = RAISE - action  # raise, call, fold
    cell = (table.to_act * game.streets + table.street) * game.levels + table.raises
    table.mark[table.marks] = cell * game.kinds + kind
    table.marks += kind < game.kinds


@rule
def can_fold(table):
    """Only facing a bet."""
    return table.paid[table.to_act] < table.price


@rule
def can_raise(game, table):
    """Until the street's bets are capped."""
    return table.raises < game.max_raises[table.street]


@rule
def legal(game, table, mask):
    """Write which of the three actions the seat to act may take."""
    mask[FOLD] = can_fold(table)
    mask[CALL] = True
    mask[RAISE] = can_raise(game, table)


@rule
def step(game, table, action):
    """Play one action of the seat to act; an illegal one only sets `table.error`.

    Values are read first and chosen after: compiled without branches, which random play would
    mispredict.
    """
    folds = (action == FOLD) & can_fold(table)
    raises = (action == RAISE) & can_raise(game, table)
    if table.over or not (folds | raises | (action == CALL)):
        table.error = 1 + action if FOLD <= action <= RAISE else 127
        return
    note(game, table, action)
    table.line[table.moves] = action
    table.moves += 1

    seat, street = table.to_act, table.street
    live = table.live - folds
    price = table.price + raises * game.raise_size[street]
    pending = table.pending
    if raises:
        pending = live
    pending -= 1
    closed = pending == 0
    table.live = live
    table.price = price
    table.folded[seat] = folds
    paid = table.paid[seat]
    table.paid[seat] = paid if folds else price
    table.over = (live == 1) | (closed & (street + 1 == game.streets))
    if not table.over:
        street += closed
        count = table.raises + raises
        opener = game.opener[street]
        seat += 1
        if closed:
            seat, count, pending = opener, 0, live
        table.street = street
        table.raises = count
        table.pending = pending
        table.to_act = next_seat(game, table, seat)


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
def card_at(table, place):
    """A card of the deck; an unsigned index spares the test for one that counts from the end."""
    return table.deck[np.uint64(place)]


@rule
def payoffs(game, table, out):
    """Write the chips won by each seat, summing to zero.

    Best hands share the pot; its odd chips go one each to the first winners left of the button.
    """
    pot = 0
    best = -1
    winners = 0
    first = game.seats * game.hole
    board = game.dealt - first
    if table.live > 1:
        for i in range(board):
            table.hand[game.hole + i] = card_at(table, first + i)
    for seat in range(game.seats):
        pot += table.paid[seat]
        rank = -1
        if not table.folded[seat]:
            rank = 0
            if table.live > 1:
                for i in range(game.hole):
                    table.hand[i] = card_at(table, seat * game.hole + i)
                rank = strength(table.hand, game.hole + board, game.suits)
            if rank > best:
                best = rank
                winners = 1
            elif rank == best:
                winners += 1
        table.rank[seat] = rank
    share = pot // winners
    odd = pot - share * winners
    for seat in range(game.seats):
        won = -table.paid[seat]
        if table.rank[seat] == best:
            won += share
            if odd > 0:
                won += 1
                odd -= 1
        out[seat] = won
    for seat in range(game.seats, len(out)):
        out[seat] = 0


@rule
def observe(game, table, seat, out):
    """Write what a seat sees as 0/1 features.

    [room, streets, levels, kinds]  actions so far by seat relative to the observer, street, raises
                                    before the action, and kind (raise, call, fold); blinds that
                                    differ stand as a call (small) and a raise (big), and an empty
                                    seat as a fold before any raise, which nobody else can make
    [cards]                         own hole cards
    [cards] for each street that deals board cards
    """
    clear(out)
    block = game.seats * game.plane
    own = seat * game.plane
    marks = table.marks  # read once: for all the compiler knows, `out` lies over the table
    for i in range(marks):
        cell = table.mark[i] - own
        out[np.uint64(cell if cell >= 0 else cell + block)] = 1
    for i in range(game.seats, game.room):
        out[np.uint64(i * game.plane + RAISE - FOLD)] = 1
    first = seat * game.hole
    last = first + game.hole
    for i in range(first, last):
        out[np.uint64(game.own_plane + card_at(table, i))] = 1
    first = game.seats * game.hole
    shown = game.shown[table.street]
    for i in range(shown):
        out[np.uint64(game.card_plane[i] + card_at(table, first + i))] = 1


@rule
def clear(out):
    """Zero an array; a plain loop compiles sooner than a slice."""
    for i in range(len(out)):
        out[i] = 0


@rule
def reveal(game, table, seat, out):
    """Write the others' hole cards, [seats - 1, cards], in order from the observer's left."""
    clear(out)
    for other in range(1, game.seats):
        first = (seat + other) % game.seats * game.hole
        for i in range(first, first + game.hole):
            out[(other - 1) * game.cards + table.deck[i]] = 1


@rule
def infoset(game, table, seat, out):
    """Write the key of what a seat knows: seat, of how many, actions, own cards, visible board.

    Cards that came together are sorted, since their order means nothing.
    """
    clear(out)
    out[0] = game.seats << 4 | seat
    out[1] = table.moves
    for i in range(table.moves):
        out[2 + i] = table.line[i]
    at = write_sorted(table, seat * game.hole, game.hole, out, 2 + table.moves)
    dealt = game.seats * game.hole
    for street in range(table.street + 1):
        at = write_sorted(table, dealt, game.board[street], out, at)
        dealt += game.board[street]


@rule
def write_sorted(table, first, count, out, at):
    """Write `count` cards of the deck from `first` on in ascending order; return the next place."""
    for i in range(count):
        card = card_at(table, first + i)
        place = at + i
        while place > at and out[place - 1] > card:
            out[place] = out[place - 1]
            place -= 1
        out[place] = card
    return at + count
