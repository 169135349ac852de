"""Exact exploitability by a walk of the public tree: what both seats see, boards and betting lines.

At each public state a player is asked for all hands that it may hold there. The chance that each
seat comes there with each hand goes down the tree, what each hand wins comes up
(Johanson et al., "Accelerating best response calculation in large extensive games", 2011). The
results of a board are given up before the next one, so the memory is that of one board a street.

Boards that differ in the names of suits alone are walked once if the player is blind to suits, and
so are hands that only a renaming which changes nothing of the board tells apart.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.evaluation.asking import ROWS, Asking
from poker_rl.games.game import Game, rule
from poker_rl.games.public.boards import Board
from poker_rl.games.public.ranges import against_all, show_down
from poker_rl.games.public.tree import PublicTree
from poker_rl.players.player import Player


@dataclass(frozen=True)
class Result:
    """What a policy is worth, in chips a hand.

    Attributes:
        value: what the first seat wins if both seats play the policy.
        best: what each seat wins with its best response, [2].
    """

    value: float
    best: np.ndarray

    @property
    def gains(self) -> np.ndarray:
        """What each seat gains by its best response, [2]."""
        return self.best - [self.value, -self.value]


class AskedTree(PublicTree):
    """A public tree as it is walked for one player."""

    def __init__(self, game: Game, merge: bool) -> None:
        super().__init__(game, merge)
        self.asking = Asking(game, self.ranges, self.boards)

    def rows(self) -> int:
        """How many tables the player is asked about."""
        return sum(
            len(self.streets[number].asked) * len(self.boards.representatives(board)[0])
            for number, board in self._all_boards(0, self.boards.root)
        )

    def _all_boards(self, number: int, board: Board) -> Iterator[tuple[int, Board]]:
        for after in self.boards.after(board, number):
            yield number, after
            if number + 1 < len(self.streets):
                yield from self._all_boards(number + 1, after)

    def byte_count(self) -> int:
        """Bytes of memory that the walk takes at once, about, the player's own aside."""
        hands = len(self.ranges.hands)
        lines = sum(6 * len(street.parent) + 2 * len(street.leaving) for street in self.streets)
        asked = max(len(street.asked) for street in self.streets)
        table = self.streets[0].tables.itemsize
        row = table + 16 * self.game.actions
        walk = hands * (8 * lines + asked * row) + 3 * ROWS * table
        return walk + self.boards.byte_count()

    def some_board(self) -> Board:
        """A board of the last street."""
        board = self.boards.root
        for number in range(len(self.streets)):
            boards = self.boards.after(board, number)
            board = boards[len(boards) // 2]
        return board

    def sample(self, board: Board, player: Player, asked: Callable[[int], object]) -> None:
        """Walk a board of the last street for nothing but the time; arguments as of `measure`."""
        last = len(self.streets) - 1
        reach = np.ones((2, self.streets[last].entering, len(self.ranges.hands)))
        _Walk(self, player, asked).street(last, board, reach)

    def measure(self, player: Player, asked: Callable[[int], object] = lambda rows: None) -> Result:
        """Walk the tree.

        Args:
            player: of one instance.
            asked: is told of each batch of rows as it is done.
        """
        walk = _Walk(self, player, asked)
        reach = np.ones((2, 1, len(self.ranges.hands)))
        worth, value = walk.chance(0, self.boards.root, reach)
        return Result(value / self.pairs, worth.sum((1, 2)) / self.pairs)


class _Walk:
    """One walk of a public tree for one player."""

    def __init__(self, tree: AskedTree, player: Player, asked: Callable[[int], object]) -> None:
        self._tree, self._player, self._asked = tree, player, asked
        self._ranges, self._boards = tree.ranges, tree.boards

    def chance(self, number: int, before: Board, reach: np.ndarray) -> tuple[np.ndarray, float]:
        """Deal the board of a street in all ways and take the mean.

        Args:
            reach: of each seat at each line that the street begins with, [2, L, H].

        Returns:
            what each hand wins by a best response of its seat, times the chance that the other seat
            and the cards come there, [2, L, H]; and what the first seat wins by the policy, times
            the chance of all.
        """
        worth, value = np.zeros(reach.shape), 0.0
        for board in self._boards.after(before, number):
            won, own = self.street(number, board, reach)
            share = board.weight / len(before.renamings)
            worth += share * won
            value += board.weight * own
        if len(before.renamings) > 1:
            renamed = self._ranges.renamed[before.renamings]
            worth = np.sum([worth[:, :, names] for names in renamed], axis=0)
        ways = self._boards.ways(number)
        return worth / ways, value / ways

    def street(self, number: int, board: Board, reach: np.ndarray) -> tuple[np.ndarray, float]:
        """Walk the lines of a street with one board; as `chance` returns."""
        street = self._tree.streets[number]
        free = self._ranges.free(board.cards)
        all_reach = np.empty((len(street.parent), 2, len(free)))
        all_reach[: street.entering] = (reach * free).transpose(1, 0, 2)
        holdings = self._tree.asking.holdings(board)
        chances = self._tree.asking.chances(self._player, street.tables, holdings, self._asked)
        row = np.cumsum(street.seat >= 0) - 1
        _descend(
            street.entering, street.parent, street.action, street.seat, row, chances, all_reach
        )
        worth = np.zeros(all_reach.shape)
        value = 0.0
        if len(street.ended):
            order, ranks = np.empty(0, np.int64), np.empty(0, np.int32)
            if not street.folded.all():
                order, ranks = self._ranges.ranked(board.cards)
            value = _settle(
                self._ranges.hands,
                order,
                ranks,
                street.ended,
                street.folded,
                street.paid,
                all_reach,
                worth,
            )
        if len(street.leaving):
            below = all_reach[street.leaving].transpose(1, 0, 2)
            later, own = self.chance(number + 1, board, below)
            worth[street.leaving] = later.transpose(1, 0, 2)
            value += own
        _ascend(street.entering, street.parent, street.seat, worth)
        return worth[: street.entering].transpose(1, 0, 2) * free, value


@rule
def _descend(entering, parent, action, seat, row, chances, reach):
    """Write the reach [N, 2, H] of all lines after those that a street begins with."""
    for line in range(entering, len(parent)):
        above = parent[line]
        actor = seat[above]
        policy = chances[row[above], action[line]]
        for hand in range(reach.shape[2]):
            reach[line, actor, hand] = reach[above, actor, hand] * policy[hand]
            reach[line, 1 - actor, hand] = reach[above, 1 - actor, hand]


@rule
def _settle(hands, order, ranks, ended, folded, paid, reach, worth):
    """Write what each hand wins where hands end, [N, 2, H]; return what the first seat wins."""
    value = 0.0
    for i in range(len(ended)):
        line = ended[i]
        for seat in range(2):
            out = worth[line, seat]
            if folded[i]:
                against_all(hands, reach[line, 1 - seat], out)
            else:
                show_down(hands, order, ranks, reach[line, 1 - seat], out)
            for hand in range(len(out)):
                out[hand] *= paid[i, seat]
        for hand in range(len(hands)):
            value += reach[line, 0, hand] * worth[line, 0, hand]
    return value


@rule
def _ascend(entering, parent, seat, worth):
    """Bring worth [N, 2, H] up: the best for the seat that acts, the sum for the other one."""
    best = np.zeros(len(parent), np.bool_)  # whether a line has one of its actions' worth already
    for line in range(len(parent) - 1, entering - 1, -1):
        above = parent[line]
        actor = seat[above]
        for hand in range(worth.shape[2]):
            won = worth[line, actor, hand]
            if not best[above] or won > worth[above, actor, hand]:
                worth[above, actor, hand] = won
            worth[above, 1 - actor, hand] += worth[line, 1 - actor, hand]
        best[above] = True
