"""Suits renamed by what a player sees, since no suit is worth more than another in poker.

Two situations that differ only in which suits are which are the same to a player; a network that
is shown both alike has fewer situations to learn about, with four suits down to a twenty-fourth.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import rule

SUITS, RANKS = 4, 13  # at most


@rule
def sort_suits(games, tables):
    """Rename the suits of tables [B], games [B] being their definitions, in place.

    The suits are put in order by the ranks that the seat to act holds of them, then by those on the
    board, street after street; suits that are equal in all of this it cannot tell apart. Where
    there is a board on the first street, its cards count as the seat's own, and some hands that
    differ in suits alone stay apart. All cards of the deck that were dealt get the new names.
    """
    seen, name = np.empty(SUITS, np.int64), np.empty(SUITS, np.int64)
    for i in range(len(tables)):
        game, table = games[i], tables[i]
        seen[:] = 0
        for j in range(game.hole):
            note(seen, table.deck[table.to_act * game.hole + j], game.suits, 0)
        shown = 0
        for street in range(table.street + 1):
            for _ in range(game.board[street]):
                note(seen, table.deck[game.seats * game.hole + shown], game.suits, street)
                shown += 1
        for suit in range(game.suits):
            name[suit] = 0
            for other in range(game.suits):
                ahead = seen[other] > seen[suit] or (seen[other] == seen[suit] and other < suit)
                name[suit] += ahead
        for j in range(game.dealt):
            suit = table.deck[j] % game.suits
            table.deck[j] += name[suit] - suit


@rule
def note(seen, card, suits, street):
    """Mark a card in what is seen of its suit; cards of an earlier street weigh more."""
    seen[card % suits] |= 1 << (card // suits + RANKS * (3 - street))
