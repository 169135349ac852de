"""Boards that come one after the other, those that differ in the names of suits taken together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from poker_rl.evaluation.ranges import Ranges
from poker_rl.games.poker.game import PokerGame


@dataclass(frozen=True)
class Board:
    """The board cards of one street and of those before.

    Attributes:
        cards: [n] int64, street after street.
        weight: of how many boards that the street may bring, after the same earlier streets, it is
            the one that stands for all.
        renamings: the renamings of suits, as places in `Ranges.renamed`, that leave the board of
            each street as it is, [S].
    """

    cards: np.ndarray
    weight: int
    renamings: np.ndarray


class Boards:
    """All boards of a game of poker.

    Args:
        merge: whether boards that differ in the names of suits alone are taken together.
    """

    def __init__(self, game: PokerGame, ranges: Ranges, merge: bool) -> None:
        self._game, self._ranges, self._merge = game, ranges, merge

    @cached_property
    def root(self) -> Board:
        """Before any card is on the board."""
        count = len(self._ranges.cards) if self._merge else 1
        return Board(np.empty(0, np.int64), 1, np.arange(count))

    def after(self, board: Board, street: int) -> list[Board]:
        """The boards with which a street may begin, after the one of the street before."""
        size = self._game.board_cards[street]
        if size == 0:
            return [Board(board.cards, 1, board.renamings)]
        left = np.setdiff1d(np.arange(self._game.cards), board.cards)
        new = np.array(list(combinations(left.tolist(), size)))  # [N, size]
        images = np.sort(self._ranges.cards[board.renamings][:, new], axis=2)  # [S, N, size]
        keys = images @ (self._game.cards ** np.arange(size))  # [S, N]
        own = keys[0]
        return [
            Board(
                np.concatenate([board.cards, new[i]]),
                len(board.renamings) // int((keys[:, i] == own[i]).sum()),
                board.renamings[keys[:, i] == own[i]],
            )
            for i in np.flatnonzero(own == keys.min(0))
        ]

    def along(self, cards: np.ndarray) -> list[Board]:
        """The boards of all streets of a hand with these board cards [n], the last one full."""
        found, board = [], self.root
        for size in self._game.board_cards:
            new = cards[len(board.cards) :][:size]
            image = np.sort(self._ranges.cards[board.renamings][:, new], axis=1)  # [S, size]
            same = board.renamings[(image == np.sort(new)).all(1)]
            board = Board(np.concatenate([board.cards, new]), 1, same)
            found.append(board)
        return found

    def ways(self, street: int) -> int:
        """How many boards a street may bring once both hands and the board before it are known."""
        shown = sum(self._game.board_cards[:street])
        left = self._game.cards - 2 * self._game.hole_cards - shown
        return comb(left, self._game.board_cards[street])
