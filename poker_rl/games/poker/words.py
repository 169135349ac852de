"""A hand of poker as people call it: "two pair, kings and fours"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from poker_rl.games.cards import RANKS, THREE

NAMES = {
    **{"2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight"},
    **{"9": "nine", "T": "ten", "J": "jack", "Q": "queen", "K": "king", "A": "ace"},
}
ACE = RANKS - 1  # which a deck of fewer ranks has none of, but in short-deck hold'em
RUN = 5  # cards of a straight, and of a flush


def hand_words(
    hole: Sequence[int], board: Sequence[int], ranks: str, suits: str, whole: int, ace: int = ACE
) -> str:
    """What a seat holds: the best five of its hole cards and the board.

    Args:
        hole, board: cards as `rank * suits + suit`, up to seven in all.
        ranks, suits: of the deck, a character each, lowest rank first.
        whole: how many cards a hand of the game has at its end.
        ace: the rank that also stands below the lowest, if the deck has it.
    """
    if len(hole) == 2 and not board and hole[0] // len(suits) != hole[1] // len(suits):
        high, low = (rank_word(rank, ranks) for rank in sorted(_ranks(hole, suits), reverse=True))
        same = hole[0] % len(suits) == hole[1] % len(suits)
        return f"{high} and {low}, {'suited' if same else 'offsuit'}"
    cards = [*hole, *board]
    if len(cards) == 1:
        return rank_word(cards[0] // len(suits), ranks)
    return made_words(cards, ranks, suits, whole, ace)


def made_words(cards: Sequence[int], ranks: str, suits: str, whole: int, ace: int = ACE) -> str:
    """The best five of two to seven cards; fewer than five make pairs and the like alone.

    Where a `whole` hand has three cards, three make straights and flushes too.
    """
    held = _ranks(cards, suits)
    run = THREE if whole == THREE else RUN
    count = Counter(held)
    order = sorted(count, key=lambda rank: (count[rank], rank), reverse=True)
    first, second = order[0], order[1] if len(order) > 1 else order[0]
    suited = [
        _ranks([card for card in cards if card % len(suits) == suit], suits)
        for suit in range(len(suits))
    ]
    flush = next((of_suit for of_suit in suited if len(of_suit) >= run), [])
    straight_flush, straight = _end_of_run(flush, run, ace), _end_of_run(held, run, ace)
    many = rank_word(first, ranks, plural=True)
    others = rank_word(second, ranks, plural=True)
    if straight_flush == ace and run == RUN:
        return "royal flush"
    if straight_flush is not None:
        return f"straight flush to the {rank_word(straight_flush, ranks)}"
    if count[first] == 4:
        return f"four of a kind, {many}"
    if count[first] == 3 and second != first and count[second] > 1:
        return f"full house, {many} over {others}"
    if flush and (straight is None or run == RUN):  # of three cards a straight is the rarer
        return f"flush, {rank_word(max(flush), ranks)} high"
    if straight is not None:
        return f"straight to the {rank_word(straight, ranks)}"
    if count[first] == 3:
        return f"three of a kind, {many}"
    if count[first] == 2 and second != first and count[second] == 2:
        return f"two pair, {many} and {others}"
    if count[first] == 2:
        return f"pair of {many}"
    return f"{rank_word(first, ranks)} high"


def rank_word(rank: int, ranks: str, plural: bool = False) -> str:
    """`king`, `sixes`; a rank that has no name is its character."""
    word = NAMES.get(ranks[rank], ranks[rank])
    return word + ("es" if word.endswith("x") else "s") * plural


def _ranks(cards: Sequence[int], suits: str) -> list[int]:
    return [card // len(suits) for card in cards]


def _end_of_run(held: Collection[int], run: int, ace: int) -> int | None:
    """The highest rank that so many in a row end on; an ace also stands below the lowest rank."""
    ranks = {*held, *([-1] if ace in held else [])}
    ends = [end for end in ranks if all(end - i in ranks for i in range(run))]
    return max(ends, default=None)
