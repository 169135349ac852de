"""The betting lines of heads-up poker, street by street, and compiled passes over them.

A betting line is a sequence of actions from the start of the hand. In poker legal actions do not
depend on the cards, so all deals have the same betting lines.

In the passes, `lines` is the result of `get_line_arrays` for a street with N lines, and H is the
number of hands. `row_of_hand` [H] is the row of each hand in the policy `probs` [D, R, A] after the
D decision lines; hands that share a card with the board have any row, because their reach is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game, jit
from poker_rl.games.public.ranges import Ranges, compute_showdown_values, sum_compatible_reach
from poker_rl.games.sequence_form import fill_regret_matching
from poker_rl.games.tables import Tables

MAX_LINES = 200_000  # limit on the betting lines of a game; limit hold'em has 27,000
NO_SEAT = -1


@dataclass(frozen=True)
class StreetLines:
    """The N betting lines of one street; each line comes after the line that it extends."""

    entering_count: int  # number of entering lines, after which the street begins; they come first
    parent_line: np.ndarray  # the line that each line extends by one action, -1 if entering, [N]
    action: np.ndarray  # the last action of each line, -1 for an entering line, [N]
    seat: np.ndarray  # the seat that acts after each line, `NO_SEAT` if none on this street, [N]
    decision_lines: np.ndarray  # the lines after which a seat acts on this street, [D]
    decision_records: np.ndarray  # a table after each decision line, with arbitrary cards, [D]
    legal_mask: np.ndarray  # action masks after the decision lines, [D, A]
    # Lines that end the street but not the hand, in the order in which they enter the next street.
    continuing_lines: np.ndarray
    terminal_lines: np.ndarray  # the lines that end the hand on this street, [E]
    is_fold: np.ndarray  # whether each terminal line ends with a fold, [E]
    # Chips won by each seat after each terminal line, at a showdown with the better hand, [E, 2].
    stakes: np.ndarray


def build_street_lines(game: Game) -> list[StreetLines]:
    """Return the betting lines of each street of a heads-up game."""
    tables = Tables(game, 1, 0)
    tables.deal()
    records, streets, lines_left = tables.records, [], MAX_LINES
    for street_index in range(int(game.definitions[0]["streets"])):
        street, records = extend_over_street(game, records, street_index, lines_left)
        streets.append(street)
        lines_left -= len(street.parent_line)
    return streets


def extend_over_street(
    game: Game, entering_records: np.ndarray, street_index: int, max_lines: int = MAX_LINES
) -> tuple[StreetLines, np.ndarray]:
    """Return the betting lines of one street that continue the tables where it begins.

    The second result are tables at the entering lines of the next street.
    """
    tables = Tables(game, 0, 0)
    level_records, levels, legal_masks, line_count = entering_records, [], [], 0
    parent_line = action = np.full(len(entering_records), -1)
    while len(level_records):
        levels.append((level_records, parent_line, action))
        decision_rows = np.flatnonzero(
            (level_records["over"] == 0) & (level_records["street"] == street_index)
        )
        tables.load_records(level_records[decision_rows])
        legal_masks.append(tables.legal_mask())
        row, action = np.nonzero(legal_masks[-1])
        if line_count + len(level_records) + len(row) > max_lines:
            raise ConfigError(
                f"{game.name} has more than {MAX_LINES:,} betting lines, too many to evaluate;"
                " what fits are limit games and no-limit games of small stacks"
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
    # At a showdown unmatched chips are returned, so the winner gets the smaller stake.
    matched_stake = records["paid"][terminal_lines, :2].min(1)
    stakes = np.where(
        is_uncontested[terminal_lines, None], tables.payoffs(), matched_stake[:, None]
    )
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
        is_fold=is_uncontested[terminal_lines],
        stakes=stakes.astype(np.float64),
    )
    return street, records[continuing_lines]


def get_line_arrays(
    street: StreetLines,
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return four fields of a street, and the index of each line among the decision lines, [N]."""
    decision_of_line = np.cumsum(street.seat >= 0) - 1
    return street.entering_count, street.parent_line, street.action, street.seat, decision_of_line


def get_terminal_arrays(
    street: StreetLines, ranges: Ranges, board_cards: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return three fields of a street, all hands, and those possible on a board by strength."""
    by_strength = np.empty(0, np.int64), np.empty(0, np.int32)
    if not street.is_fold.all():
        by_strength = ranges.sort_by_strength(board_cards)
    return street.terminal_lines, street.is_fold, street.stakes, ranges.hands, *by_strength


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
def fill_terminal_values(terminal_arrays, value_seat, reach, values_out):
    """Write the values [N, H] of a seat's hands on terminal lines, from the `reach` [N, 2, H].

    `terminal_arrays` are the result of `get_terminal_arrays` for the street and a board.
    """
    terminal_lines, is_fold, stakes, hands, hand_order, strengths = terminal_arrays
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

    Before the call the values at decision lines are 0. A line's values are multiplied by the
    probability of its action if this seat acts at the parent.
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


@jit
def propagate_best_response_values(entering, parent, seat, line_values):
    """Compute the value of each line from those of its actions, [N, 2, H].

    It is their maximum for the seat to act and their sum for the other seat.
    """
    has_value = np.zeros(len(parent), np.bool_)
    for line in range(len(parent) - 1, entering - 1, -1):
        parent_line = parent[line]
        actor = seat[parent_line]
        for hand in range(line_values.shape[2]):
            hand_value = line_values[line, actor, hand]
            if not has_value[parent_line] or hand_value > line_values[parent_line, actor, hand]:
                line_values[parent_line, actor, hand] = hand_value
            line_values[parent_line, 1 - actor, hand] += line_values[line, 1 - actor, hand]
        has_value[parent_line] = True


@jit
def normalize_positive(weights, legal_mask, out):
    """Write the positive weights [D, R, A], normalized to sum 1; uniform if a row has none."""
    for d in range(weights.shape[0]):
        for r in range(weights.shape[1]):
            fill_regret_matching(weights[d, r], legal_mask[d], out[d, r])


@jit
def update_regrets(
    lines, stored_hands, policy, learner_seat, weights, reach, hand_values, regrets, policy_sums
):
    """Update regrets and policy sums [D, R, A] where the seat `learner_seat` decides.

    `stored_hands` [R] is the hand of each row, `hand_values` [N, H] are values of the seat's hands.
    The weights are factors of positive regrets, of negative regrets, and of the policy in the sum.
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
