"""Discounted CFR (arXiv:1809.04040) on one street of heads-up poker, for one seat.

The solved game is a mixture of two games, which `endgame_solver_bot` explains: the other seat has a
hand of its range, or it has any hand and may opt out of the street.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.games.game import simd_jit
from poker_rl.games.public.betting_lines import (
    fill_reach,
    fill_terminal_values,
    normalize_positive_weights,
    propagate_best_response_values,
    propagate_policy_values,
    update_regrets_and_policy_sums,
)

NEGATIVE_DISCOUNT = 0.5  # factor of negative regrets after each iteration
# The average policy weighs a decision by the probability that its seat's own play reaches it. This
# number is added to that probability, so that unreached decisions have an average policy too.
UNREACHED_WEIGHT = 1e-4


@simd_jit(reorder_sums=False)
def compute_response_values(lines, terminal_arrays, policy, ranges, policy_seat):
    """Return the values of a best response to the policy of `policy_seat` with R hands, [R].

    These are counterfactual values in chips: the payoffs against each hand of `policy_seat` are
    weighted by `ranges[policy_seat]`. The module `betting_lines` explains the other arguments.
    """
    reach = np.empty((len(lines[1]), *ranges.shape))
    reach[0] = ranges
    fill_reach(lines, policy, reach)
    values = np.zeros(reach.shape)
    other_values = values[:, 1 - policy_seat]
    fill_terminal_values(terminal_arrays, 1 - policy_seat, reach, other_values)
    propagate_best_response_values(lines, values)
    return other_values[0]


@simd_jit(reorder_sums=False)
def run_discounted_cfr(
    lines, terminal_arrays, legal_mask, ranges, own_seat, range_share, opt_out_values, iterations
):
    """Return the average policy at the D decisions of the street with each of R hands, [D, K, R].

    K is the number of choices at a decision, see `EndgameBettingLines`.

    Args:
        ranges: the range of each seat over the R hands that share no card with the board, [2, R].
        own_seat: the seat for which the street is solved.
        opt_out_values: the other seat's value of opting out with each hand, as returned by
            `compute_response_values`, [R].
        range_share, iterations: see `EndgameSolverBot`; other arguments: see `betting_lines`.
    """
    hand_count, other_seat = ranges.shape[1], 1 - own_seat
    shape = *legal_mask.shape, hand_count
    regrets, policy_sums, policy = np.zeros(shape), np.zeros(shape), np.empty(shape)
    # Re-solving gadget: with each hand, the other seat chooses to play the street (action 0) or to
    # opt out and receive `opt_out_values` (action 1).
    entry_mask = np.ones((1, 2), np.bool_)
    entry_regrets = np.zeros((1, 2, hand_count))
    entry_policy = np.empty_like(entry_regrets)
    reach = np.empty((len(lines[1]), *ranges.shape))
    reach[0] = ranges
    values = np.empty((len(lines[1]), hand_count))
    any_hand_prob = (1 - range_share) / hand_count
    for t in range(1, iterations + 1):
        positive_discount = t**1.5 / (t**1.5 + 1)
        weights = positive_discount, NEGATIVE_DISCOUNT, float(t**2)
        normalize_positive_weights(entry_regrets, entry_mask, entry_policy)
        reach[0, other_seat] = range_share * ranges[other_seat]
        reach[0, other_seat] += any_hand_prob * entry_policy[0, 0]
        for seat in range(2):
            normalize_positive_weights(regrets, legal_mask, policy)
            fill_reach(lines, policy, reach)
            values[:] = 0
            fill_terminal_values(terminal_arrays, seat, reach, values)
            propagate_policy_values(lines, policy, seat, values)
            own_reach = reach[:, seat] + UNREACHED_WEIGHT * ranges[seat]
            sums = regrets, policy_sums
            update_regrets_and_policy_sums(lines, policy, seat, weights, own_reach, values, *sums)
            if seat == other_seat:
                mean_values = entry_policy[0, 0] * values[0] + entry_policy[0, 1] * opt_out_values
                for choice, choice_values in enumerate((values[0], opt_out_values)):
                    for r in range(hand_count):
                        regret = entry_regrets[0, choice, r] + choice_values[r] - mean_values[r]
                        discount = positive_discount if regret > 0 else NEGATIVE_DISCOUNT
                        entry_regrets[0, choice, r] = regret * discount
    normalize_positive_weights(policy_sums, legal_mask, policy)
    return policy
