"""Value function of poker: pot equity, as if all live seats called and then only checked.

The equity of a seat is its expected share of the pot at a showdown, with all hole cards known and
all cards to come equally likely. A seat is live if it has not folded.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game, hash_bytes, jit, random_below
from poker_rl.games.poker.pots import payoffs, write_hand_strengths
from poker_rl.games.poker.table_dtypes import MAX_BOARD_CARDS, MAX_DECK_SIZE

MAX_BOARDS = 1000  # enough for all 990 boards that can follow a heads-up flop in hold'em
HOLE_CARDS_UNKNOWN = -1  # value of `board_cards_known` before hole cards are dealt


def compute_expected_chips_and_equity(
    game: Game, records: np.ndarray, board_cards_known: np.ndarray
) -> np.ndarray:
    """Return two values of each seat at poker tables [B]: expected chips and equity, [B, seats, 2].

    In an unfinished hand, expected chips are equity times the pot minus the seat's stake, with the
    pot and the stake that result if all live seats call. In a finished hand, expected chips are the
    mean payoff, with side pots, over the boards that can follow the known cards. Equity is returned
    too because `aivat` fits a weight for it, which reflects bets on later streets.

    `board_cards_known` [B] is the number of known board cards or `HOLE_CARDS_UNKNOWN`. All boards
    that can still come are used if there are at most `MAX_BOARDS`, else a sample of `MAX_BOARDS`.
    The seed of the sample is a hash of the deal, so that a hand always has the same value.
    """
    definitions, seats = game.definitions.take(records["variant"]), np.arange(game.seats)
    is_seat = seats < definitions["seats"][:, None]
    is_folded = is_seat & (records["folded"][:, : game.seats] != 0)
    # With a single live seat, the board does not matter: count all board cards as known.
    board_size = definitions["dealt"] - definitions["seats"] * definitions["hole"]
    known = np.where(records["live"] == 1, board_size, board_cards_known).astype(np.int64)
    # Consecutive tables of one deal have the same equity if their known cards and folds are equal.
    deals = np.column_stack([records["deck"], records["variant"]])
    is_new_deal = (np.diff(deals, axis=0, prepend=-1) != 0).any(1)
    folds = is_folded @ (1 << seats)
    key = (np.cumsum(is_new_deal) * (MAX_BOARD_CARDS + 2) + known + 1 << game.seats) + folds
    _, first_row, row_of_table = np.unique(key, return_index=True, return_inverse=True)
    arguments = definitions[first_row], records.take(first_row), known[first_row]
    shares = np.zeros((len(first_row), game.seats))
    _average_over_boards(*arguments, False, shares)
    equity = shares[row_of_table]

    called_stakes = np.broadcast_to(records["price"][:, None], is_seat.shape)
    if records["able"].shape[1]:  # stacks are limited
        called_stakes = np.minimum(called_stakes, definitions["stack"][:, : game.seats])
    called_stakes = np.where(is_folded, records["paid"][:, : game.seats], called_stakes)
    stakes = (called_stakes + definitions["dead"][:, : game.seats]) * is_seat
    chips = equity * stakes.sum(1, keepdims=True) - stakes
    ended = np.flatnonzero(records["over"])
    mean_payoffs = np.zeros((len(ended), game.seats))
    arguments = definitions[ended], records.take(ended), known[ended]
    _average_over_boards(*arguments, True, mean_payoffs)
    chips[ended] = mean_payoffs
    return np.stack([chips, equity], axis=2)


@jit
def _average_over_boards(definitions, tables, board_cards_known, use_payoffs, means_out):
    """Write each seat's equity into `means_out` [B, seats], which must hold zeros.

    Equity is the mean share of the pot over the boards that can still come, or a sample of them.
    With `use_payoffs`, the mean payoffs of finished hands in chips are written instead. If hole
    cards are unknown, live seats have equal shares. Decks and random states are overwritten.
    """
    seat_payoffs = np.empty(means_out.shape[1], np.int64)
    unseen_cards = np.empty(MAX_DECK_SIZE, np.int64)
    # Indices in `unseen_cards` of the board cards to come
    chosen_positions = np.empty(MAX_BOARD_CARDS, np.int64)
    for i in range(len(tables)):
        game, table, means = definitions[i], tables[i], means_out[i]
        if board_cards_known[i] == HOLE_CARDS_UNKNOWN:
            for seat in range(game.seats):
                means[seat] = (1 - table.folded[seat]) / table.live
            continue
        known_count = game.seats * game.hole + board_cards_known[i]
        cards_to_come = game.dealt - known_count
        table.key, table.draws = hash_bytes(table.deck[: game.dealt], np.uint64(0)), np.uint64(0)
        unseen_count = _fill_unseen_cards(game, table, known_count, unseen_cards)
        combination_count = 1
        for j in range(cards_to_come):
            combination_count = combination_count * (unseen_count - j) // (j + 1)
            chosen_positions[j] = j
        is_sampled = combination_count > MAX_BOARDS
        board_count = min(combination_count, MAX_BOARDS)
        for _ in range(board_count):
            for j in range(cards_to_come):
                if is_sampled:
                    k = j + random_below(table, unseen_count - j)
                    unseen_cards[j], unseen_cards[k] = unseen_cards[k], unseen_cards[j]
                table.deck[known_count + j] = unseen_cards[chosen_positions[j]]
            if use_payoffs:
                payoffs(game, table, seat_payoffs)
                for seat in range(game.seats):
                    means[seat] += seat_payoffs[seat]
            else:
                _add_showdown_shares(game, table, means)
            if not is_sampled:
                _advance_combination(chosen_positions, cards_to_come, unseen_count)
        for seat in range(game.seats):
            means[seat] /= board_count


@jit
def _fill_unseen_cards(game, table, known_count, unseen_cards):
    """Write the deck without its first `known_count` cards, sorted; return the number of cards."""
    count, known_bits = 0, np.int64(0)  # bit c is 1 for a known card c
    for position in range(known_count):
        known_bits |= np.int64(1) << table.deck[position]
    for card in range(game.cards):
        if not known_bits >> card & 1:
            unseen_cards[count] = card
            count += 1
    return count


@jit
def _advance_combination(positions, size, count):
    """Replace `positions`, a combination of `size` numbers below `count`, by the next, if any."""
    j = size - 1
    while j >= 0 and positions[j] == count - size + j:
        j -= 1
    if j >= 0:
        positions[j] += 1
        for k in range(j + 1, size):
            positions[k] = positions[k - 1] + 1


@jit
def _add_showdown_shares(game, table, shares_out):
    """Add each seat's share of the pot at a showdown of all live seats to `shares_out` [seats]."""
    write_hand_strengths(game, table)
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
