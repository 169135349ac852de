"""Estimation of action values by playing on until the same seat decides again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.games.tables import Tables

MAX_TABLES = 2**15  # most tables to play on at once, because action masks take much memory


def compute_successor_values(
    tables: Tables,
    actions: np.ndarray,
    choose_responses: Callable[[np.ndarray, np.ndarray], np.ndarray],
    estimate_values: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the value in chips, [N] float64, of one action of the seat to act at each table.

    Each hand is played on until the same seat has a choice again or the hand ends. The value is
    `estimate_values` at this choice, or the payoff. A seat with only one legal action plays it
    without a call of `choose_responses`. `tables` is changed in place. Both functions get rows of
    tables [n], `choose_responses` also their action masks [n, A].
    """
    seat = tables.records["to_act"].copy()
    tables.step(actions)
    successor_values = np.empty(len(seat))
    rows = np.flatnonzero(tables.records["over"] == 0)
    while len(rows):
        legal_mask = tables.legal_mask(rows)
        has_choice = legal_mask.sum(1) > 1
        is_own_decision = has_choice & (tables.records["to_act"][rows] == seat[rows])
        if is_own_decision.any():
            successor_values[rows[is_own_decision]] = estimate_values(rows[is_own_decision])
        moves = legal_mask.argmax(1)  # the move of seats with one legal action
        is_response = has_choice & ~is_own_decision
        if is_response.any():
            moves[is_response] = choose_responses(rows[is_response], legal_mask[is_response])
        tables.step(moves[~is_own_decision], rows[~is_own_decision])
        rows = rows[~is_own_decision]
        rows = rows[tables.records["over"][rows] == 0]
    ended_rows = np.flatnonzero(tables.records["over"])
    payoffs = tables.payoffs(ended_rows)
    successor_values[ended_rows] = payoffs[np.arange(len(ended_rows)), seat[ended_rows]]
    return successor_values
