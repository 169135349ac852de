"""The rules that show a poker table to a seat: features, history, hidden cards and keys."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import fill_zeros, insert_sorted, jit, random_below
from poker_rl.games.poker.table_dtypes import (
    FOLD,
    MAX_DECK_SIZE,
    RAISE,
    get_deck_card,
    has_limited_stacks,
    is_no_limit,
)


@jit
def observe(game, table, seat, out):
    """Write what a seat, the observer, sees of the table.

    If the game has no stacks, all features are 0 or 1.

    [seat_slots, streets, raise_levels, type_count]
               1 if there was an action of this seat (counted from the observer), on this street,
               after this number of raises (the last index: this many or more), of this type (raise,
               call, fold). If blinds differ by seat, the largest counts as a raise, smaller ones as
               calls. Slots without a seat are marked by a fold before any raise, which no real seat
               can make
    [cards]    the observer's hole cards
    [cards]    board cards, a block for each street that deals some

    With stacks, the 1 of an action is replaced by the chips that its seat had put in after this
    action; of several actions with the same feature the newest counts. All chips are divided by the
    most that a seat can put in. These features follow the cards:

    [seat_slots, 3]  for each seat from the observer on: chips put in, chips left, whether it has
                     not folded
    [3]              the pot, the chips that a seat must have put in to stay in the hand, the
                     observer's chips to call
    """
    fill_zeros(out)
    betting_block_size = game.seats * game.seat_cells
    own_offset = seat * game.seat_cells
    marks = table.marks  # a local copy, else each write causes a new read of the field
    for i in range(marks):
        cell = table.mark[i] - own_offset
        index = np.uint64(cell if cell >= 0 else cell + betting_block_size)
        if has_limited_stacks(table):
            out[index] = table.chips[i] * game.chip
        else:
            out[index] = 1
    for i in range(game.seats, game.seat_slots):
        out[np.uint64(i * game.seat_cells + RAISE - FOLD)] = 1
    deck_start = seat * game.hole
    for i in range(deck_start, deck_start + game.hole):
        out[np.uint64(game.hole_offset + get_deck_card(table, i))] = 1
    deck_start = game.seats * game.hole
    for i in range(game.shown[table.street]):
        out[np.uint64(game.board_offset[i] + get_deck_card(table, deck_start + i))] = 1
    if has_limited_stacks(table):
        observe_chip_features(game, table, seat, out)


@jit
def observe_chip_features(game, table, seat, out):
    """Write the features of an observation that follow the cards in games with stacks."""
    offset, pot, chip = game.chip_offset, np.int64(game.dead_pot), game.chip
    for i in range(game.seats):
        seat_index = seat + i if seat + i < game.seats else seat + i - game.seats
        paid = table.paid[seat_index]
        pot += paid
        out[np.uint64(offset)] = paid * chip
        out[np.uint64(offset + 1)] = (game.stack[seat_index] - paid) * chip
        out[np.uint64(offset + 2)] = 1 - table.folded[seat_index]
        offset += 3
    offset = game.chip_offset + 3 * game.seat_slots
    out[np.uint64(offset)] = pot * chip
    out[np.uint64(offset + 1)] = table.price * chip
    out[np.uint64(offset + 2)] = (min(table.price, game.stack[seat]) - table.paid[seat]) * chip


@jit
def observe_history(game, table, seat, out):
    """Write the actions so far into `out` [L, F], one per row; return their number.

    If blinds differ by seat, they count as actions, as in `observe`. If there are more than L
    actions, only the newest L are written. The F features of an action are

    [seat_slots]  the seat that acted, counted from the observer
    [streets]     the street
    [3]           fold, call or raise
    [1]           chips put in by this action, as a share of the most that a seat can put in
    [2]           only with stacks: the starting stack of the seat, as a share of the same amount,
                  and the share of this stack that is left

    If `type_count` is 2 (a game for two seats only), the fold that ends a hand is missing.
    """
    chips_in = table.rank
    blinds = 0
    for i in range(game.seats):
        chips_in[i] = game.ante if game.blind_raise_count else game.post[i]
        blinds += game.blind_raise_count and game.post[i] > game.ante
    price = game.price
    first_written = max(int(table.marks) - len(out), 0)
    for i in range(table.marks):
        cell = table.mark[i]
        action = RAISE - cell % game.type_count
        street_cell = cell // game.type_count // game.raise_levels
        actor, street = street_cell // game.streets, street_cell % game.streets
        if has_limited_stacks(table):
            chips_after = np.int64(table.chips[i])
        elif i < blinds:
            chips_after = np.int64(game.post[actor])
        else:
            price += game.raise_size[street] if action == RAISE else 0
            chips_after = np.int64(chips_in[actor] if action == FOLD else price)
        chips_added = chips_after - chips_in[actor]
        chips_in[actor] = chips_after
        if i < first_written:
            continue
        row = out[i - first_written]
        fill_zeros(row)
        row[(actor - seat) % game.seats] = 1
        offset = game.seat_slots
        row[offset + street] = 1
        offset += game.streets
        row[offset + action] = 1
        row[offset + 3] = chips_added * game.chip
        if has_limited_stacks(table):
            stack = game.stack[actor]
            row[offset + 4] = stack * game.chip
            row[offset + 5] = (stack - chips_after) / stack
    return table.marks


@jit
def observe_hidden_cards(game, table, seat, out):
    """Write the hole cards of each other seat in turn order, [seats - 1, cards], 0 or 1."""
    fill_zeros(out)
    for opponent in range(1, game.seats):
        deck_start = (seat + opponent) % game.seats * game.hole
        for i in range(deck_start, deck_start + game.hole):
            out[(opponent - 1) * game.cards + table.deck[i]] = 1


@jit
def infoset(game, table, seat, out):
    """Write the key of an information set.

    The key has the number of seats, the seat, the number of actions, the actions, the hole cards of
    the seat and the visible board cards. Cards dealt together are sorted. An action takes one byte,
    in no-limit two.
    """
    fill_zeros(out)
    out[0] = game.seats << 4 | seat
    out[1] = table.moves
    offset = 2
    for i in range(table.moves):
        out[offset] = table.line[i] & 255
        offset += 1
        if is_no_limit(table):
            out[offset] = table.line[i] >> 8
            offset += 1
    offset = write_sorted_card_numbers(table, seat * game.hole, game.hole, out, offset)
    deck_position = game.seats * game.hole
    for street in range(table.street + 1):
        offset = write_sorted_card_numbers(table, deck_position, game.board[street], out, offset)
        deck_position += game.board[street]


@jit
def write_sorted_card_numbers(table, start, count, out, offset):
    """Write `count` cards of the deck from `start` on, sorted; return the offset after them."""
    for i in range(count):
        insert_sorted(out[offset:], i, get_deck_card(table, start + i))
    return offset + count


@jit
def resample_hidden_cards(game, table):
    """Redeal at random the other seats' hole cards and the board cards that are still to come."""
    hidden_positions = np.empty(MAX_DECK_SIZE, np.int64)
    unseen_cards = np.empty(MAX_DECK_SIZE, np.int64)
    hidden_count, unseen_count = find_hidden_positions_and_cards(
        game, table, hidden_positions, unseen_cards
    )
    redeal_hidden_cards(table, hidden_positions, hidden_count, unseen_cards, unseen_count)


