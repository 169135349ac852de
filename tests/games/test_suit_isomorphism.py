"""Canonical suits: hands that differ only in suits look alike, all others still differ."""

from __future__ import annotations

import numpy as np
import pytest
from random_games import game as game_of
from random_games import play

from poker_rl.games.game_tree import get_tree
from poker_rl.nets.encoders import ObservationEncoder


@pytest.mark.parametrize("name", ["limit_holdem", "nolimit_holdem"])
@pytest.mark.parametrize("kind", ["sorted_suits", "history"])
@pytest.mark.parametrize("moves", [0, 6])
def test_hands_that_differ_in_suits_alone_look_alike(name, kind, moves):
    game = game_of(name)
    records = play(game, 300, 0)[1][moves].records
    assert len(records) > 5
    features, other = ObservationEncoder(game, kind), records.copy()
    generator = np.random.default_rng(1)
    for record in other:
        name_of = generator.permutation(4)
        record["deck"] = record["deck"] // 4 * 4 + name_of[record["deck"] % 4]
    original = records.copy()
    assert not np.array_equal(records["deck"], other["deck"])
    np.testing.assert_array_equal(features(records), features(other))
    np.testing.assert_array_equal(records, original)


def test_what_a_critic_sees_besides_has_the_same_names():
    game = game_of("limit_holdem_3p")
    records = play(game, 2000, 0)[1][0].records
    features = ObservationEncoder(game, "sorted_suits")
    own = features(records)[:, -208:-156]  # one-hot of 52: rank by rank, four suits each
    others = features.encode_hidden_cards(records).reshape(len(records), 2, 52).any(1)
    suits = np.arange(52) % 4
    dealt = records["deck"][:, :6]
    for i, record in enumerate(records):
        seat = int(record["to_act"])
        mine = dealt[i, 2 * seat : 2 * seat + 2]
        rest = np.delete(dealt[i], [2 * seat, 2 * seat + 1])
        # a card of the others is of the suit of an own one before if and only if it is after
        before = {(c // 4, d // 4) for c in mine for d in rest if c % 4 == d % 4}
        own_cards, other_cards = np.flatnonzero(own[i]), np.flatnonzero(others[i])
        after = {(c // 4, d // 4) for c in own_cards for d in other_cards if suits[c] == suits[d]}
        assert before == after


def test_on_leduc_just_the_two_names_of_its_suits_are_one():
    game = game_of("leduc")
    tree = get_tree(game)
    features = ObservationEncoder(game, "sorted_suits")(tree.infoset_records)
    assert len(tree.infoset_records) == 936
    assert len(np.unique(features, axis=0)) == 936 // 2
