"""Boards that come one after the other, those that differ in the names of suits taken together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from poker_rl.games.poker.game import PokerGame
from poker_rl.games.public.ranges import Ranges


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


def key_of(cards: np.ndarray, count: int) -> np.ndarray:
    """A number for cards in ascending order, [..., n] -> [...], of a deck of so many."""
    keys: np.ndarray = cards @ count ** np.arange(cards.shape[-1])
    return keys


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
        new, keys = self._keys(board, street)
        own = keys[0]
        return [
            Board(
                np.concatenate([board.cards, new[i]]),
                len(board.renamings) // int((keys[:, i] == own[i]).sum()),
                board.renamings[keys[:, i] == own[i]],
            )
            for i in np.flatnonzero(own == keys.min(0))
        ]

    def renamed(self, board: Board, street: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All boards that a street may bring after a board, by their new cards.

        Returns:
            their keys, see `key_of`, in any order, [N]; the key of the one that stands for each,
            [N]; and a renaming, a place in `Ranges.cards`, that makes it of that one, [N].
        """
        _, keys = self._keys(board, street)
        least = keys.argmin(0)
        return keys[0], keys[least, np.arange(keys.shape[1])], board.renamings[least]

    def _keys(self, board: Board, street: int) -> tuple[np.ndarray, np.ndarray]:
        """The cards that a street may bring, [N, size], and their keys in each renaming, [S, N]."""
        size = self._game.board_cards[street]
        left = np.setdiff1d(np.arange(self._game.cards), board.cards)
        choices = list(combinations(left.tolist(), size))
        new = np.array(choices, np.int64).reshape(len(choices), size)
        renamings = self._ranges.cards[board.renamings]
        keys = [key_of(np.sort(cards[new]), self._game.cards) for cards in renamings]
        return new, np.stack(keys)

    def byte_count(self) -> int:
        """Bytes that the list of a street's boards takes while it is made, about, the longest."""
        shown = most = 0
        for size in self._game.board_cards:
            boards = comb(self._game.cards - shown, size)
            # their keys, and their cards as Python's numbers, in an array and in order
            most = max(most, boards * (8 * len(self.root.renamings) + 24 * size + 80))
            shown += size
        return most

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

    def representatives(self, board: Board) -> tuple[np.ndarray, np.ndarray]:
        """Hands that stand for all that the board's renamings make of them.

        Returns:
            their places among the hands, [R], and of each hand the one that stands for it, a place
            in the first array, [H]; -1 for hands that share a card with the board.
        """
        least = self._ranges.renamed[board.renamings].min(0)
        free = self._ranges.free(board.cards)
        kept, place = np.unique(least[free], return_inverse=True)
        of_hand = np.full(len(free), -1)
        of_hand[free] = place
        return kept, of_hand

    def ways(self, street: int) -> int:
        """How many boards a street may bring once both hands and the board before it are known."""
        shown = sum(self._game.board_cards[:street])
        left = self._game.cards - 2 * self._game.hole_cards - shown
        return comb(left, self._game.board_cards[street])