@jit
def find_hidden_positions_and_cards(game, table, hidden_positions, unseen_cards):
    """Write the deck positions that the seat to act cannot see, and the cards that it does not see.

    Return the number of each. Cards of the deck that are not dealt count as unseen.
    """
    own_start, board_start = table.to_act * game.hole, game.seats * game.hole
    hidden_count, unseen_count, seen_mask = 0, 0, 0
    for position in range(game.dealt):
        if (
            own_start <= position < own_start + game.hole
            or board_start <= position < board_start + game.shown[table.street]
        ):
            seen_mask |= 1 << table.deck[position]
        else:
            hidden_positions[hidden_count] = position
            hidden_count += 1
    for card in range(game.cards):
        if not seen_mask >> card & 1:
            unseen_cards[unseen_count] = card
            unseen_count += 1
    return hidden_count, unseen_count


@jit
def redeal_hidden_cards(table, hidden_positions, hidden_count, unseen_cards, unseen_count):
    """Fill the hidden positions of the deck with distinct random unseen cards (Fisher-Yates)."""
    for i in range(hidden_count):
        j = i + random_below(table, unseen_count - i)
        unseen_cards[i], unseen_cards[j] = unseen_cards[j], unseen_cards[i]
        table.deck[hidden_positions[i]] = unseen_cards[i]
