"""What the seats at a table of poker see, as features, as a sequence and as a key."""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import below, clear, rule
from poker_rl.games.poker.table import CARDS, FOLD, RAISE, card_at, has_stacks, no_limit


@rule
def observe(game, table, seat, out):
    """Write what a seat sees, in games without stacks as 0/1 features.

    [room, streets, levels, kinds]  actions so far by seat relative to the observer, street, raises
                                    before the action, and kind (raise, call, fold); blinds that
                                    differ stand as a call (small) and a raise (big), and an empty
                                    seat as a fold before any raise, which nobody else can make
    [cards]                         own hole cards
    [cards] for each street that deals board cards

    With stacks an action's cell holds the chips that its seat has put in after it, all chips as
    shares of the most that a seat can put in. From a street's last level on, the newest action
    of a seat and kind takes the place of those before. After the cards:

    [room, 3]  of each seat, from the observer on: chips put in, chips left, whether it can win
    [3]        the pot, the price of staying in, the chips the seat has to add
    """
    clear(out)
    block = game.seats * game.plane
    own = seat * game.plane
    marks = table.marks  # read once: for all the compiler knows, `out` lies over the table
    if has_stacks(table):
        for i in range(marks):
            cell = table.mark[i] - own
            at = np.uint64(cell if cell >= 0 else cell + block)
            out[at] = table.chips[i] * game.chip
    else:
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
    if has_stacks(table):
        observe_chips(game, table, seat, out)


@rule
def observe_chips(game, table, seat, out):
    """Write the last part of an observation of a game with stacks."""
    at, pot, chip = game.chip_plane, np.int64(game.dead_pot), game.chip
    for i in range(game.seats):
        other = seat + i if seat + i < game.seats else seat + i - game.seats
        paid = table.paid[other]
        pot += paid
        out[np.uint64(at)] = paid * chip
        out[np.uint64(at + 1)] = (game.stack[other] - paid) * chip
        out[np.uint64(at + 2)] = 1 - table.folded[other]
        at += 3
    at = game.chip_plane + 3 * game.room
    out[np.uint64(at)] = pot * chip
    out[np.uint64(at + 1)] = table.price * chip
    out[np.uint64(at + 2)] = (min(table.price, game.stack[seat]) - table.paid[seat]) * chip


@rule
def history(game, table, seat, out):
    """Write the actions so far in order, blinds that differ first; return how many there are.

    A step, of as many as `out` [L, F] has room for:

    [room]     who acted, from the observer on
    [streets]  when
    [3]        fold, call or raise; the small blind is a call, the big one a raise
    [1]        chips it put in with this action
    [2]        with stacks only: chips it began the hand with, and the share of them it has left

    Chips are shares of the most that a seat can put in. A fold that ends a hand may be left out.
    """
    paid = table.rank
    blinds = 0
    for i in range(game.seats):
        paid[i] = game.ante if game.forced_raises else game.post[i]
        blinds += game.forced_raises and game.post[i] > game.ante
    price = game.price
    for i in range(min(int(table.marks), len(out))):
        clear(out[i])
        cell = table.mark[i]
        action = RAISE - cell % game.kinds
        when = cell // game.kinds // game.levels
        who, street = when // game.streets, when % game.streets
        if has_stacks(table):
            put = np.int64(table.chips[i])
        elif i < blinds:
            put = np.int64(game.post[who])
        else:
            price += game.raise_size[street] if action == RAISE else 0
            put = np.int64(paid[who] if action == FOLD else price)
        out[i, (who - seat) % game.seats] = 1
        at = game.room
        out[i, at + street] = 1
        at += game.streets
        out[i, at + action] = 1
        out[i, at + 3] = (put - paid[who]) * game.chip
        if has_stacks(table):
            stack = game.stack[who]
            out[i, at + 4] = stack * game.chip
            out[i, at + 5] = (stack - put) / stack
        paid[who] = put
    return table.marks


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

    Cards that came together are sorted, since their order means nothing. A no-limit action takes
    two bytes.
    """
    clear(out)
    out[0] = game.seats << 4 | seat
    out[1] = table.moves
    at = 2
    for i in range(table.moves):
        out[at] = table.line[i] & 255
        at += 1
        if no_limit(table):
            out[at] = table.line[i] >> 8
            at += 1
    at = write_sorted(table, seat * game.hole, game.hole, out, at)
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


@rule
def redeal(game, table):
    """Deal the others' hole cards and the board to come anew."""
    hidden, unseen = np.empty(CARDS, np.int64), np.empty(CARDS, np.int64)
    places, count = hide(game, table, hidden, unseen)
    deal_unseen(table, hidden, places, unseen, count)


@rule
def hide(game, table, hidden, unseen):
    """Write the places of the deck that the seat to act can't see, and all cards that it can't.

    Returns how many there are of each.
    """
    own, board = table.to_act * game.hole, game.seats * game.hole
    for card in range(game.cards):
        unseen[card] = card
    places = 0
    for place in range(game.dealt):
        if own <= place < own + game.hole or board <= place < board + game.shown[table.street]:
            unseen[table.deck[place]] = -1
        else:
            hidden[places] = place
            places += 1
    count = 0
    for card in range(game.cards):
        if unseen[card] >= 0:
            unseen[count] = card
            count += 1
    return places, count


@rule
def deal_unseen(table, hidden, places, unseen, count):
    """Fill the hidden places with distinct unseen cards (Fisher-Yates)."""
    for i in range(places):
        j = i + below(table, count - i)
        unseen[i], unseen[j] = unseen[j], unseen[i]
        table.deck[hidden[i]] = unseen[i]
