"""Hands packed into rows of bytes give the same tables again."""

from __future__ import annotations

import numpy as np
import pytest
from random_games import game

from poker_rl.config.validation import ConfigError
from poker_rl.games.poker.table_packer import TablePacker
from poker_rl.games.tables import Tables
from poker_rl.players.action_sampling import sample_from_probs

LOOKS = ("observe", "reveal", "legal_mask", "infoset_keys")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "limit_holdem_2to9", "nolimit_leduc"])
def test_every_moment_of_a_hand_comes_back_as_it_was(name: str) -> None:
    played = game(name)
    hands, tables, generator = TablePacker(played), Tables(played, 50, 0), np.random.default_rng(0)
    tables.deal()
    shown, rows, moments = [], np.arange(50), 0
    while len(rows):
        legal = tables.legal_mask(rows)
        seen = {look: getattr(tables, look)(rows) for look in LOOKS}
        shown.append((rows, seen))
        action = sample_from_probs(legal / legal.sum(1, keepdims=True), generator.random(len(rows)))
        tables.step(action, rows)
        rows = rows[tables.records["over"][rows] == 0]
    packed = hands.pack(tables.records)
    assert packed.shape == (50, hands.row_bytes)
    for moves, (rows, seen) in enumerate(shown):
        again = hands.unpack_tables(packed[rows], np.full(len(rows), moves))
        for look in LOOKS:
            np.testing.assert_array_equal(getattr(again, look)(), seen[look])
        assert not again.records["over"].any()
        moments += len(rows)
        line = tables.records["line"][rows, moves]
        np.testing.assert_array_equal(
            hands.get_next_actions(packed[rows], np.full(len(rows), moves)), line
        )
    end = hands.unpack_tables(packed, tables.records["moves"])
    assert end.records["over"].all()
    np.testing.assert_array_equal(end.payoffs(), tables.payoffs())
    assert moments > 100


def test_a_game_that_keeps_no_actions_is_refused() -> None:
    with pytest.raises(ConfigError, match="tables of big2 do not keep their actions"):
        TablePacker(game("big2"))
