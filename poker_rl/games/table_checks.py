"""Checks of tables and decks that come from a file, before the compiled rules see them.

The rules index arrays by what a table holds and check no bounds, so a table that no hand leads to
could end the process. Only what play leads to is accepted: each hand is played again from its deck
and its actions, and has to come out the same to the last byte. So the rules themselves say what a
field may hold. What lies beyond the cards and actions of a hand is written before it is read, and
may be anything.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import copied, start_loop, tables_of


def check_tables(game: Game, records: np.ndarray) -> None:
    """Check tables [B] that were saved during play, or before their first hand.

    Raises:
        ValueError: if no hand of the game leads to one of them.
    """
    new = np.zeros_like(records)
    new["key"], new["over"] = records["key"], 1
    begun = np.flatnonzero((to_bytes(records) != to_bytes(new)).any(1))
    hands = to_bytes(records)[begun].view(game.table)[:, 0]
    check_decks(game, hands["deck"], hands["variant"])
    actions, counts = game.recover_actions(hands)
    if int(counts.max(initial=0)) > actions.shape[1]:
        raise ValueError(f"tables: {counts.max()} actions in a hand, at most {actions.shape[1]}")
    tables = tables_of(game, copied(hands))
    tables.run(start_loop, None)
    tables.replay(actions, counts)
    differ = np.flatnonzero((to_bytes(tables.records) != to_bytes(hands)).any(1))
    if len(differ):
        raise ValueError(f"tables: no hand of {game.name} leads to table {begun[differ[0]]}")


def check_decks(game: Game, decks: np.ndarray, variants: np.ndarray) -> None:
    """Check that decks [B, D] begin with different cards of the game, as many as are dealt.

    Args:
        variants: the definition that each is dealt by, [B].

    Raises:
        ValueError: if one does not, or there is no such definition.
    """
    wrong = np.flatnonzero(variants >= len(game.record))
    if len(wrong):
        raise ValueError(f"variant {variants[wrong[0]]}: {game.name} has {len(game.record)}")
    definitions, place = game.record.take(variants), np.arange(decks.shape[1])
    dealt = place < definitions["dealt"][:, None]
    inside = (decks >= 0) & (decks < definitions["cards"][:, None])
    ordered = np.sort(np.where(dealt, decks, 256 + place), axis=1)  # no card is above 127
    different = np.diff(ordered, axis=1).all(1)
    wrong = np.flatnonzero(~different | (dealt & ~inside).any(1))
    if len(wrong):
        cards = decks[wrong[0]][dealt[wrong[0]]].tolist()
        raise ValueError(f"deck {cards}: not different cards of {game.name}")


def to_bytes(records: np.ndarray) -> np.ndarray:
    """Return tables [B] as bytes, [B, bytes of a table] uint8."""
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)
