"""Who wins what at the end of a hand of poker, side pots included."""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import strength
from poker_rl.games.game import rule
from poker_rl.games.poker.table import card_at, has_stacks


@rule
def payoffs(game, table, out):
    """Write the chips won by each seat, summing to zero.

    Best hands share a pot; its odd chips go one each to the first winners left of the button. In
    games without stacks there is one pot. With stacks a pot is what all have put in up to the
    smallest stake of those who are in for it, what is above makes the next one, and chips that
    nobody could call come back as a pot of one. The first pot holds all antes.
    """
    pot = np.int64(game.dead_pot)
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
            rank = 0  # nobody shows a hand alone
            if table.live > 1:
                for i in range(game.hole):
                    table.hand[i] = card_at(table, seat * game.hole + i)
                rank = strength(table.hand, game.hole + board, game.suits, game.short_deck)
            if rank > best:
                best = rank
                winners = 1
            elif rank == best:
                winners += 1
        table.rank[seat] = rank
    if has_stacks(table):
        share_pots(game, table, out)
    else:
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
    if game.dead_pot:
        for seat in range(game.seats):
            out[seat] -= game.dead[seat]
    for seat in range(game.seats, len(out)):
        out[seat] = 0


@rule
def share_pots(game, table, out):
    """Write the chips won by each seat from `table.rank`, by pots."""
    for seat in range(game.seats):
        out[seat] = -table.paid[seat]
    below = 0  # chips of each seat in the pots already given
    pot = np.int64(game.dead_pot)  # which nobody has to match: all who are left are in for it
    while pot > 0 or below < table.price:
        least = 0 if pot > 0 else below + 1  # chips of a seat that is in for the pot
        best, winners, upto = -1, 0, table.price
        for seat in range(game.seats):
            paid, rank = table.paid[seat], table.rank[seat]
            if rank >= 0 and paid >= least:
                upto = min(upto, paid)
                if rank > best:
                    best = rank
                    winners = 1
                elif rank == best:
                    winners += 1
        for seat in range(game.seats):
            pot += max(min(table.paid[seat], upto) - below, 0)
        share = pot // winners
        odd = pot - share * winners
        for seat in range(game.seats):
            if table.rank[seat] == best and table.paid[seat] >= least:
                out[seat] += share
                if odd > 0:
                    out[seat] += 1
                    odd -= 1
        below, pot = upto, np.int64(0)
