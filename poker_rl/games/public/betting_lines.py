"""The betting lines of heads-up poker, street by street, and compiled passes over them.

A betting line is a sequence of actions from the start of the hand. In poker legal actions do not
depend on the cards, so all deals have the same betting lines.

In the passes, `lines` is the result of `pack_line_arrays` for a street with N lines, and H is the
number of hands. `policy` [D, A, H] has the probability of each of A actions at each of the D lines
after which a seat decides, with each hand; it is arbitrary for hands that share a card with the
board, because their reach is 0. Hands are the last axis, so the values of several hands are
adjacent in memory and SIMD instructions can process them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game, simd_jit
from poker_rl.games.public.ranges import (
    PrivateHands,
    compute_showdown_values,
    fill_compatible_reach_of_rows,
)
from poker_rl.games.tables import Tables

MAX_LINES = 200_000  # limit on the betting lines of a game; limit hold'em has 27,000
NO_SEAT = -1


@dataclass(frozen=True)
class StreetLines:
    """The N betting lines of one street; each line comes after the line that it extends."""

    entering_count: int  # number of lines after which the street begins, the first of the N
    parent_line: np.ndarray  # the line that each line extends by one action, -1 if entering, [N]
    action: np.ndarray  # the last action of each line, -1 for an entering line, [N]
    seat: np.ndarray  # the seat that acts after each line, `NO_SEAT` if none on this street, [N]
    decision_lines: np.ndarray  # the lines after which a seat acts on this street, [D]
    decision_records: np.ndarray  # a table after each decision line, with arbitrary cards, [D]
    legal_mask: np.ndarray  # legal actions after each decision line, [D, A]
    # Lines after which the next street begins, in the order in which they enter it. After an
    # all-in and a call, the line enters all later streets, on which no seat acts.
    continuing_lines: np.ndarray
    terminal_lines: np.ndarray  # the lines that end the hand on this street, [E]
    is_fold: np.ndarray  # whether each terminal line ends with a fold, [E]
    # Chips that each seat wins at each terminal line, or would win with the better hand, [E, 2].
    stakes: np.ndarray


def build_lines_of_all_streets(game: Game) -> list[StreetLines]:
    """Return the betting lines of each street; raise ConfigError if they exceed `MAX_LINES`."""
    tables = Tables(game, 1, 0)
    tables.deal()
    records, streets, lines_left = tables.records, [], MAX_LINES
    for street_index in range(int(game.definitions[0]["streets"])):
        street, records = enumerate_street_lines(game, records, street_index, lines_left)
        streets.append(street)
        lines_left -= len(street.parent_line)
    return streets


def enumerate_street_lines(
    game: Game,
    entering_records: np.ndarray,
    street_index: int,
    max_lines: int = MAX_LINES,
    get_action_mask: Callable[[Tables], np.ndarray] = Tables.legal_mask,
) -> tuple[StreetLines, np.ndarray]:
    """Return the lines of one street, and a table for each line that enters the next street.

    `entering_records` has a table for each line after which this street begins. `get_action_mask`
    returns a mask of the actions to enumerate at B tables, [B, A]. Raise ConfigError if the street
    has more than `max_lines` lines.
    """
    tables = Tables(game, 0, 0)
    level_records, levels, legal_masks, line_count = entering_records, [], [], 0
    parent_line = action = np.full(len(entering_records), -1)
    while len(level_records):
        levels.append((level_records, parent_line, action))
        is_decision = (level_records["over"] == 0) & (level_records["street"] == street_index)
        decision_rows = np.flatnonzero(is_decision)
        tables.load_records(level_records[decision_rows])
        legal_masks.append(get_action_mask(tables))
        row, action = np.nonzero(legal_masks[-1])
        if line_count + len(level_records) + len(row) > max_lines:
            raise ConfigError(
                f"{game.name} has more than {MAX_LINES:,} betting lines, too many to evaluate;"
                " limit games and no-limit games with small stacks have fewer"
            )
        tables.load_records(level_records[decision_rows[row]])
        tables.step(action)
        parent_line = line_count + decision_rows[row]
        line_count += len(level_records)
        level_records = tables.records
    records, parent_lines, actions = (np.concatenate(each) for each in zip(*levels, strict=True))
    is_over, is_uncontested = records["over"] != 0, records["live"] == 1
    is_last_street = street_index + 1 == int(game.definitions[0]["streets"])
    is_decision = ~is_over & (records["street"] == street_index)
    is_terminal = is_over & (is_uncontested | is_last_street)
    terminal_lines = np.flatnonzero(is_terminal)
    tables.load_records(records[terminal_lines])
    # At a showdown, unmatched chips are returned, so the winner gains the smaller stake.
    matched_stake = records["paid"][terminal_lines, :2].min(1)
    is_fold = is_uncontested[terminal_lines]
    stakes = np.where(is_fold[:, None], tables.payoffs(), matched_stake[:, None])
    continuing_lines = np.flatnonzero(~is_decision & ~is_terminal)
    street = StreetLines(
        entering_count=len(entering_records),
        parent_line=parent_lines,
        action=actions,
        seat=np.where(is_decision, records["to_act"].astype(np.int64), NO_SEAT),
        decision_lines=np.flatnonzero(is_decision),
        decision_records=records[is_decision],
        legal_mask=np.concatenate(legal_masks),
        continuing_lines=continuing_lines,
        terminal_lines=terminal_lines,
        is_fold=is_fold,
        stakes=stakes.astype(np.float64),
    )
    return street, records[continuing_lines]


def pack_line_arrays(
    street: StreetLines,
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the argument `lines` of `fill_reach` and the other passes over a street of N lines.

    It has the number of entering lines, then arrays [N] with each line's parent, last action, seat
    to act, and index in `decision_lines` (arbitrary for lines after which no seat decides).
    """
    decision_of_line = np.cumsum(street.seat >= 0) - 1
    return street.entering_count, street.parent_line, street.action, street.seat, decision_of_line


