"""What an action leads to: the others answer until whoever took it decides again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.games.tables import Tables

MOST_TABLES = 2**15  # to be played on at once, for the memory that legal actions take

Answer = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""What is played at some rows of the tables [n], of legal actions [n, A]: an action each [n]."""
Value = Callable[[np.ndarray], np.ndarray]
"""What the seats to act at some rows of the tables [n] expect to win, in chips [n]."""


def outcome(tables: Tables, actions: np.ndarray, answer: Answer, value: Value) -> np.ndarray:
    """What each seat to act wins by an action, in chips [N] float64.

    The hand goes on until that seat has a choice again, and counts as the value of that decision;
    a hand that ends before counts as what it pays. Whoever has one legal action takes it unasked.

    Args:
        tables: N of them, each at the seat's decision; they are played on in place.
        actions: of those seats, [N].
        answer: plays for all others.
        value: tells what those decisions are worth.
    """
    seat = tables.records["to_act"].copy()
    tables.step(actions)
    won = np.empty(len(seat))
    rows = np.flatnonzero(tables.records["over"] == 0)
    while len(rows):
        legal = tables.legal(rows)
        free = legal.sum(1) > 1
        again = free & (tables.records["to_act"][rows] == seat[rows])
        if again.any():
            won[rows[again]] = value(rows[again])
        moves = legal.argmax(1)  # of the only one there is, where there is one
        answers = free & ~again
        if answers.any():
            moves[answers] = answer(rows[answers], legal[answers])
        tables.step(moves[~again], rows[~again])
        rows = rows[~again]
        rows = rows[tables.records["over"][rows] == 0]
    ended = np.flatnonzero(tables.records["over"])
    won[ended] = tables.payoffs(ended)[np.arange(len(ended)), seat[ended]]
    return won
