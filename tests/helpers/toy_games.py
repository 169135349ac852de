"""Kuhn and Leduc poker for any number of seats, as in OpenSpiel, and helpers for threads."""

from contextlib import contextmanager
from dataclasses import replace

import numba
import numpy as np
import pytest

from poker_rl.config.threads_and_numba_cache import count_cores
from poker_rl.games import Tables, load_game
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker

RANKS = "6789TJQK"
usable_cores = min(count_cores(), numba.config.NUMBA_NUM_THREADS)
two_cores = pytest.mark.skipif(usable_cores < 2, reason="there is one core")


def kuhn(seats=2):
    return replace(load_game("kuhn"), seats=seats, ranks=RANKS[-seats - 1 :])


def leduc(seats=2):
    return replace(load_game("leduc"), seats=seats, ranks=RANKS[-seats - 1 :])


def leduc_8():
    """Return Leduc with eight ranks: a solver traverses its 152,160 leaves in milliseconds."""
    return replace(load_game("leduc"), ranks=RANKS)


def imperfect_recall_kuhn(monkeypatch):
    """Return Kuhn poker where an information set is a seat and its card, without the moves."""

    def card(tables, rows=None):
        records = tables.records if rows is None else tables.records.take(rows)
        own = np.take_along_axis(records["deck"], records["to_act"][:, None], 1)[:, 0]
        return (1 + own + 16 * records["to_act"]).astype("u1").view("S1")

    monkeypatch.setattr(Tables, "infoset_keys", card)
    return replace(load_game("kuhn"), name="forgetful")


def label(parameter):
    """Return the id of a test's parameter: such as `kuhn_2` for a game, None for others."""
    return f"{parameter.name}_{parameter.seats}" if isinstance(parameter, FixedLimitPoker) else None


@contextmanager
def numba_threads(count):
    """Set the number of threads of compiled loops in this context."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)
