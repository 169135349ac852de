"""Hands as rows of bytes: the rules make the same tables of them again."""

from __future__ import annotations

import numpy as np
import pytest
from random_games import game

from poker_rl.config.settings import Refused
from poker_rl.games.poker.hands import Hands
from poker_rl.games.tables import Tables
from poker_rl.players.sampling import draw

LOOKS = ("observe", "reveal", "legal", "infosets")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "limit_holdem_2to9", "nolimit_leduc"])
def test_every_moment_of_a_hand_comes_back_as_it_was(name: str) -> None:
    played = game(name)
    hands, tables, generator = Hands(played), Tables(played, 50, 0), np.random.default_rng(0)
    tables.deal()
    shown, rows, moments = [], np.arange(50), 0
    while len(rows):
        legal = tables.legal(rows)
        seen = {look: getattr(tables, look)(rows) for look in LOOKS}
        shown.append((rows, seen))
        action = draw(legal / legal.sum(1, keepdims=True), generator.random(len(rows)))
        tables.step(action, rows)
        rows = rows[tables.records["over"][rows] == 0]
    packed = hands.pack(tables.records)
    assert packed.shape == (50, hands.width)
    for moves, (rows, seen) in enumerate(shown):
        again = hands.tables(packed[rows], np.full(len(rows), moves))
        for look in LOOKS:
            np.testing.assert_array_equal(getattr(again, look)(), seen[look])
        assert not again.records["over"].any()
        moments += len(rows)
        line = tables.records["line"][rows, moves]
        np.testing.assert_array_equal(hands.action(packed[rows], np.full(len(rows), moves)), line)
    end = hands.tables(packed, tables.records["moves"])
    assert end.records["over"].all()
    np.testing.assert_array_equal(end.payoffs(), tables.payoffs())
    assert moments > 100


def test_what_comes_later_in_a_hand_is_not_kept() -> None:
    played = game("limit_holdem")
    hands, tables = Hands(played), Tables(played, 1, 0)
    tables.deal()
    before = hands.pack(tables.records)
    tables.records["line"] = 7  # of the hand before
    np.testing.assert_array_equal(hands.pack(tables.records), before)


def test_a_game_that_keeps_no_actions_is_refused() -> None:
    with pytest.raises(Refused, match="tables of big2 do not keep their actions"):
        Hands(game("big2"))
