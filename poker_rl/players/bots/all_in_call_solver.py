"""Solution of the decision to call or fold against an all-in, by CFR+ over both seats' hands.

After the all-in no decision follows, so the solved game has only two decisions. First the other
seat decides with each hand whether to move all-in. If it does not, its hand is worth the better of
two results: a fold, or a showdown after both seats only check or call. After the all-in, the seat
to act calls or folds with each hand. CFR+ (arXiv:1407.5042) approximates an equilibrium.
"""

from __future__ import annotations

import numpy as np

TINY = np.finfo(np.float32).tiny


def compute_all_in_call_probs(
    win_margins: np.ndarray,
    is_disjoint: np.ndarray,
    own_range: np.ndarray,
    other_range: np.ndarray,
    *,
    called: float,
    folded: float,
    checked: float,
    other_folded: float,
    iterations: int,
) -> np.ndarray:
    """Return the probability of a call with each of R hands, [R].

    Args:
        win_margins: win margin of each hand against each other hand, [R, R]; see
            `expected_win_margins.py`. All arrays are float32, which halves the time.
        is_disjoint: 1 for pairs of hands that share no card, else 0, [R, R].
        own_range: probability of each hand of the seat to act, [R].
        other_range: probability of each hand of the other seat before its all-in, [R].
        called: chips that the winner of a showdown wins if the all-in is called.
        folded: chips that the seat to act loses if it folds.
        checked: chips that the winner of a showdown wins if there is no all-in.
        other_folded: chips that the other seat loses if it folds instead of moving all-in.
        iterations: number of iterations of CFR+.
    """
    # All values are counterfactual: sums over the range of the seat that does not decide.
    value_without_all_in = np.maximum(
        win_margins @ own_range * checked, is_disjoint @ own_range * -other_folded
    )
    all_in_regrets, call_regrets = np.zeros((2, 2, len(own_range)), np.float32)
    call_prob = np.full(len(own_range), 0.5, np.float32)
    call_prob_sum = np.zeros(len(own_range))
    for iteration in range(1, iterations + 1):
        value_of_all_in = win_margins @ (own_range * call_prob) * called
        value_of_all_in += is_disjoint @ (own_range * (1 - call_prob)) * folded
        all_in_prob = _update_and_match_regrets(
            all_in_regrets, value_of_all_in, value_without_all_in
        )
        all_in_range = other_range * all_in_prob
        value_of_call = win_margins @ all_in_range * called
        value_of_fold = is_disjoint @ all_in_range * -folded
        call_prob = _update_and_match_regrets(call_regrets, value_of_call, value_of_fold)
        call_prob_sum += iteration * call_prob
    return np.asarray(call_prob_sum / (iterations * (iterations + 1) / 2))


def _update_and_match_regrets(
    regrets: np.ndarray, first_value: np.ndarray, second_value: np.ndarray
) -> np.ndarray:
    """Update the regrets [2, R] of two actions; return the next probability of the first, [R]."""
    first_prob = _match_regrets(regrets)
    mean_value = first_prob * first_value + (1 - first_prob) * second_value
    regrets += np.stack([first_value, second_value]) - mean_value
    np.maximum(regrets, 0, out=regrets)
    return _match_regrets(regrets)


def _match_regrets(regrets: np.ndarray) -> np.ndarray:
    """Return, for each of R hands, the probability of the first of two actions, [R]."""
    total = regrets.sum(0)
    return np.where(total > 0, regrets[0] / np.maximum(total, TINY), np.float32(0.5))
