"""Win margins: the probability that a hand beats another minus the probability that it loses.

The board cards still to come are random. A hand with the win margin m expects the share
(1 + m) / 2 of the pot.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.hand_evaluator import SHORT_DECK
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.ranges import BLOCKED_STRENGTH, Ranges, compute_strengths

MAX_ENUMERATED_BOARDS = 1500  # a flop of hold'em has 1,176 possible final boards
SAMPLED_BOARD_COUNT = 2000  # boards to sample if more than MAX_ENUMERATED_BOARDS are possible


def samples_boards(game: PokerGame, board_card_count: int) -> bool:
    """Return whether so many final boards are possible that only a sample of them is used."""
    remaining_cards = game.deck_size - board_card_count
    final_boards = comb(remaining_cards, sum(game.board_cards) - board_card_count)
    return final_boards > MAX_ENUMERATED_BOARDS


def compute_win_margins(
    game: PokerGame,
    ranges: Ranges,
    own_hands: np.ndarray,
    board_cards: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return the win margin of R own hands against all H hands, [R, H].

    `own_hands` [R] holds indices in `ranges.hands`. The win margin of two hands that share a card
    is 0. If more than `MAX_ENUMERATED_BOARDS` final boards can follow `board_cards`, the margins
    are estimated with `SAMPLED_BOARD_COUNT` random ones.
    """
    remaining_cards = np.setdiff1d(np.arange(game.deck_size), board_cards)
    cards_to_come = sum(game.board_cards) - len(board_cards)
    if samples_boards(game, len(board_cards)):
        samples = generator.permuted(np.tile(remaining_cards, (SAMPLED_BOARD_COUNT, 1)), axis=1)
        completions = samples[:, :cards_to_come]
    else:
        completions = np.array(list(combinations(remaining_cards.tolist(), cards_to_come)), int)
    boards = np.hstack([np.tile(board_cards, (len(completions), 1)), completions]).astype(np.int8)
    ranks_blocked_high, ranks_blocked_low = np.empty((2, len(boards), len(ranges.hands)), np.uint16)
    rules = len(game.suits), game.ranking == SHORT_DECK
    _fill_hand_ranks(ranges.hands, boards, *rules, ranks_blocked_high, ranks_blocked_low)
    net_wins = np.zeros((len(own_hands), len(ranges.hands)), np.int16)
    _count_net_wins_by_pair(own_hands, ranks_blocked_high, ranks_blocked_low, net_wins)
    is_possible = (ranks_blocked_low > 0).astype(np.float32)  # float32 counts exactly up to 2**24
    board_counts = is_possible[:, own_hands].T @ is_possible
    is_disjoint = ranges.mask_disjoint_hands(own_hands)
    return np.asarray(net_wins * is_disjoint / np.maximum(board_counts, 1))


@jit
def _fill_hand_ranks(hands, boards, suits, short_deck, ranks_blocked_high, ranks_blocked_low):
    """Write the rank of H hands on N boards into `ranks_blocked_high` and `ranks_blocked_low`.

    Both arrays are [N, H] and differ only for hands that can't occur on a board.
    A stronger hand has a larger rank, from 1 upwards. A hand that shares a card with the board is
    blocked: it gets 65535 in `ranks_blocked_high`, so that no hand beats it, and 0 in
    `ranks_blocked_low`, so that no hand loses to it.
    """
    board_ranks = np.empty(len(hands), np.int32)
    for i in range(len(boards)):
        compute_strengths(hands, boards[i], suits, short_deck, board_ranks)
        for h in range(len(hands)):
            blocked = board_ranks[h] == BLOCKED_STRENGTH
            ranks_blocked_high[i, h] = 65535 if blocked else board_ranks[h] + 1
            ranks_blocked_low[i, h] = 0 if blocked else board_ranks[h] + 1


@jit
def _count_net_wins_by_pair(own_hands, ranks_blocked_high, ranks_blocked_low, net_wins):
    """Add boards won minus boards lost by each own hand against each hand to `net_wins` [R, H]."""
    for r in range(len(own_hands)):
        for i in range(len(ranks_blocked_high)):
            own_rank = ranks_blocked_low[i, own_hands[r]]
            if own_rank:
                for h in range(ranks_blocked_high.shape[1]):
                    net_wins[r, h] += np.int16(own_rank > ranks_blocked_high[i, h]) - np.int16(
                        own_rank < ranks_blocked_low[i, h]
                    )
