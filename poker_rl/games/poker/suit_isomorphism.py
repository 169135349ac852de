"""Suit isomorphism: renaming the suits to a canonical form, since all suits are worth the same.

Two situations that differ only in the names of the suits are equivalent. If both have the same
observation, a network has fewer situations to learn, with four suits down to 1/24.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.cards import MAX_RANKS, MAX_SUITS
from poker_rl.games.game import jit


@jit
def sort_suits(definitions, tables):
    """Rename the suits of tables [B] with definitions [B], in place.

    Suits are ordered by the ranks that they have among the hole cards of the seat to act, then
    among the board cards of each street. Suits that are equal in all of these are interchangeable.
    Board cards dealt on the first street count as hole cards, so there some equivalent situations
    stay different. All cards that the hand uses are renamed.
    """
    suit_keys, new_suit = np.empty(MAX_SUITS, np.int64), np.empty(MAX_SUITS, np.int64)
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        suit_keys[:] = 0
        for j in range(game.hole):
            add_card_to_suit_key(suit_keys, table.deck[table.to_act * game.hole + j], game.suits, 0)
        board_index = 0
        for street in range(table.street + 1):
            for _ in range(game.board[street]):
                add_card_to_suit_key(
                    suit_keys, table.deck[game.seats * game.hole + board_index], game.suits, street
                )
                board_index += 1
        for suit in range(game.suits):
            new_suit[suit] = 0
            for other_suit in range(game.suits):
                goes_first = suit_keys[other_suit] > suit_keys[suit] or (
                    suit_keys[other_suit] == suit_keys[suit] and other_suit < suit
                )
                new_suit[suit] += goes_first
        for j in range(game.dealt):
            suit = table.deck[j] % game.suits
            table.deck[j] += new_suit[suit] - suit


@jit
def add_card_to_suit_key(suit_keys, card, suit_count, street):
    """Set a card's bit in the key of its suit; cards of an earlier street have higher bits."""
    suit_keys[card % suit_count] |= 1 << (card // suit_count + MAX_RANKS * (3 - street))
