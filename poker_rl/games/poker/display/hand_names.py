"""Names of the hands that cards make in poker, such as "two pair, kings and fours"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from poker_rl.games.hand_evaluator import THREE_CARD_HAND
from poker_rl.games.poker.poker_game import PokerGame

RANK_NAMES = {
    **{"2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight"},
    **{"9": "nine", "T": "ten", "J": "jack", "Q": "queen", "K": "king", "A": "ace"},
}
STRAIGHT_LENGTH = 5  # number of cards in a straight, and in a flush


def describe_hand(game: PokerGame, hole: Sequence[int], board: Sequence[int]) -> str:
    """Return the name of the best hand that a seat's hole cards and the board make."""
    cards, suits = [*hole, *board], len(game.suits)
    if len(hole) == len(cards) == 2 and hole[0] // suits != hole[1] // suits:
        high, low = (name_rank(card // suits, game.ranks) for card in sorted(hole, reverse=True))
        return f"{high} and {low}, {'suited' if hole[0] % suits == hole[1] % suits else 'offsuit'}"
    if len(cards) == 1:
        return name_rank(cards[0] // suits, game.ranks)
    return describe_made_hand(game, cards)


def describe_made_hand(game: PokerGame, cards: Sequence[int]) -> str:
    """Return the name of the best hand that two to seven cards make.

    If hands have three cards at showdown, straights and flushes need three cards, else five.
    """
    ranks, suit_count = game.ranks, len(game.suits)
    rank_counts = Counter(card // suit_count for card in cards)
    full_hand_size = game.hole_cards + sum(game.board_cards)
    length = THREE_CARD_HAND if full_hand_size == THREE_CARD_HAND else STRAIGHT_LENGTH
    groups = sorted(((count, rank) for rank, count in rank_counts.items()), reverse=True)
    (first_count, first), (second_count, second) = [*groups, (0, 0)][:2]
    ((suit, suited_count),) = Counter(card % suit_count for card in cards).most_common(1)
    has_flush = suited_count >= length
    flush = [card // suit_count for card in cards if has_flush and card % suit_count == suit]
    straight_flush = _find_straight_end(flush, length, game.ace)
    straight = _find_straight_end(rank_counts, length, game.ace)
    first_plural, second_plural = (name_rank(rank, ranks, plural=True) for rank in (first, second))
    if straight_flush == game.ace and length == STRAIGHT_LENGTH:
        return "royal flush"
    if straight_flush is not None:
        return f"straight flush to the {name_rank(straight_flush, ranks)}"
    if first_count == 4:
        return f"four of a kind, {first_plural}"
    if first_count == 3 and second_count > 1:
        return f"full house, {first_plural} over {second_plural}"
    # With three cards a straight is rarer than a flush, so it ranks higher.
    if flush and (straight is None or length == STRAIGHT_LENGTH):
        return f"flush, {name_rank(max(flush), ranks)} high"
    if straight is not None:
        return f"straight to the {name_rank(straight, ranks)}"
    if first_count == 3:
        return f"three of a kind, {first_plural}"
    if first_count == second_count == 2:
        return f"two pair, {first_plural} and {second_plural}"
    if first_count == 2:
        return f"pair of {first_plural}"
    return f"{name_rank(first, ranks)} high"


def name_rank(rank: int, ranks: str, plural: bool = False) -> str:
    """Return the name of a rank, such as `king` or `sixes`, or its character if it has no name."""
    word = RANK_NAMES.get(ranks[rank], ranks[rank])
    return word + ("es" if word.endswith("x") else "s") * plural


def _find_straight_end(ranks_held: Collection[int], length: int, ace: int) -> int | None:
    """Return the top rank of the highest straight or None; an ace also counts as lowest rank."""
    ranks = {*ranks_held, *([-1] if ace in ranks_held else [])}
    ends = [end for end in ranks if all(end - i in ranks for i in range(length))]
    return max(ends, default=None)
