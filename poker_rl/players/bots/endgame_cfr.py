"""Discounted CFR (arXiv:1809.04040) on one street of heads-up poker, for one seat.

The solved game is a mixture of two games, which `endgame_solver_bot` explains: the other seat has a
hand of its range, or it has any hand and may opt out of the street.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import jit
from poker_rl.games.public import betting_lines

NEGATIVE_DISCOUNT = 0.5  # factor of negative regrets after each iteration
# The average policy weighs a decision by the probability that its seat's own play reaches it. This
# small weight is added to it, so that decisions never reached have an average policy too.
UNREACHED_WEIGHT = 1e-4


@jit
def compute_response_values(lines, terminal_arrays, policy, row_of_hand, ranges, policy_seat):
    """Return what a best response to the policy of `policy_seat` wins with each of H hands, [H].

    These are counterfactual values in chips: the payoffs against each hand of `policy_seat` are
    weighted by `ranges[policy_seat]`. The module `betting_lines` explains the other arguments.
    """
    reach = np.empty((len(lines[1]), *ranges.shape))
    reach[0] = ranges
    betting_lines.fill_reach(lines, policy, row_of_hand, reach)
    values = np.zeros(reach.shape)
    other_values = values[:, 1 - policy_seat]
    betting_lines.fill_terminal_values(terminal_arrays, 1 - policy_seat, reach, other_values)
    betting_lines.propagate_best_response_values(lines[0], lines[1], lines[3], values)
    return other_values[0]


@jit
def run_discounted_cfr(
    lines,
    terminal_arrays,
    legal_mask,
    hands,
    row_of_hand,
    ranges,
    own_seat,
    range_share,
    opt_out_values,
    iterations,
):
    """Return the average policy at the D decisions of the street with each of R hands, [D, R, A].

    Args:
        hands: indices of the R hands that share no card with the board, among all H hands.
        ranges: the range of each seat, [2, H]; 0 for hands that share a card with the board.
        opt_out_values: the other seat's value of opting out with each hand, as returned by
            `compute_response_values`, [H].
        See `EndgameSolverBot` for the settings, and `betting_lines` for the other arguments.
    """
    shape = legal_mask.shape[0], len(hands), legal_mask.shape[1]
    regrets, policy_sums, policy = np.zeros(shape), np.zeros(shape), np.empty(shape)
    # Re-solving gadget: with each hand, the other seat chooses to play the street (action 0) or to
    # opt out and receive `opt_out_values` (action 1).
    entry_mask = np.ones((1, 2), np.bool_)
    entry_regrets, entry_policy = np.zeros((1, len(hands), 2)), np.empty((1, len(hands), 2))
    reach = np.empty((len(lines[1]), *ranges.shape))
    reach[0] = ranges
    values = np.empty((len(lines[1]), ranges.shape[1]))
    any_hand_prob = (1 - range_share) / len(hands)
    for t in range(1, iterations + 1):
        positive_discount = t**1.5 / (t**1.5 + 1)
        weights = positive_discount, NEGATIVE_DISCOUNT, float(t**2)
        betting_lines.normalize_positive(entry_regrets, entry_mask, entry_policy)
        for r in range(len(hands)):
            range_prob = range_share * ranges[1 - own_seat, hands[r]]
            reach[0, 1 - own_seat, hands[r]] = range_prob + any_hand_prob * entry_policy[0, r, 0]
        for seat in range(2):
            betting_lines.normalize_positive(regrets, legal_mask, policy)
            betting_lines.fill_reach(lines, policy, row_of_hand, reach)
            values[:] = 0
            betting_lines.fill_terminal_values(terminal_arrays, seat, reach, values)
            betting_lines.propagate_policy_values(lines, policy, row_of_hand, seat, values)
            arrays = reach, values, regrets, policy_sums
            betting_lines.update_regrets(lines, hands, policy, seat, weights, *arrays)
            for d in range(shape[0]):
                for r in range(shape[1]):
                    weight = UNREACHED_WEIGHT * weights[2] * ranges[own_seat, hands[r]]
                    for k in range(shape[2]):
                        policy_sums[d, r, k] += weight * policy[d, r, k]
            if seat != own_seat:
                for r in range(len(hands)):
                    entry_values = values[0, hands[r]], opt_out_values[hands[r]]
                    mean = entry_policy[0, r, 0] * entry_values[0]
                    mean += entry_policy[0, r, 1] * entry_values[1]
                    for k in range(2):
                        regret = entry_regrets[0, r, k] + entry_values[k] - mean
                        discount = positive_discount if regret > 0 else NEGATIVE_DISCOUNT
                        entry_regrets[0, r, k] = regret * discount
    betting_lines.normalize_positive(policy_sums, legal_mask, policy)
    return policy
