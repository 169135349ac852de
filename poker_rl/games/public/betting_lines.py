"""The betting lines of a game of poker for two, street by street: a public tree without its cards.

What may be done at a table of poker does not depend on the cards, so the lines of one deal are
those of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables

MOST_LINES = 200_000  # of limit hold'em there are 27,000
OVER = -1


@dataclass(frozen=True)
class Street:
    """The lines of one street, N of them, each after the one that it goes on from.

    Attributes:
        entering: how many of them, the first ones, the street begins with.
        parent: the line that it goes on from, -1 for those that the street begins with, [N].
        action: by which action, [N].
        seat: who acts, `OVER` where nobody does on this street, [N].
        asked: the lines where somebody acts, [D].
        tables: a table at each of them, whatever its cards, [D].
        leaving: the lines that the next street begins with, in its order, [next entering].
        ended: the lines at which the hand ends on this street, [E].
        folded: whether it does so by a fold, [E].
        paid: by a fold, what each seat then wins; at a showdown, what a seat wins with the better
            hand, [E, 2] float64, chips.
    """

    entering: int
    parent: np.ndarray
    action: np.ndarray
    seat: np.ndarray
    asked: np.ndarray
    tables: np.ndarray
    leaving: np.ndarray
    ended: np.ndarray
    folded: np.ndarray
    paid: np.ndarray


def streets_of(game: Game) -> list[Street]:
    """The lines of each street of a game for two.

    Raises:
        Refused: if there are more than `MOST_LINES`.
    """
    tables = Tables(game, 1, 0)
    tables.deal()
    entering, found, count = tables.records, [], 0
    for number in range(int(game.record[0]["streets"])):
        street, entering = _street(game, entering, number, MOST_LINES - count)
        found.append(street)
        count += len(street.parent)
    return found


def _street(game: Game, entering: np.ndarray, number: int, most: int) -> tuple[Street, np.ndarray]:
    """The lines of one street, and a table at each of those that the next one begins with."""
    tables = Tables(game, 0, 0)
    level, parent, action = entering, np.full(len(entering), -1), np.full(len(entering), -1)
    parts = []
    first = 0
    while len(level):
        parts.append((level, parent, action))
        live = np.flatnonzero((level["over"] == 0) & (level["street"] == number))
        tables.use(level[live])
        row, action = np.nonzero(tables.legal())
        if first + len(level) + len(row) > most:
            raise Refused(
                f"{game.name} has more than {MOST_LINES:,} betting lines, too many to walk;"
                " what fits are limit games and no-limit games of small stacks"
            )
        tables.use(level[live[row]])
        tables.step(action)
        parent = first + live[row]
        first += len(level)
        level = tables.records
    records, parents, actions = (np.concatenate(each) for each in zip(*parts, strict=True))
    over, alone = records["over"] != 0, records["live"] == 1
    last = number + 1 == int(game.record[0]["streets"])
    acts = ~over & (records["street"] == number)
    ends = over & (alone | last)
    ended = np.flatnonzero(ends)
    tables.use(records[ended])
    stake = records["paid"][ended, :2].min(1)  # what is over it comes back, and a tie pays nothing
    paid = np.where(alone[ended, None], tables.payoffs(), stake[:, None])
    leaving = np.flatnonzero(~acts & ~ends)
    street = Street(
        entering=len(entering),
        parent=parents,
        action=actions,
        seat=np.where(acts, records["to_act"].astype(np.int64), OVER),
        asked=np.flatnonzero(acts),
        tables=records[acts],
        leaving=leaving,
        ended=ended,
        folded=alone[ended],
        paid=paid.astype(np.float64),
    )
    return street, records[leaving]
