"""Showdown equity of hands against each other, on average over the board cards still to come."""

# numba infers the types of compiled functions; table records have none that mypy could check.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from poker_rl.games.cards import SHORT_DECK
from poker_rl.games.game import jit
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.ranges import BLOCKED_STRENGTH, Ranges, compute_strengths

MAX_ENUMERATED_BOARDS = 1500  # more than the 1,176 boards after a flop of hold'em
SAMPLED_BOARDS = 2000  # if there are more, as before a flop


def compute_showdown_equity(
    game: PokerGame,
    ranges: Ranges,
    own_hands: np.ndarray,
    board_cards: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return each own hand's probability of winning, less that of losing, against every hand.

    The result [R, H] is 0 for two hands that share a card. `own_hands` [R] are indices among all H
    hands, `board_cards` the known ones. Boards that can still come are enumerated if there are at
    most `MAX_ENUMERATED_BOARDS`, else `SAMPLED_BOARDS` of them are sampled.
    """
    remaining_cards = np.setdiff1d(np.arange(game.deck_size), board_cards)
    cards_to_come = sum(game.board_cards) - len(board_cards)
    if comb(len(remaining_cards), cards_to_come) > MAX_ENUMERATED_BOARDS:
        completions = generator.permuted(np.tile(remaining_cards, (SAMPLED_BOARDS, 1)), axis=1)[
            :, :cards_to_come
        ]
    else:
        completions = np.array(
            list(combinations(remaining_cards.tolist(), cards_to_come)), np.int64
        )
    boards = np.hstack([np.tile(board_cards, (len(completions), 1)), completions]).astype(np.int8)
    opponent_ranks = np.empty((len(boards), len(ranges.hands)), np.uint16)
    own_ranks = np.empty(opponent_ranks.shape, np.uint16)
    _fill_ranks(
        ranges.hands, boards, len(game.suits), game.ranking == SHORT_DECK, opponent_ranks, own_ranks
    )
    win_balance = np.zeros((len(own_hands), len(ranges.hands)), np.int16)
    _accumulate_wins(own_hands, opponent_ranks, own_ranks, win_balance)
    is_possible = (own_ranks > 0).astype(np.float32)  # float32 counts boards exactly up to 2**24
    shared_boards = is_possible[:, own_hands].T @ is_possible
    equity: np.ndarray = (
        win_balance * ranges.mask_disjoint_hands(own_hands) / np.maximum(shared_boards, 1)
    )
    return equity


@jit
def _fill_ranks(hands, boards, suits, short_deck, opponent_ranks, own_ranks):
    """Write the strength of each hand with each board, [N, H], counted from 1.

    Where hand and board share a card, `opponent_ranks` is 65535, which no hand beats, and
    `own_ranks` is 0, to which no hand loses.
    """
    board_ranks = np.empty(len(hands), np.int32)
    for i in range(len(boards)):
        compute_strengths(hands, boards[i], suits, short_deck, board_ranks)
        for h in range(len(hands)):
            blocked = board_ranks[h] == BLOCKED_STRENGTH
            opponent_ranks[i, h] = 65535 if blocked else board_ranks[h] + 1
            own_ranks[i, h] = 0 if blocked else board_ranks[h] + 1


@jit
def _accumulate_wins(own_hands, opponent_ranks, own_ranks, win_balance):
    """Add 1 for each board on which the own hand beats the other, -1 where it loses, [R, H]."""
    for r in range(len(own_hands)):
        for i in range(len(opponent_ranks)):
            own_rank = own_ranks[i, own_hands[r]]
            if own_rank:
                for h in range(opponent_ranks.shape[1]):
                    win_balance[r, h] += np.int16(own_rank > opponent_ranks[i, h]) - np.int16(
                        own_rank < own_ranks[i, h]
                    )
