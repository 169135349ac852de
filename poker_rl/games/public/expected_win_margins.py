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
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.ranges import PrivateHands, fill_strengths_on_board

MAX_ENUMERATED_BOARDS = 1500  # a flop of hold'em has 1,176 possible final boards
SAMPLED_BOARD_COUNT = 2000  # boards to sample if more than MAX_ENUMERATED_BOARDS are possible


def samples_boards(game: PokerGame, board_card_count: int) -> bool:
    """Return whether so many final boards are possible that only a sample of them is used."""
    remaining_cards = game.deck_size - board_card_count
    final_boards = comb(remaining_cards, sum(game.board_cards) - board_card_count)
    return final_boards > MAX_ENUMERATED_BOARDS


def compute_win_margins(
    game: PokerGame,
    private_hands: PrivateHands,
    own_hands: np.ndarray,
    board_cards: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return the win margin of R own hands against all H hands, [R, H].

    `own_hands` [R] holds indices in `private_hands.hands`. The win margin of two hands that share a
    card is 0. If more than `MAX_ENUMERATED_BOARDS` final boards can follow `board_cards`, the
    margins are estimated with `SAMPLED_BOARD_COUNT` random ones.
    """
    remaining_cards = np.setdiff1d(np.arange(game.deck_size), board_cards)
    cards_to_come = sum(game.board_cards) - len(board_cards)
    if samples_boards(game, len(board_cards)):
        samples = generator.permuted(np.tile(remaining_cards, (SAMPLED_BOARD_COUNT, 1)), axis=1)
        completions = samples[:, :cards_to_come]
    else:
        completions = np.array(list(combinations(remaining_cards.tolist(), cards_to_come)), int)
    boards = np.hstack([np.tile(board_cards, (len(completions), 1)), completions]).astype(np.int8)
    strengths = np.empty((len(boards), len(private_hands.hands)), np.uint16)
    _fill_strengths(private_hands.hands, boards, *private_hands.ranking_rules, strengths)
    # A hand that shares a card with the board is blocked. Its strength, `BLOCKED_STRENGTH`, is
    # 65535 as uint16, so that no hand beats it; its rank is 0, so that no hand loses to it.
    ranks = strengths + np.uint16(1)
    net_wins = np.zeros((len(own_hands), len(private_hands.hands)), np.int16)
    _count_net_wins_by_pair(own_hands, strengths, ranks, net_wins)
    is_possible = (ranks > 0).astype(np.float32)  # float32 counts exactly up to 2**24
    board_counts = is_possible[:, own_hands].T @ is_possible
    is_disjoint = private_hands.mask_disjoint_hands(own_hands)
    return np.asarray(net_wins * is_disjoint / np.maximum(board_counts, 1))


@jit
def _fill_strengths(hands, boards, suits, short_deck, strengths):
    """Write the strengths of H hands on N boards into `strengths` [N, H]."""
    for i in range(len(boards)):
        fill_strengths_on_board(hands, boards[i], suits, short_deck, strengths[i])


@jit
def _count_net_wins_by_pair(own_hands, strengths, ranks, net_wins):
    """Add to `net_wins` [R, H] the number of boards won minus lost by own hand r against hand h."""
    for r in range(len(own_hands)):
        for i in range(len(ranks)):
            own_rank = ranks[i, own_hands[r]]
            if own_rank:
                own_strength = strengths[i, own_hands[r]]
                for h in range(ranks.shape[1]):
                    net_wins[r, h] += np.int16(own_strength > strengths[i, h]) - np.int16(
                        own_rank < ranks[i, h]
                    )
