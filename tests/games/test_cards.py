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
def strengths(hands, suits, short_deck=False):
    """Return the strengths [N] of hands [N, count]."""
    found = np.empty(len(hands), np.int32)
    for i in range(len(hands)):
        found[i] = evaluate_hand(hands[i], hands.shape[1], suits, short_deck)
    return found


@njit
def best_fives(hands, suits):
    """Return the strengths [N] of hands that may get more cards, [N, count]."""
    found = np.empty(len(hands), np.int32)
    for i in range(len(hands)):
        found[i] = evaluate_best_five(hands[i], hands.shape[1], suits)
    return found


@njit
def classes(count, deck, suits):
    """Count the hands of `count` cards by their strength, [2^16]."""
    found = np.zeros(1 << 16, np.int64)
    hand = np.arange(count)
    while True:
        found[evaluate_hand(hand, count, suits)] += 1
        i = count - 1
        while i >= 0 and hand[i] == deck - count + i:
            i -= 1
        if i < 0:
            return found
        hand[i] += 1
        for j in range(i + 1, count):
            hand[j] = hand[j - 1] + 1


# From the weakest category to the strongest, and distinct classes of any. They add up to
# C(52, count). Three cards: high card, pair, flush, straight, three of a kind, straight flush.
FREQUENCIES = {
    3: ([16440, 3744, 1096, 720, 52, 48, 0, 0, 0], 741),
    5: ([1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40], 7462),
    6: ([6612900, 9730740, 2532816, 732160, 361620, 205792, 165984, 14664, 1844], 6075),
    7: ([23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584], 4824),
}


@pytest.mark.parametrize("count", FREQUENCIES)
def test_every_hand_of_a_full_deck_is_counted(count):
    frequencies, distinct = FREQUENCIES[count]
    found = classes(count, 52, 4)
    by_category = np.bincount(np.arange(1 << 16) >> ranking.CATEGORY_SHIFT, found)
    assert by_category[:9].tolist() == frequencies
    assert by_category[9:].sum() == 0
    assert np.count_nonzero(found) == distinct


def hands(generator, number, count, deck):
    return np.argsort(generator.random((number, deck)), axis=1)[:, :count].astype(np.int8)


@pytest.mark.parametrize(("count", "number"), [(5, 20_000), (6, 20_000), (7, 40_000)])
def test_order_is_that_of_another_evaluator(count, number):
    tables = Tables(game("limit_holdem"), 40_000, seed=count)
    for _ in range(0, 2 * number, 40_000):
        tables.deal()
        pairs = tables.records["deck"][:, :count]
        ours = strengths(pairs, 4).reshape(-1, 2)
        theirs = np.array([evaluate_cards(*hand) for hand in pairs.tolist()]).reshape(-1, 2)
        # Theirs counts down from the worst hand, 7462, to a royal flush, 1.
        assert (np.sign(ours[:, 0] - ours[:, 1]) == np.sign(theirs[:, 1] - theirs[:, 0])).all()


def test_order_of_three_cards_is_that_of_pokerkit():
    """Of every hand of Rhode Island hold'em."""
    names = [card_name(card, "23456789TJQKA", "cdhs") for card in range(52)]
    dealt = np.array(list(combinations(range(52), 3)), np.int8)
    lookup = RhodeIslandHoldemLookup()
    held = [tuple(Card.parse("".join(names[card] for card in hand))) for hand in dealt.tolist()]
    theirs = np.array([lookup.get_entry(hand).index for hand in held])
    ours = strengths(dealt[:, [2, 0, 1]], 4)
    _, ours = np.unique(ours, return_inverse=True)
    _, theirs = np.unique(theirs, return_inverse=True)
    assert (ours == theirs).all()


def test_order_of_a_short_deck_is_that_of_pokerkit():
    """Of a tenth of all hands of five, which are of every class; of seven cards the best five."""
    generator = np.random.default_rng(1)
    names = [card_name(card, ranking.SHORT_DECK_RANKS, "cdhs") for card in range(36)]
    dealt = np.array(list(combinations(range(36), 5)), np.int8)
    dealt = dealt[generator.choice(len(dealt), 38_000, replace=False)]
    lookup = ShortDeckHoldemLookup()
    held = [tuple(Card.parse("".join(names[card] for card in hand))) for hand in dealt.tolist()]
    theirs = np.array([lookup.get_entry(hand).index for hand in held])
    ours = strengths(dealt, 4, True)
    check_classes(theirs.tolist(), ours)
    seven = hands(generator, 20_000, 7, 36)
    best = [strengths(seven[:, list(five)], 4, True) for five in combinations(range(7), 5)]
    assert (strengths(seven, 4, True) == np.max(best, axis=0)).all()


def rank_five(hand, ranks, suits, whole=5):
    """Up to five cards as the rules order them: category, then ranks by number and height.

    Straights and flushes are of as many cards as a whole hand.
    """
    held = Counter(card // suits for card in hand)
    by_count = sorted(held, key=lambda rank: (held[rank], rank), reverse=True)
    pattern = sorted(held.values(), reverse=True)
    flush = len(hand) == whole and len({card % suits for card in hand}) == 1
    run = sorted(held)
    wheel = ranks == 13 and run == [*range(whole - 1), 12]
    straight = len(run) == whole and (wheel or run[-1] - run[0] == whole - 1)
    if straight:
        by_count = [whole - 2] if wheel else [run[-1]]
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
def test_the_best_five_follow_the_rules_in_any_deck(ranks, suits, count):
    dealt = hands(np.random.default_rng(count), 300, count, ranks * suits)
    expected = [
        max(rank_five(five, ranks, suits) for five in combinations(hand, min(count, 5)))
        for hand in dealt.tolist()
    ]
    found = best_fives(dealt, suits)
    assert (found >> ranking.CATEGORY_SHIFT).tolist() == [order[0] for order in expected]
    check_classes(expected, found)
    if count != 3:
        assert (strengths(dealt, suits) == found).all()


def check_classes(expected, found):
    """One strength a class, in the same order."""
    classes = sorted(set(zip(expected, found.tolist(), strict=True)))
    assert len(classes) == len(set(expected)) == len(set(found.tolist()))
    assert [strength for _, strength in classes] == sorted(set(found.tolist()))


@pytest.mark.parametrize(("ranks", "suits"), [deck for deck in DECKS if min(deck) > 1])
def test_three_cards_follow_the_rules_in_any_deck(ranks, suits):
    dealt = np.array(list(combinations(range(ranks * suits), 3)), np.int8)
    order = [ranking.HIGH_CARD, ranking.PAIR, ranking.FLUSH, ranking.STRAIGHT, ranking.TRIPS]
    order.append(ranking.STRAIGHT_FLUSH)
    ranked = [rank_five(hand, ranks, suits, whole=3) for hand in dealt.tolist()]
    expected = [(order.index(kind), *rest) for kind, *rest in ranked]
    check_classes(expected, strengths(dealt, suits))


@pytest.mark.parametrize("text", ["Ax", "A", "AsK", "sA"])
def test_what_is_no_card_is_refused(text):
    with pytest.raises(ConfigError, match="is no card; a card is a rank of "):
        parse_cards(text, "23456789TJQKA", "cdhs")
