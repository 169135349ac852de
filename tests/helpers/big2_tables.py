"""Tables of Big 2 in chosen states, moves by their cards, and the rules in plain Python."""

from collections import Counter
from itertools import combinations

import numpy as np
from random_games import deal_tables, game

from poker_rl.games.cards import parse_cards
from poker_rl.games.tables import tables_from_records

BIG2 = game("big2")
ORDER = "3456789TJQKA2"


def cards(text):
    """Return the cards in text such as `3d3c`, ascending."""
    return sorted(parse_cards(text, ORDER, "dchs"))


def make_record(hands):
    """Return the record of a table with these hands where seat 0 leads; no card was played yet."""
    record = deal_tables(BIG2).records[0]
    record["hand"], record["turn"] = -1, 0
    record["played"], record["shown"], record["turns"] = 0, 0, 0
    record["size"], record["strength"], record["passes"], record["to_act"] = 0, -1, 0, 0
    for seat, hand in enumerate(hands):
        record["hand"][seat, : len(hand)] = sorted(hand)
        record["left"][seat] = len(hand)
    return record


def make_tables(*hands):
    """Return a table where seat 0 leads; seats without one of the `hands` hold only `3s`."""
    rest = ["3s"] * (4 - len(hands))
    record = make_record([cards(hand) for hand in (*hands, *rest)])
    return tables_from_records(BIG2, np.array([record]))


def list_legal_moves(tables):
    """Return the legal actions at the only table by the names of the moves."""
    record = tables.records[0]
    return {BIG2.move_name(record, int(a)): int(a) for a in np.flatnonzero(tables.legal_mask()[0])}


def play_moves(tables, *names):
    """Play moves at the only table, each a hand such as `3d3c` or `pass`; return the table."""
    for name in names:
        tables.step(np.array([list_legal_moves(tables)[name]]))
    return tables


def compute_strength(hand):
    """Return size, category and tie-breaker of a played hand, to compare; None if it is invalid."""
    hand = sorted(hand)
    ranks, suits = [card // 4 for card in hand], {card % 4 for card in hand}
    rank_counts = Counter(ranks).most_common()
    groups = sorted(count for _, count in rank_counts)
    size, top = len(hand), (max(hand),)
    if size <= 3 and len(rank_counts) == 1:
        return size, 0, top if size < 3 else (ranks[0],)
    if size == 4 and groups in ([4], [2, 2]):
        return size, int(groups == [4]), top
    if size == 5:
        straight = ranks == list(range(ranks[0], ranks[0] + 5))
        if straight and len(suits) == 1:
            return size, 3, top
        if groups == [2, 3]:
            return size, 2, (rank_counts[0][0],)
        if straight or len(suits) == 1:
            return size, int(not straight), top
    return None


def list_followers(own, previous):
    """Return the sets of own cards that beat `previous`, and () for a pass; all if it is empty."""
    beat = compute_strength(previous) if len(previous) else None
    sizes = [len(previous)] if len(previous) else range(1, 6)
    followers = {()} if len(previous) else set()
    for size in sizes:
        for hand in combinations(sorted(own), size):
            strength = compute_strength(hand)
            if strength is not None and (beat is None or strength > beat):
                followers.add(hand)
    return followers


def get_hand_to_beat(record):
    """Return the hand to beat, ascending; empty if the seat to act leads."""
    if record["size"] == 0:
        return []
    at_turn = int(record["turns"]) - int(record["passes"])
    return [card for card in range(52) if record["turn"][card] == at_turn]


def get_own_cards(record):
    """Return the cards of the seat to act."""
    return [int(card) for card in record["hand"][record["to_act"]] if card >= 0]


def sample_hard_hands(count, seed):
    """Yield pairs: up to 13 random cards of a seat, and a valid hand of other cards to beat.

    The cards have few ranks or few suits, so four of a kind and straight flushes are frequent.
    """
    generator = np.random.default_rng(seed)
    for _ in range(count):
        low = int(generator.integers(0, 13 - 6))
        ranks, suits = ((low, low + 7), 4) if generator.integers(2) else ((0, 13), 2)
        deck = generator.permutation([4 * r + s for r in range(*ranks) for s in range(suits)])
        held = sorted(deck[: int(generator.integers(4, 14))].tolist())
        rest = [card for card in range(52) if card not in held]
        possible = []
        size = int(generator.integers(1, 6))
        while not possible:
            sample = generator.choice(rest, 13, replace=False).tolist()
            possible = [hand for hand in list_followers(sample, ()) if len(hand) == size]
        yield held, list(possible[generator.integers(len(possible))])
