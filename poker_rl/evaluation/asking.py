"""What a player does at public states with each hand that the seat to act there may hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.evaluation.boards import Board
from poker_rl.evaluation.ranges import Ranges
from poker_rl.games.poker.game import PokerGame
from poker_rl.players.player import Player, finite

ROWS = 4096  # tables a player is asked at once: what a network makes of them stays in the cache


class Asking:
    """Asks players of a game of poker for two about all hands at once."""

    def __init__(self, game: PokerGame, ranges: Ranges) -> None:
        self._game, self._ranges = game, ranges

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

    def tables(self, states: np.ndarray, board: Board, kept: np.ndarray) -> np.ndarray:
        """Tables at which the seat to act holds each of these hands, [D * R].

        The other seat and the board to come get any of the cards that are left.

        Args:
            states: a table at each public state, whatever its cards, [D].
            kept: places among the hands, [R].
        """
        game, hands = self._game, self._ranges.hands[kept]
        hole, count = game.hole_cards, len(kept)
        used = np.zeros((count, game.cards), np.bool_)
        used[:, board.cards] = True
        np.put_along_axis(used, hands.astype(np.int64), True, axis=1)
        fill = np.argsort(used, axis=1, kind="stable")
        shown = len(board.cards)
        later = game.dealt - 2 * hole - shown
        other, rest = fill[:, :hole], fill[:, hole : hole + later]
        middle = np.broadcast_to(board.cards, (count, shown))
        decks = np.stack(
            [np.hstack([hands, other, middle, rest]), np.hstack([other, hands, middle, rest])]
        )
        tables = np.repeat(states, count)
        tables["deck"][:, : game.dealt] = decks[states["to_act"]].reshape(-1, game.dealt)
        return tables

    def chances(
        self,
        player: Player,
        states: np.ndarray,
        board: Board,
        asked: Callable[[int], object] = lambda rows: None,
    ) -> np.ndarray:
        """The policy of each hand at each state [D], [D, A, H]; 0 for hands that cannot be.

        Args:
            player: of one instance.
            states: as in `tables`, all of the street that the board is of.
            asked: is told of each batch of rows as it is done.
        """
        kept, of_hand = self.representatives(board)
        tables = self.tables(states, board, kept)
        parts = []
        for first in range(0, len(tables), ROWS):
            batch = tables[first : first + ROWS]
            parts.append(finite(player.probabilities(batch)))
            asked(len(batch))
        actions = self._game.actions
        by_hand = np.concatenate([*parts, np.zeros((0, actions))]).reshape(-1, len(kept), actions)
        out = np.zeros((len(by_hand), actions, len(of_hand)))
        free = of_hand >= 0
        out[:, :, free] = by_hand[:, of_hand[free]].transpose(0, 2, 1)
        return out
