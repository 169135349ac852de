"""One betting engine for every poker variant: Kuhn, Leduc, limit and no-limit hold'em, 2-9 seats.

The actions are 0 fold (only when facing a bet), 1 check or call, 2 bet or raise. In no-limit,
action k >= 2 is a raise to k chips, counted over the whole hand as in the Annual Computer Poker
Competition; in games with a list of bet sizes, it is a raise by entry k - 2 of this list.

In no-limit, a full bet or raise adds at least the smallest bet, and at least as much as the largest
raise on the street; only an all-in may add less. A player that has acted may raise again only when
facing a full bet or raise. A smaller all-in does not reopen the betting, but several do once they
add up to a full one (rules 43 and 47 of the Poker Tournament Directors Association, TDA, 2024).
With `short_bets_reopen`, the first bet of a street and the first raise over the blinds count as
full whatever their size, as in PokerKit.

In limit games a raise adds the street's raise size; only an all-in may add less. Such an all-in
counts towards the maximum number of raises, and the next raise adds the full size to it. A player
that has acted may raise again only when facing half a bet or more (TDA rule 47).
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.poker.hand_features import write_hand_features, write_hidden_hand_comparisons
from poker_rl.games.poker.observation import (
    infoset,
    observe,
    observe_hidden_cards,
    observe_history,
    resample_hidden_cards,
)
from poker_rl.games.poker.pots import payoffs
from poker_rl.games.poker.suit_isomorphism import (
    observe_hidden_cards_sorted,
    observe_sorted,
    observe_sorted_log_chips,
)
from poker_rl.games.poker.table_dtypes import (
    CALL,
    FOLD,
    FULL_POT,
    MAX_MOVES,
    RAISE,
    has_limited_stacks,
    is_no_limit,
)


@jit
def start(game, table):
    """Start a hand: post antes and blinds, and set the first seat to act."""
    table.street = table.raises = table.over = table.error = table.moves = table.marks = 0
    table.live = table.pending = game.seats
    table.price = game.price
    seats_with_chips = 0
    for seat in range(game.seats):
        table.folded[seat] = 0
        table.paid[seat] = game.post[seat]
        seats_with_chips += game.post[seat] < game.stack[seat]
        if game.blind_raise_count and game.post[seat] > game.ante:
            table.to_act = seat
            if has_limited_stacks(table):
                table.chips[table.marks] = game.post[seat]
            append_action_mark(game, table, RAISE if game.post[seat] == game.price else CALL)
    table.raises = game.blind_raise_count
    table.to_act = game.opener[0]
    if has_limited_stacks(table):
        table.able[0] = seats_with_chips
        table.acted[0] = 0
        table.pending = seats_with_chips
        if is_no_limit(table):
            table.raise_by[0] = 0
        table.to_act = find_next_seat(game, table, table.to_act)


@jit
def append_action_mark(game, table, action):
    """Append to `table.mark` the index of the observation feature that an action sets.

    If the observation has no feature for folds (`type_count` is 2), a fold is not appended.
    """
    action_type = RAISE - action  # 0 raise, 1 call, 2 fold
    cell = (table.to_act * game.streets + table.street) * game.raise_levels + table.raises
    table.mark[table.marks] = cell * game.type_count + action_type
    table.marks += action_type < game.type_count


@jit
def can_fold(table):
    """Return whether the seat to act faces a bet and so may fold."""
    return table.paid[table.to_act] < table.price


@jit
def can_raise(game, table):
    """Return whether the seat to act may raise by the rules in the module's docstring.

    With stacks, an opponent must have chips left to call the raise. In no-limit nobody may raise
    after `game.last_raise` actions, because a table can record at most `MAX_MOVES` actions.
    """
    if not has_limited_stacks(table):
        return table.raises < game.max_raises[table.street]
    seat = table.to_act
    if is_no_limit(table):
        if game.stack[seat] <= table.price or table.moves >= game.last_raise:
            return False
        min_raise_increment = table.raise_by[0]
        if not game.short_bets_reopen:
            min_raise_increment = compute_min_raise_increment(game, table)
    else:
        if game.stack[seat] <= table.price or table.raises >= game.max_raises[table.street]:
            return False
        min_raise_increment = (game.raise_size[table.street] + 1) // 2
    if table.acted[0] >> seat & 1 and table.price - table.paid[seat] < min_raise_increment:
        return False
    for opponent in range(game.seats):
        if opponent != seat and game.stack[opponent] > table.price and not table.folded[opponent]:
            return True
    return False


@jit
def compute_min_raise_increment(game, table):
    """Return the least chips that a full no-limit bet or raise adds to the highest bet."""
    return max(table.raise_by[0], game.min_bet)


@jit
def compute_min_raise_to(game, table):
    """Return the chips that the smallest no-limit raise raises to, if a raise is legal."""
    return min(table.price + compute_min_raise_increment(game, table), game.stack[table.to_act])


@jit
def compute_pot_after_call(game, table):
    """Return the pot as it would be if the seat to act called."""
    pot = game.dead_pot + table.price - table.paid[table.to_act]
    for seat in range(game.seats):
        pot += table.paid[seat]
    return pot


@jit
def compute_sized_raise_to(game, table, size_index, pot_after_call):
    """Return the chips that a raise by bet size `size_index` raises to, limited to legal raises."""
    # Round to whole chips, halves up.
    increment = (np.int64(game.size[size_index]) * pot_after_call + FULL_POT // 2) // FULL_POT
    target = min(table.price + increment, np.int64(game.stack[table.to_act]))
    return max(target, np.int64(compute_min_raise_to(game, table)))


@jit
def compute_raise_to(game, table, action):
    """Return the chips that an action raises to in a game with stacks; 0 if it is no legal raise.

    If several listed bet sizes give the same amount, only the first is legal.
    """
    if action < RAISE or not can_raise(game, table):
        return 0
    if not is_no_limit(table):
        target = np.int64(table.price) + game.raise_size[table.street]
        return min(target, np.int64(game.stack[table.to_act])) if action == RAISE else 0
    if game.sizes == 0:
        is_legal = compute_min_raise_to(game, table) <= action <= game.stack[table.to_act]
        return action if is_legal else 0
    size_index = action - RAISE
    if size_index >= game.sizes:
        return 0
    pot = compute_pot_after_call(game, table)
    target = compute_sized_raise_to(game, table, size_index, pot)
    if size_index > 0 and compute_sized_raise_to(game, table, size_index - 1, pot) == target:
        return 0
    return target


@jit
def legal(game, table, mask):
    mask[FOLD] = can_fold(table)
    mask[CALL] = True
    if not is_no_limit(table):
        mask[RAISE] = can_raise(game, table)
        return
    for action in range(RAISE, len(mask)):
        mask[np.uint64(action)] = False
    if not can_raise(game, table):
        return
    if game.sizes == 0:
        for target in range(compute_min_raise_to(game, table), game.stack[table.to_act] + 1):
            # With an unsigned index the compiler turns the loop into one memset.
            mask[np.uint64(target)] = True
    else:
        pot, previous_target = compute_pot_after_call(game, table), 0
        for size in range(game.sizes):
            target = compute_sized_raise_to(game, table, size, pot)
            mask[RAISE + size] = target != previous_target
            previous_target = target


@jit
def step(game, table, action):
    """Play one action of the seat to act; an illegal one only sets `table.error`.

    The code computes the values of all cases and then selects one, since the CPU would often
    mispredict branches.
    """
    folds = (action == FOLD) & can_fold(table)
    target = 0
    if has_limited_stacks(table):
        target = compute_raise_to(game, table, action)
        raises = target > 0
    else:
        raises = (action == RAISE) & can_raise(game, table)
    if table.over or not (folds | raises | (action == CALL)):
        table.error = 1
        return
    mark_index = table.marks
    append_action_mark(game, table, min(action, RAISE))
    table.line[table.moves] = action
    table.moves += 1

    seat, street = table.to_act, table.street
    seats_in_hand = table.live - folds
    responders = seats_in_hand  # number of seats that may act after a raise, plus the raiser
    price = table.price + raises * game.raise_size[street]
    chips_in = price
    is_last_street = street + 1 == game.streets
    if has_limited_stacks(table):
        price = max(table.price, target)
        chips_in = min(price, game.stack[seat])
        responders = table.able[0]
        seats_with_chips = responders - (folds | (chips_in == game.stack[seat]))
        is_last_street |= seats_with_chips < 2
        table.able[0] = seats_with_chips
        table.acted[0] |= 1 << seat
        if is_no_limit(table):
            table.raise_by[0] = max(table.raise_by[0], price - table.price)
    pending = table.pending
    if raises:
        pending = responders
    pending -= 1
    is_street_closed = pending == 0
    table.live = seats_in_hand
    table.price = price
    table.folded[seat] = folds
    paid = table.paid[seat]
    table.paid[seat] = paid if folds else chips_in
    table.over = (seats_in_hand == 1) | (is_street_closed & is_last_street)
    if has_limited_stacks(table) and table.marks > mark_index:  # a heads-up fold is not marked
        table.chips[mark_index] = table.paid[seat]
    if not table.over:
        street += is_street_closed
        raise_count = table.raises + raises
        opener = game.opener[street]
        seat += 1
        if is_street_closed:
            seat, raise_count, pending = opener, 0, seats_in_hand
        if has_limited_stacks(table):
            raise_count = min(raise_count, game.raise_levels - 1)
            if is_street_closed:
                pending = table.able[0]
                table.acted[0] = 0
                if is_no_limit(table):
                    table.raise_by[0] = 0
        table.street = street
        table.raises = raise_count
        table.pending = pending
        table.to_act = find_next_seat(game, table, seat)


@jit
def find_next_seat(game, table, seat):
    """Return the first seat that has not folded and is not all-in, from `seat` on in turn order."""
    if seat == game.seats:
        seat = 0
    while table.folded[seat] or (
        has_limited_stacks(table) and table.paid[seat] == game.stack[seat]
    ):
        seat += 1
        if seat == game.seats:
            seat = 0
    return seat
