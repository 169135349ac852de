"""Compiled steps of counterfactual regret minimization (CFR) for all hands on one street.

See `street_passes` for the arguments. R hands have rows in the arrays of regrets and policies
[D, R, A] at the D decision lines of a street.
"""

# mypy can't check functions that numba compiles, because their arguments have no annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from poker_rl.games.game import jit


@jit
def normalize_positive(weights, legal_mask, out):
    """Write the positive weights [D, R, A], normalized to sum 1; uniform if a row has none."""
    for d in range(weights.shape[0]):
        for r in range(weights.shape[1]):
            total, legal_count = 0.0, 0
            for a in range(weights.shape[2]):
                total += max(weights[d, r, a], 0.0)
                legal_count += legal_mask[d, a]
            for a in range(weights.shape[2]):
                if total > 0:
                    out[d, r, a] = max(weights[d, r, a], 0.0) / total
                else:
                    out[d, r, a] = legal_mask[d, a] / legal_count


@jit
def update_regrets(
    lines, stored_hands, policy, learner_seat, weights, reach, hand_values, regrets, policy_sums
):
    """Update regrets and policy sums where the seat `learner_seat` decides.

    Args:
        stored_hands: the hand of each row, [R].
        weights: factors of positive regrets, of negative regrets, and of the policy in the sum.
        reach: reach of both seats, [N, 2, H].
        hand_values: values of the seat's hands, [N, H].
    """
    entering_count, parent, action, seat, decision_of_line = lines
    positive_discount, negative_discount, policy_weight = weights
    for line in range(entering_count, len(parent)):
        parent_line, a = parent[line], action[line]
        if seat[parent_line] == learner_seat:
            d = decision_of_line[parent_line]
            for r in range(len(stored_hands)):
                hand = stored_hands[r]
                regret = regrets[d, r, a] + hand_values[line, hand]
                regret -= hand_values[parent_line, hand]
                discount = positive_discount if regret > 0 else negative_discount
                regrets[d, r, a] = regret * discount
                policy_sums[d, r, a] += (
                    policy_weight * reach[parent_line, learner_seat, hand] * policy[d, r, a]
                )
