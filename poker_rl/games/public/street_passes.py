"""Compiled passes over the betting lines of one street: reach downwards, values upwards.

A street has N lines in the order of `StreetLines`, so each line comes after the line that it
extends. H is the number of hands. `row_of_hand` [H] is the row of each hand in `probs` [D, R, A],
the policy after the D decision lines; `state_of_line` [N] is the index of each line among them.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from poker_rl.games.game import jit
from poker_rl.games.public.ranges import compute_showdown_values, sum_compatible_reach


@jit
def fill_reach(entering, parent, action, seat, state_of_line, probs, row_of_hand, reach):
    """Compute the reach [N, 2, H] of each line within a street from that of its parent."""
    for line in range(entering, len(parent)):
        parent_line = parent[line]
        actor = seat[parent_line]
        policy = probs[state_of_line[parent_line], :, action[line]]
        for hand in range(reach.shape[2]):
            reach[line, actor, hand] = reach[parent_line, actor, hand] * policy[row_of_hand[hand]]
            reach[line, 1 - actor, hand] = reach[parent_line, 1 - actor, hand]


@jit
def fill_terminal_values(
    hands, hand_order, hand_ranks, terminal_lines, folded, stakes, reach, values_out
):
    """Write the values [N, 2, H] of hands on terminal lines; return what the first seat wins."""
    value = 0.0
    for i in range(len(terminal_lines)):
        line = terminal_lines[i]
        for seat in range(2):
            hand_values = values_out[line, seat]
            if folded[i]:
                sum_compatible_reach(hands, reach[line, 1 - seat], hand_values)
            else:
                compute_showdown_values(
                    hands, hand_order, hand_ranks, reach[line, 1 - seat], hand_values
                )
            for hand in range(len(hand_values)):
                hand_values[hand] *= stakes[i, seat]
        for hand in range(len(hands)):
            value += reach[line, 0, hand] * values_out[line, 0, hand]
    return value


@jit
def add_policy_values(entering, parent, action, seat, state_of_line, probs, row_of_hand, values):
    """Add the values [N, 2, H] of each line to its parent's, times the policy of the seat to act.

    Before the call the values of decision lines are 0.
    """
    for line in range(len(parent) - 1, entering - 1, -1):
        parent_line = parent[line]
        actor = seat[parent_line]
        policy = probs[state_of_line[parent_line], :, action[line]]
        for hand in range(values.shape[2]):
            hand_value = policy[row_of_hand[hand]] * values[line, actor, hand]
            values[parent_line, actor, hand] += hand_value
            values[parent_line, 1 - actor, hand] += values[line, 1 - actor, hand]
