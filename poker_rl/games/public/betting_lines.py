"""The betting lines of heads-up poker, street by street: the public tree without its cards.

A betting line is a sequence of actions from the start of the hand. In poker legal actions do not
depend on the cards, so all deals have the same betting lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables

MAX_LINES = 200_000  # limit on the betting lines of a game; limit hold'em has 27,000
NO_SEAT = -1


@dataclass(frozen=True)
class StreetLines:
    """The N betting lines of one street; each line comes after the line that it extends.

    Attributes:
        entering_count: number of entering lines, after which the street begins; they come first
        parent_line: the line that each line extends by one action, -1 for an entering line, [N]
        action: the last action of each line, -1 for an entering line, [N]
        seat: the seat that acts after each line, `NO_SEAT` if none acts on this street, [N]
        decision_lines: the lines after which a seat acts on this street, [D]
        decision_records: a table after each decision line, with arbitrary cards, [D]
        continuing_lines: the lines that end the street but not the hand; they are the entering
            lines of the next street, in the same order
        terminal_lines: the lines that end the hand on this street, [E]
        is_fold: whether each terminal line ends with a fold, [E]
        stakes: chips won by each seat after each terminal line, at a showdown if the seat has the
            better hand, [E, 2] float64
    """

    entering_count: int
    parent_line: np.ndarray
    action: np.ndarray
    seat: np.ndarray
    decision_lines: np.ndarray
    decision_records: np.ndarray
    continuing_lines: np.ndarray
    terminal_lines: np.ndarray
    is_fold: np.ndarray
    stakes: np.ndarray


def build_street_lines(game: Game) -> list[StreetLines]:
    """Return the betting lines of each street of a heads-up game."""
    tables = Tables(game, 1, 0)
    tables.deal()
    entering_records, streets, line_count = tables.records, [], 0
    for street_index in range(int(game.definitions[0]["streets"])):
        street, entering_records = extend_over_street(
            game, entering_records, street_index, MAX_LINES - line_count
        )
        streets.append(street)
        line_count += len(street.parent_line)
    return streets


def extend_over_street(
    game: Game, entering_records: np.ndarray, street_index: int, max_lines: int = MAX_LINES
) -> tuple[StreetLines, np.ndarray]:
    """Return the betting lines of one street that continue the tables where the street begins.

    Returns:
        the lines, and a table at each entering line of the next street.
    """
    tables = Tables(game, 0, 0)
    level_records, levels, line_count = entering_records, [], 0
    parent_line = action = np.full(len(entering_records), -1)
    while len(level_records):
        levels.append((level_records, parent_line, action))
        decision_rows = np.flatnonzero(
            (level_records["over"] == 0) & (level_records["street"] == street_index)
        )
        tables.load_records(level_records[decision_rows])
        row, action = np.nonzero(tables.legal_mask())
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
        continuing_lines=continuing_lines,
        terminal_lines=terminal_lines,
        is_fold=is_uncontested[terminal_lines],
        stakes=stakes.astype(np.float64),
    )
    return street, records[continuing_lines]
