"""What hands win from each other at a showdown, on average over the board cards still to come."""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from poker_rl.games.cards import SHORT_DECK
from poker_rl.games.game import rule
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.public.ranges import BLOCKED, Ranges, strengths

MOST_BOARDS = 1500  # after a flop of hold'em there are 1,176, so that all of them are counted
DRAWN = 2000  # of more, as before a flop


def edges(
    game: PokerGame,
    ranges: Ranges,
    own: np.ndarray,
    board: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """The chance of each own hand to win less that to lose, against every hand.

    The boards that can still come are gone through if they are at most `MOST_BOARDS`, else `DRAWN`
    of them are drawn.

    Args:
        own: places among the hands, [R].
        board: the cards that are known, [n].

    Returns:
        [R, H] float64; 0 for two hands that cannot both be held.
    """
    left = np.setdiff1d(np.arange(game.cards), board)
    later = sum(game.board_cards) - len(board)
    if comb(len(left), later) > MOST_BOARDS:
        rest = generator.permuted(np.tile(left, (DRAWN, 1)), axis=1)[:, :later]
    else:
        rest = np.array(list(combinations(left.tolist(), later)), np.int64)
    boards = np.hstack([np.tile(board, (len(rest), 1)), rest]).astype(np.int8)
    low = np.empty((len(boards), len(ranges.hands)), np.uint16)
    high = np.empty(low.shape, np.uint16)
    _rank(ranges.hands, boards, len(game.suits), game.ranking == SHORT_DECK, low, high)
    won = np.zeros((len(own), len(ranges.hands)), np.int16)
    _meet(own, low, high, won)
    live = (high > 0).astype(np.float32)  # won of ones, which 24 bits hold exactly
    met = live[:, own].T @ live
    found: np.ndarray = won * ranges.apart(own) / np.maximum(met, 1)
    return found


@rule
def _rank(hands, boards, suits, short_deck, low, high):
    """Write the strength of each hand with each board twice, [N, H], counted from 1.

    Where hand and board share a card, `low` has more than any strength and `high` has less, so
    that nothing is better than the one and nothing worse than the other.
    """
    ranks = np.empty(len(hands), np.int32)
    for i in range(len(boards)):
        strengths(hands, boards[i], suits, short_deck, ranks)
        for h in range(len(hands)):
            blocked = ranks[h] == BLOCKED
            low[i, h] = 65535 if blocked else ranks[h] + 1
            high[i, h] = 0 if blocked else ranks[h] + 1


@rule
def _meet(own, low, high, won):
    """Add to `won` [R, H] over the boards 1 where the own hand is better, -1 where it is worse."""
    for r in range(len(own)):
        for i in range(len(low)):
            mine = high[i, own[r]]
            if mine:
                for h in range(low.shape[1]):
                    won[r, h] += np.int16(mine > low[i, h]) - np.int16(mine < high[i, h])
