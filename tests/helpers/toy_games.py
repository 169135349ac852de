"""Kuhn and Leduc poker for any number of seats, as OpenSpiel generalises them."""

from __future__ import annotations

import numpy as np
import pytest

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.games.poker.limit import Poker
from poker_rl.games.tables import Tables

RANKS = "6789TJQK"


def kuhn(seats: int = 2) -> Poker:
    return build({**option("game", "kuhn"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game")


def leduc(seats: int = 2) -> Poker:
    return build({**option("game", "leduc"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game")


def leduc_8() -> Poker:
    """Leduc with eight ranks: 152,160 leaves, some milliseconds of work for a solver."""
    return build({**option("game", "leduc"), "ranks": RANKS}, "game")


def forgetful(monkeypatch: pytest.MonkeyPatch) -> Poker:
    """A small Kuhn poker whose information sets tell a seat's card alone, and no moves."""

    def card(tables: Tables, rows: np.ndarray | None = None) -> np.ndarray:
        records = tables.records if rows is None else tables.records.take(rows)
        own = np.take_along_axis(records["deck"], records["to_act"][:, None], 1)[:, 0]
        seen: np.ndarray = (1 + own + 16 * records["to_act"]).astype("u1").view("S1")
        return seen

    monkeypatch.setattr(Tables, "infosets", card)
    return build({**option("game", "kuhn"), "name": "forgetful"}, "game")


def label(parameter: object) -> str | None:
    """A short name of a game among a test's parameters."""
    return f"{parameter.name}_{parameter.seats}" if isinstance(parameter, Poker) else None
