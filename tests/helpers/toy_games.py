"""Kuhn and Leduc poker for any number of seats, as OpenSpiel generalizes them, and a marker."""

from contextlib import contextmanager

import numba
import numpy as np
import pytest

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.config.threads import count_cores
from poker_rl.games import Tables
from poker_rl.games.poker.fixed_limit import FixedLimitPoker

RANKS = "6789TJQK"
few = min(count_cores(), numba.config.NUMBA_NUM_THREADS)
two_cores = pytest.mark.skipif(few < 2, reason="there is one core")


def kuhn(seats=2):
    return build(
        {**load_option("game", "kuhn"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game"
    )


def leduc(seats=2):
    return build(
        {**load_option("game", "leduc"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game"
    )


def leduc_8():
    """Return Leduc with eight ranks: 152,160 leaves, milliseconds of work for a solver."""
    return build({**load_option("game", "leduc"), "ranks": RANKS}, "game")


def forgetful(monkeypatch):
    """Return Kuhn poker whose information sets contain the own card but no moves."""

    def card(tables, rows=None):
        records = tables.records if rows is None else tables.records.take(rows)
        own = np.take_along_axis(records["deck"], records["to_act"][:, None], 1)[:, 0]
        seen = (1 + own + 16 * records["to_act"]).astype("u1").view("S1")
        return seen

    monkeypatch.setattr(Tables, "infoset_keys", card)
    return build({**load_option("game", "kuhn"), "name": "forgetful"}, "game")


def label(parameter):
    """Return a short name of a game among the parameters of a test."""
    return f"{parameter.name}_{parameter.seats}" if isinstance(parameter, FixedLimitPoker) else None


@contextmanager
def numba_threads(count):
    """Let compiled loops use so many threads in this context."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)