def pack_terminal_arrays(
    street: StreetLines, private_hands: PrivateHands, board_cards: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the argument `terminal_arrays` of `fill_terminal_values` for a street and a board."""
    by_strength = np.empty(0, np.int64), np.empty(0, np.int32)
    if not street.is_fold.all():
        by_strength = private_hands.sort_by_strength(board_cards)
    return street.terminal_lines, street.is_fold, street.stakes, private_hands.hands, *by_strength


@simd_jit(reorder_sums=False)
def fill_reach(lines, policy, reach):
    """Write for each line of a street the probability that each seat plays it with each hand.

    In `reach` [N, 2, H], the entries of the entering lines must already be written.
    """
    entering_count, parent, action, seat, decision_of_line = lines
    for line in range(entering_count, len(parent)):
        actor, parent_reach = seat[parent[line]], reach[parent[line]]
        probs = policy[decision_of_line[parent[line]], action[line]]
        for hand in range(reach.shape[2]):
            reach[line, actor, hand] = parent_reach[actor, hand] * probs[hand]
        for hand in range(reach.shape[2]):
            reach[line, 1 - actor, hand] = parent_reach[1 - actor, hand]


@simd_jit(reorder_sums=False)
def fill_terminal_values(terminal_arrays, value_seat, reach, values_out):
    """Write the values [N, H] of a seat's hands at the terminal lines of a street.

    Before the call the values are 0. A value is the sum of the chips won against each hand that the
    other seat may hold, each times that hand's `reach` [N, 2, H]. `terminal_arrays` is the result
    of `pack_terminal_arrays`.
    """
    terminal_lines, is_fold, stakes, hands, hand_order, strengths = terminal_arrays
    other_reach, showdowns = reach[:, 1 - value_seat], terminal_lines[~is_fold]
    fill_compatible_reach_of_rows(hands, other_reach, terminal_lines[is_fold], values_out)
    compute_showdown_values(hands, hand_order, strengths, other_reach, showdowns, values_out)
    for i in range(len(terminal_lines)):
        values_out[terminal_lines[i]] *= stakes[i, value_seat]


@simd_jit(reorder_sums=False)
def propagate_policy_values(lines, policy, value_seat, values):
    """Propagate the values [N, H] of a seat's hands from the street's last lines to its first.

    Before the call the values at decision lines are 0. The values at a line are added to those at
    its parent line, multiplied by the probability of its action if `value_seat` acts there.
    """
    entering_count, parent, action, seat, decision_of_line = lines
    for line in range(len(parent) - 1, entering_count - 1, -1):
        parent_values, line_values = values[parent[line]], values[line]
        if seat[parent[line]] == value_seat:
            probs = policy[decision_of_line[parent[line]], action[line]]
            for hand in range(values.shape[1]):
                parent_values[hand] += probs[hand] * line_values[hand]
        else:
            for hand in range(values.shape[1]):
                parent_values[hand] += line_values[hand]


@simd_jit(reorder_sums=False)
def propagate_best_response_values(lines, line_values):
    """Propagate the values [N, 2, H] of each seat's best response from the last lines to the first.

    Before the call the values at decision lines are 0. A hand's value at a line is the maximum of
    its values at the next lines if its seat acts, else their sum.
    """
    entering_count, parent, _, seat, _ = lines
    has_value = np.zeros(len(parent), np.bool_)
    for line in range(len(parent) - 1, entering_count - 1, -1):
        parent_line = parent[line]
        actor = seat[parent_line]
        for hand in range(line_values.shape[2]):
            hand_value = line_values[line, actor, hand]
            if not has_value[parent_line] or hand_value > line_values[parent_line, actor, hand]:
                line_values[parent_line, actor, hand] = hand_value
            line_values[parent_line, 1 - actor, hand] += line_values[line, 1 - actor, hand]
        has_value[parent_line] = True


@simd_jit(reorder_sums=False)
def normalize_positive_weights(weights, legal_mask, policy):
    """Write `policy` [D, A, R] of R hands: proportional to positive weights, else uniform."""
    total = np.empty(weights.shape[2])
    for d in range(weights.shape[0]):
        legal_count = legal_mask[d].sum()
        total[:] = 0
        for a in range(weights.shape[1]):
            for r in range(weights.shape[2]):
                total[r] += max(weights[d, a, r], 0.0)
        for a in range(weights.shape[1]):
            uniform = legal_mask[d, a] / legal_count
            for r in range(weights.shape[2]):
                weight = max(weights[d, a, r], 0.0)
                policy[d, a, r] = weight / total[r] if total[r] > 0 else uniform


@simd_jit(reorder_sums=False)
def update_regrets_and_policy_sums(
    lines, policy, learner_seat, weights, own_reach, hand_values, regrets, policy_sums
):
    """Update regrets and policy sums [D, A, R] at the decision lines of the seat `learner_seat`.

    `own_reach` [N, R] is the probability that the seat plays each line with each of R hands, and
    `hand_values` [N, R] are the values of these hands. An updated regret is multiplied by
    `weights[0]` if it is positive, else by `weights[1]`. `weights[2]` is the weight of `policy` in
    the policy sums.
    """
    entering_count, parent, action, seat, decision_of_line = lines
    positive_discount, negative_discount, policy_weight = weights
    for line in range(entering_count, len(parent)):
        if seat[parent[line]] == learner_seat:
            d, a = decision_of_line[parent[line]], action[line]
            parent_values, parent_reach = hand_values[parent[line]], own_reach[parent[line]]
            for r in range(regrets.shape[2]):
                regret = regrets[d, a, r] + hand_values[line, r]
                regret -= parent_values[r]
                discount = positive_discount if regret > 0 else negative_discount
                regrets[d, a, r] = regret * discount
                policy_sums[d, a, r] += policy_weight * parent_reach[r] * policy[d, a, r]
