"""One betting engine for every poker variant: Kuhn, Leduc, limit and no-limit hold'em, 2-9 seats.

A variant is a record of GAME; a table is a record of one of the dtypes in `table`. The rules below
are functions of both. Betting order, fold only when facing a bet, and raises counted without the
blinds follow the ACPC conventions (OpenSpiel's `universal_poker`); heads-up, seat 1 is the button
with the small blind.

Actions: 0 fold, 1 check or call, 2 bet or raise. No-limit: k >= 2 is a raise to k chips, counted
over the whole hand as ACPC does, or the raise of place k - 2 in the game's list of bet sizes.

A no-limit raise is at least as large as the largest on its street and as the smallest bet; less is
only a whole stack. A player who has acted may raise again only if he faces a full bet or raise,
which is as much: an all-in of less does not reopen the betting for him, and several do once they
add up to a full one (rules 43 and 47 of the Poker Tournament Directors Association, TDA, 2024). In
a game with `short_bets_reopen` the first bet of a street and the first raise over the blinds are
full ones whatever their size, as in PokerKit: an all-in of less than the smallest bet lets those
who have acted raise.

A limit raise is of the street's size; less is only a whole stack. It is a raise whatever its size:
the next one adds the street's size to it, and it counts towards the cap. A player who has acted
may raise again only if he faces half a bet or more (TDA rule 47, in limit games).
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import rule, shuffle
from poker_rl.games.poker.pots import payoffs
from poker_rl.games.poker.sight import history, infoset, observe, redeal, reveal
from poker_rl.games.poker.table import (
    BOARD,
    CALL,
    CARDS,
    FOLD,
    HOLE,
    MOVES,
    POT,
    RAISE,
    SEATS,
    has_stacks,
    no_limit,
)

__all__ = [  # the rules that stand in other files, and the names of what they are about
    "BOARD",
    "CALL",
    "CARDS",
    "FOLD",
    "HOLE",
    "MOVES",
    "RAISE",
    "SEATS",
    "can_fold",
    "deal",
    "history",
    "infoset",
    "legal",
    "observe",
    "payoffs",
    "redeal",
    "reveal",
    "start",
    "step",
]


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
                if has_stacks(table):
                    table.chips[table.marks] = game.post[seat]
                note(game, table, RAISE if game.post[seat] == game.price else CALL)
    table.raises = game.forced_raises
    table.to_act = game.opener[0]
    if has_stacks(table):
        able = 0
        for seat in range(game.seats):
            able += has_chips(game, table, seat)
        table.able[0] = able
        table.acted[0] = 0
        table.pending = able
        if no_limit(table):
            table.raise_by[0] = 0
        table.to_act = next_seat(game, table, table.to_act)


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
    """In limit games until the street's bets are capped.

    With stacks only with chips over the price, against somebody who has some, and facing enough of
    a raise or acting for the first time on the street. In no-limit not in the last moves that a
    record has room for.
    """
    if not has_stacks(table):
        return table.raises < game.max_raises[table.street]
    seat = table.to_act
    if no_limit(table):
        if game.stack[seat] <= table.price or table.moves >= game.last_raise:
            return False
        full = table.raise_by[0] if game.short_bets_reopen else full_raise(game, table)
    else:
        if game.stack[seat] <= table.price or table.raises >= game.max_raises[table.street]:
            return False
        full = (game.raise_size[table.street] + 1) // 2
    if table.acted[0] >> seat & 1 and table.price - table.paid[seat] < full:
        return False
    for other in range(game.seats):
        if other != seat and game.stack[other] > table.price and not table.folded[other]:
            return True
    return False


@rule
def has_chips(game, table, seat):
    """Return whether a seat of a table with stacks has chips left."""
    return table.paid[seat] < game.stack[seat]


@rule
def full_raise(game, table):
    """The fewest chips that a full bet or raise of a no-limit street adds to the price."""
    return max(table.raise_by[0], game.min_bet)


@rule
def least_raise(game, table):
    """The fewest chips that a no-limit raise can be to, if there can be one."""
    return min(table.price + full_raise(game, table), game.stack[table.to_act])


@rule
def pot_after_calling(game, table):
    """Chips in the middle once the seat to act has called."""
    pot = game.dead_pot + table.price - table.paid[table.to_act]
    for seat in range(game.seats):
        pot += table.paid[seat]
    return pot


@rule
def sized(game, table, size, pot):
    """The chips that a raise of a listed size is to, within what is legal."""
    by = (np.int64(game.size[size]) * pot + POT // 2) // POT  # halves up
    to = min(table.price + by, np.int64(game.stack[table.to_act]))
    return max(to, np.int64(least_raise(game, table)))


@rule
def raise_to(game, table, action):
    """The chips that an action is a raise to at a table with stacks; 0 if it is no legal raise.

    Of listed sizes that come to the same only the first is legal.
    """
    if action < RAISE or not can_raise(game, table):
        return 0
    if not no_limit(table):
        to = np.int64(table.price) + game.raise_size[table.street]
        return min(to, np.int64(game.stack[table.to_act])) if action == RAISE else 0
    if game.sizes == 0:
        legal = least_raise(game, table) <= action <= game.stack[table.to_act]
        return action if legal else 0
    size = action - RAISE
    if size >= game.sizes:
        return 0
    pot = pot_after_calling(game, table)
    to = sized(game, table, size, pot)
    if size > 0 and sized(game, table, size - 1, pot) == to:
        return 0
    return to


@rule
def legal(game, table, mask):
    """Write which actions the seat to act may take."""
    mask[FOLD] = can_fold(table)
    mask[CALL] = True
    if not no_limit(table):
        mask[RAISE] = can_raise(game, table)
        return
    for action in range(RAISE, len(mask)):
        mask[np.uint64(action)] = False
    if not can_raise(game, table):
        return
    if game.sizes == 0:
        for to in range(least_raise(game, table), game.stack[table.to_act] + 1):
            mask[np.uint64(to)] = True  # unsigned, it is a run of bytes to the compiler
    else:
        pot, last = pot_after_calling(game, table), 0
        for size in range(game.sizes):
            to = sized(game, table, size, pot)
            mask[RAISE + size] = to != last
            last = to


@rule
def step(game, table, action):
    """Play one action of the seat to act; an illegal one only sets `table.error`.

    Values are read first and chosen after: compiled without branches, which random play would
    mispredict.
    """
    folds = (action == FOLD) & can_fold(table)
    to = 0
    if has_stacks(table):
        to = raise_to(game, table, action)
        raises = to > 0
    else:
        raises = (action == RAISE) & can_raise(game, table)
    if table.over or not (folds | raises | (action == CALL)):
        table.error = 1
        return
    mark = table.marks
    if no_limit(table):
        note(game, table, min(action, RAISE))
    else:
        note(game, table, action)
    table.line[table.moves] = action
    table.moves += 1

    seat, street = table.to_act, table.street
    live = table.live - folds
    staying = live  # seats that answer a raise, and the one that makes it
    price = table.price + raises * game.raise_size[street]
    put = price
    done = street + 1 == game.streets
    if has_stacks(table):
        price = max(table.price, to)
        put = min(price, game.stack[seat])
        staying = table.able[0]
        able = staying - (folds | (put == game.stack[seat]))
        done |= able < 2
        table.able[0] = able
        table.acted[0] |= 1 << seat
        if no_limit(table):
            table.raise_by[0] = max(table.raise_by[0], price - table.price)
    pending = table.pending
    if raises:
        pending = staying
    pending -= 1
    closed = pending == 0
    table.live = live
    table.price = price
    table.folded[seat] = folds
    paid = table.paid[seat]
    table.paid[seat] = paid if folds else put
    table.over = (live == 1) | (closed & done)
    if has_stacks(table) and table.marks > mark:  # with two seats a fold has no mark
        table.chips[mark] = table.paid[seat]
    if not table.over:
        street += closed
        count = table.raises + raises
        opener = game.opener[street]
        seat += 1
        if closed:
            seat, count, pending = opener, 0, live
        if has_stacks(table):
            count = min(count, game.levels - 1)
            if closed:
                pending = table.able[0]
                table.acted[0] = 0
                if no_limit(table):
                    table.raise_by[0] = 0
        table.street = street
        table.raises = count
        table.pending = pending
        table.to_act = next_seat(game, table, seat)


@rule
def next_seat(game, table, seat):
    """The first seat at or after this one that can act."""
    if seat == game.seats:
        seat = 0
    while table.folded[seat] or (has_stacks(table) and not has_chips(game, table, seat)):
        seat += 1
        if seat == game.seats:
            seat = 0
    return seat
