"""Compiled passes over the betting lines of one street: reach downwards, values upwards.

A street has N lines in the order of `StreetLines`, so each line comes after the line that it
extends; `lines` is the result of `get_line_arrays`. H is the number of hands. `row_of_hand` [H] is
the row of each hand in `probs` [D, R, A], the policy after the D decision lines; hands that share a
card with the board have any row, because their reach is 0.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.public.betting_lines import StreetLines
from poker_rl.games.public.ranges import compute_showdown_values, sum_compatible_reach


def get_line_arrays(
    street: StreetLines,
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the argument `lines` of the passes over a street.

    Returns:
        the fields `entering_count`, `parent_line`, `action` and `seat`, and the index of each line
        among the decision lines, [N], arbitrary for other lines.
    """
    decision_of_line = np.cumsum(street.seat >= 0) - 1
    return street.entering_count, street.parent_line, street.action, street.seat, decision_of_line


@jit
def fill_reach(lines, probs, row_of_hand, reach):
    """Compute the reach [N, 2, H] of each line within a street from that of its parent."""
    entering_count, parent, action, seat, decision_of_line = lines
    for line in range(entering_count, len(parent)):
        parent_line = parent[line]
        actor = seat[parent_line]
        policy = probs[decision_of_line[parent_line], :, action[line]]
        for hand in range(reach.shape[2]):
            reach[line, actor, hand] = reach[parent_line, actor, hand] * policy[row_of_hand[hand]]
            reach[line, 1 - actor, hand] = reach[parent_line, 1 - actor, hand]


@jit
def fill_terminal_values(hand_arrays, terminal_arrays, value_seat, reach, values_out):
    """Write the values [N, H] of a seat's hands on terminal lines.

    Args:
        hand_arrays: all hands, and the two results of `Ranges.sort_by_strength`.
        terminal_arrays: the fields `terminal_lines`, `is_fold` and `stakes` of `StreetLines`.
        reach: reach of both seats at all lines, [N, 2, H].
    """
    hands, hand_order, strengths = hand_arrays
    terminal_lines, is_fold, stakes = terminal_arrays
    for i in range(len(terminal_lines)):
        other_reach = reach[terminal_lines[i], 1 - value_seat]
        hand_values = values_out[terminal_lines[i]]
        if is_fold[i]:
            sum_compatible_reach(hands, other_reach, hand_values)
        else:
            compute_showdown_values(hands, hand_order, strengths, other_reach, hand_values)
        for hand in range(len(hand_values)):
            hand_values[hand] *= stakes[i, value_seat]


@jit
def add_policy_values(lines, probs, row_of_hand, value_seat, values):
    """Add the values [N, H] of a seat's hands at each line to those at its parent.

    They are multiplied by the policy if this seat acts. Before the call the values at decision
    lines are 0.
    """
    entering_count, parent, action, seat, decision_of_line = lines
    for line in range(len(parent) - 1, entering_count - 1, -1):
        parent_line = parent[line]
        if seat[parent_line] == value_seat:
            policy = probs[decision_of_line[parent_line], :, action[line]]
            for hand in range(values.shape[1]):
                values[parent_line, hand] += policy[row_of_hand[hand]] * values[line, hand]
        else:
            for hand in range(values.shape[1]):
                values[parent_line, hand] += values[line, hand]
