"""What a player does at public states with each hand that the seat to act there may hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.public.boards import Board, Boards
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import heads_up
from poker_rl.players.player import Player, policy_at

ROWS = 4096  # tables a player is asked at once: what a network makes of them stays in the cache


@dataclass(frozen=True)
class Holdings:
    """The hands that are asked about on a board, R of them.

    Attributes:
        kept: hands that stand for all that the board's renamings make of them, places among the
            hands, [R].
        of_hand: of each hand the one that stands for it, a place in `kept`, [H]; -1 for hands that
            share a card with the board.
        decks: the cards of a table at which a seat holds each of them, [2, R, dealt]. The other
            seat and the board to come get any of the cards that are left.
    """

    kept: np.ndarray
    of_hand: np.ndarray
    decks: np.ndarray


class Asking:
    """Asks players of a game of poker for two about all hands at once."""

    def __init__(self, game: Game, ranges: Ranges, boards: Boards) -> None:
        self._game, self._poker = game, heads_up(game)
        self._ranges, self._boards = ranges, boards

    def holdings(self, board: Board) -> Holdings:
        """The hands that are asked about on a board."""
        game = self._poker
        kept, of_hand = self._boards.representatives(board)
        hands, hole, count = self._ranges.hands[kept], game.hole_cards, len(kept)
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
        return Holdings(kept, of_hand, decks)

    def tables(self, states: np.ndarray, holdings: Holdings) -> np.ndarray:
        """Tables at which the seat to act holds each of the hands, [D * R].

        Args:
            states: a table at each public state, whatever its cards, [D].
        """
        tables = np.repeat(states, len(holdings.kept))
        decks = holdings.decks[states["to_act"]].reshape(-1, self._poker.dealt)
        tables["deck"][:, : self._poker.dealt] = decks
        return tables

    def chances(
        self,
        player: Player,
        states: np.ndarray,
        holdings: Holdings,
        asked: Callable[[int], object] = lambda rows: None,
    ) -> np.ndarray:
        """The policy of each hand at each state [D], [D, A, H]; 0 for hands that cannot be.

        Args:
            player: of one instance.
            states: as in `tables`, all of the street that the board is of.
            holdings: of that board.
            asked: is told of each batch of rows as it is done.
        """
        kept, of_hand = holdings.kept, holdings.of_hand
        tables = self.tables(states, holdings)
        parts = []
        for first in range(0, len(tables), ROWS):
            batch = tables[first : first + ROWS]
            parts.append(policy_at(self._game, player, batch))
            asked(len(batch))
        actions = self._game.actions
        by_hand = np.concatenate([*parts, np.zeros((0, actions))]).reshape(-1, len(kept), actions)
        out = np.zeros((len(by_hand), actions, len(of_hand)))
        free = of_hand >= 0
        out[:, :, free] = by_hand[:, of_hand[free]].transpose(0, 2, 1)
        return out
