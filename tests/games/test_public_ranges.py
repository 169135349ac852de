"""Ranges against each other: the sums over sorted hands beside a plain double loop."""

from dataclasses import replace

import numpy as np
import pytest
from random_games import game

from poker_rl.games.cards import evaluate_hand
from poker_rl.games.public.ranges import Ranges, compute_showdown_values, sum_compatible_reach
from poker_rl.games.public.tree import Boards

HOLDEM = game("limit_holdem")
SHORT = replace(HOLDEM, ranks="6789TJ")
LEDUC = game("leduc_13")


def double_loop(ranges, board, reach, suits):
    """Return what each hand wins from a range at a showdown and by a fold, pair by pair."""
    hands = [set(hand.tolist()) for hand in ranges.hands]
    cards = [[*hand.tolist(), *board.tolist()] for hand in ranges.hands]
    ranks = [evaluate_hand(np.array([*each, 0, 0, 0], np.int8), len(each), suits) for each in cards]
    won, by_fold = np.zeros(len(hands)), np.zeros(len(hands))
    for one in range(len(hands)):
        for other in range(len(hands)):
            if not hands[one] & hands[other]:
                by_fold[one] += reach[other]
                won[one] += reach[other] * (int(ranks[one] > ranks[other]) * 2 - 1)
                won[one] += reach[other] * (ranks[one] == ranks[other])
    free = np.array([not hand & set(board.tolist()) for hand in hands])
    return won * free, by_fold


@pytest.mark.parametrize(("definition", "cards"), [(SHORT, 3), (SHORT, 5), (LEDUC, 1)])
def test_a_showdown_of_ranges_is_that_of_all_pairs(definition, cards):
    generator = np.random.default_rng(0)
    ranges = Ranges(definition)
    board = generator.choice(definition.deck_size, cards, replace=False)
    reach = generator.random(len(ranges.hands)) * ranges.mask_compatible_hands(board)
    reach[generator.random(len(reach)) < 0.3] = 0
    won, by_fold = double_loop(ranges, board, reach, len(definition.suits))
    out = np.empty(len(reach))
    compute_showdown_values(ranges.hands, *ranges.sort_by_strength(board), reach, out)
    np.testing.assert_allclose(out, won, atol=1e-12)
    sum_compatible_reach(ranges.hands, reach, out)
    np.testing.assert_allclose(out, by_fold, atol=1e-12)


def test_flops_and_hands_up_to_the_names_of_suits_are_as_many_as_is_known():
    """1,755 flops; 1,286,792 flops with a hand (K. Waugh, 2013); 169 hands before the flop."""
    ranges = Ranges(HOLDEM)
    boards = Boards(HOLDEM, ranges, merge_suits=True)
    (first,) = boards.list_next_boards(boards.root, 0)
    flops = boards.list_next_boards(first, 1)
    assert len(flops) == 1755
    assert sum(flop.multiplicity for flop in flops) == 22_100

    def hands(board):
        least = ranges.permuted_hands[board.suit_permutations].min(0)
        return len(np.unique(least[ranges.mask_compatible_hands(board.cards)]))

    assert hands(first) == 169
    assert sum(hands(flop) for flop in flops) == 1_286_792
    every = Boards(HOLDEM, ranges, merge_suits=False)
    (first,) = every.list_next_boards(every.root, 0)
    assert len(every.list_next_boards(first, 1)) == 22_100
