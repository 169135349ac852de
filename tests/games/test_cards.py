"""Hand strength against counts of all hands, another evaluator, and the rules in plain Python."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from numba import njit
from phevaluator import evaluate_cards
from pokerkit import Card, RhodeIslandHoldemLookup, ShortDeckHoldemLookup
from random_games import game

from poker_rl.config import ConfigError
from poker_rl.games import Tables
from poker_rl.games import hand_evaluator as ranking
from poker_rl.games.cards import card_name, parse_cards
from poker_rl.games.hand_evaluator import evaluate_best_five, evaluate_hand


@njit
def evaluate_hands(hands, suits, short_deck=False):
    """Return the strengths [N] of hands [N, count]."""
    strengths = np.empty(len(hands), np.int32)
    for i in range(len(hands)):
        strengths[i] = evaluate_hand(hands[i], hands.shape[1], suits, short_deck)
    return strengths


@njit
def evaluate_best_fives(hands, suits):
    """Return the strengths [N] of hands [N, count] by `evaluate_best_five`."""
    strengths = np.empty(len(hands), np.int32)
    for i in range(len(hands)):
        strengths[i] = evaluate_best_five(hands[i], hands.shape[1], suits)
    return strengths


@njit
def count_hands_by_strength(count, deck, suits):
    """Return the numbers of hands of `count` cards by their strength, [2^16]."""
    counts = np.zeros(1 << 16, np.int64)
    hand = np.arange(count)
    while True:
        counts[evaluate_hand(hand, count, suits)] += 1
        i = count - 1
        while i >= 0 and hand[i] == deck - count + i:
            i -= 1
        if i < 0:
            return counts
        hand[i] += 1
        for j in range(i + 1, count):
            hand[j] = hand[j - 1] + 1


# Hands of each category from weakest to strongest, in all C(52, count), and number of distinct
# strengths. Three cards: high card, pair, flush, straight, three of a kind, straight flush.
FREQUENCIES = {
    3: ([16440, 3744, 1096, 720, 52, 48, 0, 0, 0], 741),
    5: ([1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40], 7462),
    6: ([6612900, 9730740, 2532816, 732160, 361620, 205792, 165984, 14664, 1844], 6075),
    7: ([23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584], 4824),
}


@pytest.mark.parametrize("count", FREQUENCIES)
def test_hand_category_counts_of_a_full_deck_match_known_values(count):
    frequencies, distinct = FREQUENCIES[count]
    counts = count_hands_by_strength(count, 52, 4)
    by_category = np.bincount(np.arange(1 << 16) >> ranking.CATEGORY_SHIFT, counts)
    assert by_category[:9].tolist() == frequencies
    assert by_category[9:].sum() == 0
    assert np.count_nonzero(counts) == distinct


def sample_hands(generator, number, count, deck):
    return np.argsort(generator.random((number, deck)), axis=1)[:, :count].astype(np.int8)


@pytest.mark.parametrize(("count", "number"), [(5, 20_000), (6, 20_000), (7, 40_000)])
def test_hand_order_matches_phevaluator(count, number):
    tables = Tables(game("limit_holdem"), 40_000, seed=count)
    for _ in range(0, 2 * number, 40_000):
        tables.deal()
        hands = tables.records["deck"][:, :count]
        own = evaluate_hands(hands, 4).reshape(-1, 2)
        phe_rank = np.array([evaluate_cards(*hand) for hand in hands.tolist()]).reshape(-1, 2)
        # phevaluator ranks the worst hand 7462 and a royal flush 1.
        assert (np.sign(own[:, 0] - own[:, 1]) == np.sign(phe_rank[:, 1] - phe_rank[:, 0])).all()


def test_three_card_order_matches_pokerkit():
    """Compare all hands of Rhode Island hold'em."""
    names = [card_name(card, "23456789TJQKA", "cdhs") for card in range(52)]
    dealt = np.array(list(combinations(range(52), 3)), np.int8)
    lookup = RhodeIslandHoldemLookup()
    parsed = [tuple(Card.parse("".join(names[card] for card in hand))) for hand in dealt.tolist()]
    pokerkit_indices = np.array([lookup.get_entry(hand).index for hand in parsed])
    strengths = evaluate_hands(dealt[:, [2, 0, 1]], 4)
    _, strengths = np.unique(strengths, return_inverse=True)
    _, pokerkit_indices = np.unique(pokerkit_indices, return_inverse=True)
    assert (strengths == pokerkit_indices).all()


