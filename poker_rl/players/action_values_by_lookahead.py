"""Estimation of an action's value by playing each hand until the same seat decides again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.games.tables import Tables

MAX_TABLES = 2**15  # most tables that a caller plays at once, since action masks take much memory


def estimate_action_values(
    tables: Tables,
    actions: np.ndarray,
    choose_responses: Callable[[np.ndarray, np.ndarray], np.ndarray],
    estimate_values: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Estimate the value of one of `actions` [N] at each of N tables, [N] float64, in chips.

    The action is that of the seat to act. After it, the hand in `tables` is played on, in place,
    until the hand ends or the same seat has more than one legal action again. In the first case the
    value is the seat's payoff, in the second the result of `estimate_values`. `choose_responses`
    chooses the actions of other seats that have more than one legal action. Both functions get the
    indices [n] of n of the tables and return an array [n]; `choose_responses` also gets the masks
    of their A legal actions, [n, A].
    """
    seat = tables.records["to_act"].copy()
    tables.step(actions)
    action_values = np.empty(len(seat))
    rows = np.flatnonzero(tables.records["over"] == 0)
    while len(rows):
        legal_mask = tables.legal_mask(rows)
        has_choice = legal_mask.sum(1) > 1
        is_own_decision = has_choice & (tables.records["to_act"][rows] == seat[rows])
        if is_own_decision.any():
            action_values[rows[is_own_decision]] = estimate_values(rows[is_own_decision])
        moves = legal_mask.argmax(1)  # the only legal action of a seat without a choice
        is_response = has_choice & ~is_own_decision
        if is_response.any():
            moves[is_response] = choose_responses(rows[is_response], legal_mask[is_response])
        tables.step(moves[~is_own_decision], rows[~is_own_decision])
        rows = rows[~is_own_decision]
        rows = rows[tables.records["over"][rows] == 0]
    rows = np.flatnonzero(tables.records["over"])
    action_values[rows] = tables.payoffs(rows)[np.arange(len(rows)), seat[rows]]
    return action_values
