"""Value function of poker: pot equity, as if all live seats called and then only checked.

The equity of a seat is its expected share of the pot at a showdown, with all hole cards known and
all cards to come equally likely. A seat is live if it has not folded.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game, hash_bytes, jit, random_below
from poker_rl.games.poker.betting import MAX_BOARD_CARDS, MAX_DECK_SIZE, MAX_SEATS
from poker_rl.games.poker.pots import payoffs, rank_hands
from poker_rl.games.poker.record_dtypes import has_stacks

MAX_BOARDS = 1000  # enough for all 990 boards that can follow a heads-up flop in hold'em
MAX_CACHED_SHARES = 64  # size of the cache of pot shares in one deal
HOLE_CARDS_UNKNOWN = -1  # number of known board cards before hole cards are dealt


class EquityValueFunction:
    """Value function of poker that returns two values for each seat.

    The first is equity times pot minus the seat's stake, in chips. The second is the equity itself;
    with a fitted weight it estimates the effect of bets on later streets.

    Boards that can still come are enumerated if there are at most `MAX_BOARDS`. Otherwise this
    number is sampled with a hash of the deal as seed, so that a hand always has the same value.
    """

    def __init__(self, game: Game) -> None:
        self._definitions, self._seats = game.definitions, game.seats

    def compute_values(self, records: np.ndarray, board_cards_known: np.ndarray) -> np.ndarray:
        """Return the value in chips and the equity of each seat at tables [B], [B, seats, 2].

        `board_cards_known` [B] is the number of known board cards. For a finished hand, the value
        in chips is the mean payoff over the boards that could have been dealt, with side pots.
        """
        values = np.zeros((len(records), self._seats, 2))
        known, scratch_table = board_cards_known.astype(np.int64), np.empty(1, records.dtype)
        definitions = self._definitions[records["variant"]]
        _fill_values(definitions, records, known, scratch_table, values)
        return values


@jit
def _fill_values(definitions, tables, board_cards_known, scratch_table, values_out):
    """Write the values [B, seats, 2] of tables [B]; see `EquityValueFunction.compute_values`."""
    cached_shares = np.empty((MAX_CACHED_SHARES, MAX_SEATS))
    mean_payoffs = np.empty(MAX_SEATS)
    # A cache key is the number of known board cards and a bit mask of the folded seats.
    cache_keys = np.empty((MAX_CACHED_SHARES, 2), np.int64)
    cache_size = 0
    for i in range(len(tables)):
        game = definitions[i]
        if i > 0 and not _is_same_deal(game, tables[i], tables[i - 1]):
            cache_size = 0
        scratch_table[0] = tables[i]
        table = scratch_table[0]
        board_size = game.dealt - game.seats * game.hole
        # A single live seat wins the pot with any board, so no board is sampled.
        known_cards = board_size if table.live == 1 else board_cards_known[i]
        folded_bits = 0
        for seat in range(game.seats):
            folded_bits |= table.folded[seat] << seat
        cache_slot = 0
        while cache_slot < cache_size and not (
            cache_keys[cache_slot, 0] == known_cards and cache_keys[cache_slot, 1] == folded_bits
        ):
            cache_slot += 1
        if cache_slot == cache_size:
            cache_slot = min(cache_slot, MAX_CACHED_SHARES - 1)
            cache_size = cache_slot + 1
            cache_keys[cache_slot, 0], cache_keys[cache_slot, 1] = known_cards, folded_bits
            _average_over_boards(game, table, known_cards, False, cached_shares[cache_slot])
        pot = 0
        for seat in range(game.seats):
            pot += _compute_called_stake(game, table, seat)
        for seat in range(game.seats):
            share = cached_shares[cache_slot, seat]
            values_out[i, seat, 0] = share * pot - _compute_called_stake(game, table, seat)
            values_out[i, seat, 1] = share
        if table.over:
            scratch_table[0] = tables[i]  # `_average_over_boards` changed the deck
            _average_over_boards(game, table, known_cards, True, mean_payoffs)
            for seat in range(game.seats):
                values_out[i, seat, 0] = mean_payoffs[seat]


@jit
def _is_same_deal(game, table, other_table):
    is_same = table.variant == other_table.variant
    for position in range(game.dealt):
        is_same &= table.deck[position] == other_table.deck[position]
    return is_same


@jit
def _compute_called_stake(game, table, seat):
    """Return the chips of a seat in the pot after all live seats have called."""
    dead = game.dead[seat]
    if table.folded[seat]:
        return dead + table.paid[seat]
    if has_stacks(table):
        return dead + min(table.price, game.stack[seat])
    return dead + table.price


@jit
def _average_over_boards(game, table, board_cards_known, use_payoffs, means_out):
    """Write the mean share of the pot of each seat over the boards that can still come.

    If `use_payoffs`, write its mean payoff in a finished hand instead. The table's deck changes.
    """
    for seat in range(game.seats):
        means_out[seat] = 0
    if board_cards_known == HOLE_CARDS_UNKNOWN:
        for seat in range(game.seats):
            means_out[seat] = (1 - table.folded[seat]) / table.live
        return
    unseen_cards = np.empty(MAX_DECK_SIZE, np.int64)
    # Indices into `unseen_cards` of the board cards to come
    chosen_positions = np.empty(MAX_BOARD_CARDS, np.int64)
    board_payoffs = np.empty(MAX_SEATS, np.int64)
    known_count = game.seats * game.hole + board_cards_known
    cards_to_come = game.dealt - known_count
    table.key, table.draws = hash_bytes(table.deck[: game.dealt], np.uint64(0)), np.uint64(0)
    unseen_count = _list_unseen_cards(game, table, known_count, unseen_cards)
    combination_count = _count_combinations(unseen_count, cards_to_come)
    is_sampled = combination_count > MAX_BOARDS
    board_count = min(combination_count, MAX_BOARDS)
    for j in range(cards_to_come):
        chosen_positions[j] = j
    for _ in range(board_count):
        for j in range(cards_to_come):
            if is_sampled:
                k = j + random_below(table, unseen_count - j)
                unseen_cards[j], unseen_cards[k] = unseen_cards[k], unseen_cards[j]
            table.deck[known_count + j] = unseen_cards[chosen_positions[j]]
        if use_payoffs:
            payoffs(game, table, board_payoffs)
            for seat in range(game.seats):
                means_out[seat] += board_payoffs[seat]
        else:
            _add_pot_shares(game, table, means_out)
        if not is_sampled:
            _advance_combination(chosen_positions, cards_to_come, unseen_count)
    for seat in range(game.seats):
        means_out[seat] /= board_count


@jit
def _list_unseen_cards(game, table, known_count, unseen_cards):
    """Write all cards but the first `known_count` of the deck, sorted; return their number."""
    for card in range(game.cards):
        unseen_cards[card] = card
    for position in range(known_count):
        unseen_cards[table.deck[position]] = -1
    count = 0
    for card in range(game.cards):
        if unseen_cards[card] >= 0:
            unseen_cards[count] = unseen_cards[card]
            count += 1
    return count


@jit
def _count_combinations(count, size):
    combinations = 1
    for j in range(size):
        combinations = combinations * (count - j) // (j + 1)
    return combinations


@jit
def _advance_combination(positions, size, count):
    """Change the ascending positions of a combination to those of the next one, if any."""
    j = size - 1
    while j >= 0 and positions[j] == count - size + j:
        j -= 1
    if j >= 0:
        positions[j] += 1
        for k in range(j + 1, size):
            positions[k] = positions[k - 1] + 1


@jit
def _add_pot_shares(game, table, shares_out):
    """Add to `shares_out` each seat's share of a pot that all live seats contest."""
    rank_hands(game, table)
    best_rank, winner_count = -1, 0
    for seat in range(game.seats):
        rank = table.rank[seat]
        if rank > best_rank:
            best_rank, winner_count = rank, 1
        elif rank == best_rank:
            winner_count += 1
    for seat in range(game.seats):
        if table.rank[seat] == best_rank:
            shares_out[seat] += 1 / winner_count