def test_short_deck_order_matches_pokerkit():
    """A tenth of all five-card hands is compared; seven cards are as strong as their best five."""
    generator = np.random.default_rng(1)
    names = [card_name(card, ranking.SHORT_DECK_RANKS, "cdhs") for card in range(36)]
    dealt = np.array(list(combinations(range(36), 5)), np.int8)
    dealt = dealt[generator.choice(len(dealt), 38_000, replace=False)]
    lookup = ShortDeckHoldemLookup()
    parsed = [tuple(Card.parse("".join(names[card] for card in hand))) for hand in dealt.tolist()]
    pokerkit_indices = np.array([lookup.get_entry(hand).index for hand in parsed])
    strengths = evaluate_hands(dealt, 4, True)
    check_same_order(pokerkit_indices.tolist(), strengths)
    seven = sample_hands(generator, 20_000, 7, 36)
    best = [evaluate_hands(seven[:, list(five)], 4, True) for five in combinations(range(7), 5)]
    assert (evaluate_hands(seven, 4, True) == np.max(best, axis=0)).all()


def rank_hand_by_rules(hand, ranks, suits, hand_size=5):
    """Return category and ranks of up to five cards as a sort key, the most frequent rank first.

    Only hands of exactly `hand_size` cards can be a straight or a flush.
    """
    rank_counts = Counter(card // suits for card in hand)
    by_count = sorted(rank_counts, key=lambda rank: (rank_counts[rank], rank), reverse=True)
    pattern = sorted(rank_counts.values(), reverse=True)
    flush = len(hand) == hand_size and len({card % suits for card in hand}) == 1
    run = sorted(rank_counts)
    wheel = ranks == 13 and run == [*range(hand_size - 1), 12]
    straight = len(run) == hand_size and (wheel or run[-1] - run[0] == hand_size - 1)
    if straight:
        by_count = [hand_size - 2] if wheel else [run[-1]]
    if straight or flush:
        kind = [ranking.FLUSH, ranking.STRAIGHT][straight]
        kind = ranking.STRAIGHT_FLUSH if straight and flush else kind
    elif pattern[0] == 4:
        kind = ranking.QUADS
    elif pattern[:2] == [3, 2]:
        kind = ranking.FULL_HOUSE
    else:
        kinds = {(3,): ranking.TRIPS, (2, 2): ranking.TWO_PAIR, (2,): ranking.PAIR}
        kind = kinds.get(tuple(n for n in pattern if n > 1), ranking.HIGH_CARD)
    return kind, *by_count


DECKS = [(3, 1), (3, 4), (5, 4), (6, 3), (8, 1), (9, 2), (12, 3), (13, 4)]


@pytest.mark.parametrize(
    ("ranks", "suits", "count"),
    [(ranks, suits, n) for ranks, suits in DECKS for n in range(1, min(7, ranks * suits) + 1)],
)
def test_best_five_strength_follows_the_rules_in_any_deck(ranks, suits, count):
    dealt = sample_hands(np.random.default_rng(count), 300, count, ranks * suits)
    expected = [
        max(rank_hand_by_rules(five, ranks, suits) for five in combinations(hand, min(count, 5)))
        for hand in dealt.tolist()
    ]
    strengths = evaluate_best_fives(dealt, suits)
    assert (strengths >> ranking.CATEGORY_SHIFT).tolist() == [order[0] for order in expected]
    check_same_order(expected, strengths)
    if count != 3:
        assert (evaluate_hands(dealt, suits) == strengths).all()


def check_same_order(expected, strengths):
    """Check that both order hands alike, with one strength for each value in `expected`."""
    class_strengths = sorted(set(zip(expected, strengths.tolist(), strict=True)))
    assert len(class_strengths) == len(set(expected)) == len(set(strengths.tolist()))
    assert [strength for _, strength in class_strengths] == sorted(set(strengths.tolist()))


@pytest.mark.parametrize(("ranks", "suits"), [deck for deck in DECKS if min(deck) > 1])
def test_three_card_strength_follows_the_rules_in_any_deck(ranks, suits):
    dealt = np.array(list(combinations(range(ranks * suits), 3)), np.int8)
    order = [ranking.HIGH_CARD, ranking.PAIR, ranking.FLUSH, ranking.STRAIGHT, ranking.TRIPS]
    order.append(ranking.STRAIGHT_FLUSH)
    ranked = [rank_hand_by_rules(hand, ranks, suits, hand_size=3) for hand in dealt.tolist()]
    expected = [(order.index(kind), *rest) for kind, *rest in ranked]
    check_same_order(expected, evaluate_hands(dealt, suits))


@pytest.mark.parametrize("text", ["Ax", "A", "AsK", "sA"])
def test_parse_cards_refuses_invalid_text(text):
    with pytest.raises(ConfigError, match="is no card; a card is a rank of "):
        parse_cards(text, "23456789TJQKA", "cdhs")
