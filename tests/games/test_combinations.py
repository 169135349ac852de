"""Combinations of Big 2: numbers of actions, their order, and which of them are legal."""

from __future__ import annotations

from itertools import combinations, groupby

import numpy as np
import pytest
from big2_tables import (
    BIG2,
    cards,
    get_hand_to_beat,
    get_own_cards,
    hard_hands,
    list_followers,
    list_legal_moves,
    make_record,
    make_tables,
    play_moves,
)

from poker_rl.games.big2.combinations import ACTION_POSITIONS
from poker_rl.games.tables import Tables

# Actions


def test_actions_come_in_blocks():
    """13 singles, 33 pairs, 31 triples, 330 fours, 1,287 fives and the pass, as published."""
    sizes = [(size, len(list(block))) for size, block in groupby(map(len, ACTION_POSITIONS))]
    assert sizes == [(1, 13), (2, 33), (3, 31), (4, 330), (5, 1287), (0, 1)]
    assert BIG2.action_count == 1695


def test_each_block_is_every_choice_near_enough_in_lexicographic_order():
    for size, block in groupby(ACTION_POSITIONS[:-1], len):
        every = combinations(range(13), size)  # lexicographic itself
        near = {
            2: lambda p: p[1] - p[0] <= 3,
            3: lambda p: p[2] - p[0] <= 3,
            4: lambda p: p[1] - p[0] <= 3 and p[3] - p[2] <= 3,
        }
        assert list(block) == list(filter(near.get(size, lambda p: True), every))


# Order


LADDERS = [
    "3d 3c 3h 3s 4d 9s Td Jd Qd Kd Ad As 2d 2c 2h 2s",
    "3d3c 3h3s 4d4c 4c4h 4d4s KhKs AdAc 2d2c 2c2s",
    "3d3c3h 4c4h4s TdThTs JdJcJh AdAcAh 2d2c2h",
    # Two pair: the higher pair's top card alone; then four of a kind.
    "3d3c4d4c 3h3s4h4s 5d5c6d6c 3d3cAdAc KdKcAhAs QdQc2d2c 3h3s2h2s 3d3c3h3s 4d4c4h4s 2d2c2h2s",
    # Straights: the top card alone. Flushes: the same. Full houses: the triple.
    "3s4s5s6s7d 3d4d5d6d7c 3c4c5c6d7s 4d5d6d7h8d TdJdQdKdAc JsQsKsAs2d JdQdKdAd2c JhQhKhAh2s"
    " 3d4d5d6d8d 3s4s5s6s8s 7d9dTdJdQd 3d4d5d6d2d 9s3sTsJs2s"
    " 3d3c3h2d2c 4d4c4h3d3c TdTcThJsJh 2d2c2h3s3h"
    " 3d4d5d6d7d 3c4c5c6c7c 3s4s5s6s7s 4d5d6d7d8d 9h8hThJhQh JdQdKdAd2d JsQsKsAs2s",
]


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.split()[0])
def test_every_hand_beats_those_below_and_no_other(ladder):
    steps = ladder.split()
    for lower, higher in combinations(steps, 2):
        if set(cards(lower)) & set(cards(higher)):
            continue  # one card can't be in two hands
        for led, answer, follows in ((lower, higher, True), (higher, lower, False)):
            spare = next(card for card in ("3h", "5h", "7h", "9c") if card not in led)
            tables = play_moves(make_tables(led + spare, answer), name_of(led))
            assert (name_of(answer) in list_legal_moves(tables)) == follows, f"{answer} on {led}"


def name_of(hand: str) -> str:
    return "".join(f"{'3456789TJQKA2'[card // 4]}{'dchs'[card % 4]}" for card in cards(hand))


# Legal moves against the plain rules over all sets of up to five cards


def named(tables: Tables) -> list[set[tuple[int, ...]]]:
    """The legal moves of each table as sets of cards."""
    return [
        {
            tuple(get_own_cards(record)[position] for position in ACTION_POSITIONS[a])
            for a in np.flatnonzero(legal)
        }
        for record, legal in zip(tables.records, tables.legal_mask(), strict=True)
    ]


def test_legal_moves_in_random_play():
    tables = Tables(BIG2, 60, seed=2)
    tables.deal()
    generator = np.random.default_rng(2)
    states = 0
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        live = Tables(BIG2, 0, 0)
        live.load_records(tables.records[rows])
        for record, found in zip(live.records, named(live), strict=True):
            assert found == list_followers(get_own_cards(record), get_hand_to_beat(record))
        states += len(rows)
        legal = tables.legal_mask(rows)
        tables.step((generator.random(legal.shape) * legal).argmax(1), rows)
    assert states > 4000


def test_legal_moves_with_hands_full_of_combinations():
    hard = list(hard_hands(150, seed=3))
    led = Tables(BIG2, 0, 0)
    led.load_records(np.array([make_record([held, [], [], []]) for held, _ in hard]))
    for (held, _), found in zip(hard, named(led), strict=True):
        assert found == list_followers(held, ())
    followed = Tables(BIG2, 0, 0)
    followed.load_records(np.array([make_record([beat, held, [], []]) for held, beat in hard]))
    plays = [ACTION_POSITIONS.index(tuple(range(len(beat)))) for _, beat in hard]
    followed.step(np.array(plays))
    followed.records["over"] = 0  # the leader has no card left
    kinds = set()
    for (held, beat), found in zip(hard, named(followed), strict=True):
        assert found == list_followers(held, beat)
        kinds |= {len(hand) for hand in found}
    assert kinds == {0, 1, 2, 3, 4, 5}
