"""Payoffs of a hand of poker, with side pots."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.hand_evaluator import evaluate_hand
from poker_rl.games.poker.table_dtypes import get_deck_card


@jit
def payoffs(game, table, out):
    """Write the chips won by each seat, which sum to zero.

    Let x be the fewest chips put in by a seat that has not folded. The main pot has all antes and
    the chips of each seat up to x. The next pot has the chips of each seat from x to y, the fewest
    put in by those that have not folded and put in more than x; only these seats can win it.
    Further pots follow in the same way. If a pot does not divide evenly, its first winners left of
    the button get one odd chip each. An uncalled bet returns as a pot with one winner.
    """
    write_hand_strengths(game, table)
    for seat in range(len(out)):
        out[seat] = -table.paid[seat] - game.dead[seat] if seat < game.seats else 0
    pot_floor = 0  # chips per seat that are in the pots awarded so far
    pot = np.int64(game.dead_pot)  # any seat that has not folded can win dead antes
    while pot > 0 or pot_floor < table.price:
        least = 0 if pot > 0 else pot_floor + 1  # chips that a seat must have put in to win the pot
        best_strength, winners, pot_cap = -1, 0, table.price
        for seat in range(game.seats):
            paid, hand_strength = table.paid[seat], table.rank[seat]
            if hand_strength >= 0 and paid >= least:
                pot_cap = min(pot_cap, paid)
                if hand_strength > best_strength:
                    best_strength = hand_strength
                    winners = 1
                elif hand_strength == best_strength:
                    winners += 1
        for seat in range(game.seats):
            pot += max(min(table.paid[seat], pot_cap) - pot_floor, 0)
        share = pot // winners
        odd_chips = pot - share * winners
        for seat in range(game.seats):
            if table.rank[seat] == best_strength and table.paid[seat] >= least:
                out[seat] += share
                if odd_chips > 0:
                    out[seat] += 1
                    odd_chips -= 1
        pot_floor, pot = pot_cap, np.int64(0)


@jit
def write_hand_strengths(game, table):
    """Write hand strengths into `table.rank`: -1 if folded, 0 if all others folded."""
    board_start = game.seats * game.hole
    board_count = game.dealt - board_start
    if table.live > 1:
        for i in range(board_count):
            table.hand[game.hole + i] = get_deck_card(table, board_start + i)
    for seat in range(game.seats):
        table.rank[seat] = -1
        if not table.folded[seat]:
            table.rank[seat] = 0
            if table.live > 1:
                for i in range(game.hole):
                    table.hand[i] = get_deck_card(table, seat * game.hole + i)
                table.rank[seat] = evaluate_hand(
                    table.hand, game.hole + board_count, game.suits, game.short_deck
                )
