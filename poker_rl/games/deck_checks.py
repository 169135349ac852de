"""Check of decks that come from outside, before the compiled rules index arrays by their cards."""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game, jit


def check_decks(game: Game, decks: np.ndarray, variants: np.ndarray) -> None:
    """Check that the cards that each hand uses are distinct cards of the game.

    Args:
        decks: cards as integers, [B, D]; a hand uses as many of a row as its definition deals.
        variants: index of the definition that each row is dealt by, [B].

    Raises:
        ValueError: if a row has other cards, or there is no such definition.
    """
    count = len(game.definitions)
    wrong = np.flatnonzero((variants < 0) | (variants >= count))
    if len(wrong):
        raise ValueError(f"variants: {variants[wrong[0]]} is not in 0 to {count - 1}")
    dealt, cards = (game.definitions[key].astype(np.int64) for key in ("dealt", "cards"))
    decks = np.ascontiguousarray(decks, np.int64)
    row = find_wrong_deck(decks, variants.astype(np.int64), dealt, cards)
    if row >= 0:
        deck, max_card = decks[row, : dealt[variants[row]]].tolist(), cards[variants[row]] - 1
        raise ValueError(f"decks: {deck} is not {len(deck)} different cards of 0 to {max_card}")


@jit
def find_wrong_deck(decks, variants, dealt, cards):  # type: ignore[no-untyped-def]
    """Return the first row whose dealt cards are not distinct cards of the deck, or -1."""
    last_row_of_card = np.full(cards.max(), -1)
    for i in range(len(decks)):
        for j in range(dealt[variants[i]]):
            card = decks[i, j]
            if card < 0 or card >= cards[variants[i]] or last_row_of_card[card] == i:
                return i
            last_row_of_card[card] = i
    return -1
