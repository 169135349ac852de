"""Policy of a player at public states for every hand that the seat to act may hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.public.boards import Board, Boards
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import check_heads_up
from poker_rl.players.player import Player, compute_checked_probs

MAX_ROWS_PER_CALL = 4096  # tables in a call of the player; its activations stay in the cache


@dataclass(frozen=True)
class QueriedHands:
    """The R hands for which the player is called on a board.

    Attributes:
        representatives: index of one hand of each set of hands that the suit permutations of the
            board map to each other, [R].
        representative_of_hand: for each hand an index into `representatives`, [H]; -1 for hands
            that share a card with the board.
        decks: for each seat and representative, the cards of a table at which the seat holds it,
            [2, R, dealt]. The other seat and later streets get any of the remaining cards.
    """

    representatives: np.ndarray
    representative_of_hand: np.ndarray
    decks: np.ndarray


class RangePolicy:
    """Query of heads-up poker players for all hands of a public state at once."""

    def __init__(self, game: Game, ranges: Ranges, boards: Boards) -> None:
        self._game, self._poker_game = game, check_heads_up(game)
        self._ranges, self._boards = ranges, boards

    def build_queried_hands(self, board: Board) -> QueriedHands:
        """Return the hands for which the player is called on a board."""
        game = self._poker_game
        representatives, representative_of_hand = self._boards.find_hand_representatives(board)
        hands, hole_cards = self._ranges.hands[representatives], game.hole_cards
        is_used = np.zeros((len(hands), game.deck_size), np.bool_)
        is_used[:, board.cards] = True
        np.put_along_axis(is_used, hands.astype(np.int64), True, axis=1)
        unused_first = np.argsort(is_used, axis=1, kind="stable")
        cards_to_come = game.cards_dealt - 2 * hole_cards - len(board.cards)
        other_hand = unused_first[:, :hole_cards]
        later_cards = unused_first[:, hole_cards : hole_cards + cards_to_come]
        board_cards = np.broadcast_to(board.cards, (len(hands), len(board.cards)))
        decks = np.stack(
            [
                np.hstack([hands, other_hand, board_cards, later_cards]),
                np.hstack([other_hand, hands, board_cards, later_cards]),
            ]
        )
        return QueriedHands(representatives, representative_of_hand, decks)

    def build_tables(self, states: np.ndarray, queried_hands: QueriedHands) -> np.ndarray:
        """Return, for each state, a table for each queried hand of the seat to act, [D * R].

        Args:
            states: a table in each public state, [D]; its cards have no meaning.
        """
        tables = np.repeat(states, len(queried_hands.representatives))
        decks = queried_hands.decks[states["to_act"]].reshape(-1, self._poker_game.cards_dealt)
        tables["deck"][:, : self._poker_game.cards_dealt] = decks
        return tables

    def compute_probs(
        self,
        player: Player,
        states: np.ndarray,
        queried_hands: QueriedHands,
        on_progress: Callable[[int], object] = lambda rows: None,
    ) -> np.ndarray:
        """Return the policy of each hand at each state [D], [D, A, H]; 0 for impossible hands.

        Args:
            player: a player with a single instance.
            states: a table in each public state, all on the street of one board, [D].
            queried_hands: the queried hands of that board.
            on_progress: called after each batch of tables with its size.
        """
        tables = self.build_tables(states, queried_hands)
        batches = [np.zeros((0, self._game.action_count))]
        for start in range(0, len(tables), MAX_ROWS_PER_CALL):
            batch = tables[start : start + MAX_ROWS_PER_CALL]
            batches.append(compute_checked_probs(self._game, player, batch))
            on_progress(len(batch))
        representative_count = len(queried_hands.representatives)
        probs = np.concatenate(batches).reshape(-1, representative_count, self._game.action_count)
        representative_of_hand = queried_hands.representative_of_hand
        is_possible = representative_of_hand >= 0
        hand_probs = np.zeros((len(probs), self._game.action_count, len(representative_of_hand)))
        hand_probs[:, :, is_possible] = probs[:, representative_of_hand[is_possible]].transpose(
            0, 2, 1
        )
        return hand_probs
