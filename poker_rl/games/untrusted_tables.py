"""Checks of tables that come from outside, such as from a file, before the rules read them.

The rules index arrays by the values of a table and check no bounds, so a corrupt table could crash
the process. A table is accepted only if play can lead to it: its hand is replayed from its deck and
its actions, and the result has to have the same bytes. So the rules themselves define the legal
values of a field. Array entries beyond the cards and actions of a hand may hold anything, since the
rules write them before they read them.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.table_loops import rule_loop
from poker_rl.games.tables import check_decks, copy_records, tables_from_records


def check_tables(game: Game, records: np.ndarray) -> None:
    """Raise ValueError unless play can lead to each table [B], or its first hand has not begun."""
    fresh = np.zeros_like(records)
    fresh["key"], fresh["over"] = records["key"], 1
    started = np.flatnonzero((to_bytes(records) != to_bytes(fresh)).any(1))
    hands = to_bytes(records)[started].view(game.table_dtype)[:, 0]
    check_decks(game, hands["deck"], hands["variant"])
    recovered = game.recover_actions(hands)
    if recovered is None:
        return
    actions, counts = recovered
    if int(counts.max(initial=0)) > actions.shape[1]:
        raise ValueError(f"tables: {counts.max()} actions in a hand, at most {actions.shape[1]}")
    tables = tables_from_records(game, copy_records(hands))
    tables.run_loop(rule_loop, None, rule="start")
    tables.replay(actions, counts)
    differ = np.flatnonzero((to_bytes(tables.records) != to_bytes(hands)).any(1))
    if len(differ):
        raise ValueError(f"tables: no hand of {game.name} leads to table {started[differ[0]]}")


def to_bytes(records: np.ndarray) -> np.ndarray:
    """Return tables [B] as bytes, [B, bytes of a table] uint8."""
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)
