"""Policy of a player at public states with every hand that the seat to act may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Board, Boards, check_heads_up
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.network_range_policy import (
    has_separable_features,
    start_network_query,
)
from poker_rl.players.player import Player, compute_checked_probs

MAX_ROWS_PER_CALL = 4096  # tables per call of a player, so that activations fit in the cache
# Smallest number of pairs of a state and a hand in a query of a network, except the last one.
MIN_ROWS_PER_QUERY = 2**19


@dataclass(frozen=True)
class BoardPolicy:
    """Policy at the D public states of a street on one board.

    Attributes:
        probs: the policy at each state with each of R hands, [D, R, A]; boards that were queried
            together share this array.
        row_of_hand: index of each hand along the axis R of `probs`, [H]; -1 for hands that share a
            card with the board.
    """

    board: Board
    probs: np.ndarray
    row_of_hand: np.ndarray


@dataclass(frozen=True)
class RepresentativeHands:
    """The R hands for which the policy is computed on a board.

    A player that ignores how suits are named has the same policy with two hands if a permutation of
    the suits keeps the board and converts one hand into the other. One hand represents all of them.

    Attributes:
        representatives: index of each representative among all hands, [R].
        representative_of_hand: for each hand an index into `representatives`, [H]; -1 for hands
            that share a card with the board.
        decks: for each seat and representative a deck that deals the representative to the seat and
            the board, [2, R, cards]; all other cards are arbitrary.
    """

    representatives: np.ndarray
    representative_of_hand: np.ndarray
    decks: np.ndarray


class RangePolicy:
    """Queries for the policy of a heads-up poker player with every hand at public states."""

    def __init__(self, game: Game, ranges: Ranges, boards: Boards) -> None:
        self._game, self._poker_game = game, check_heads_up(game)
        self._ranges, self._boards = ranges, boards

    def find_representative_hands(self, board: Board) -> RepresentativeHands:
        """Return the hands for which the policy is computed on a board."""
        representatives, representative_of_hand = self._boards.find_hand_representatives(board)
        hands = self._ranges.hands[representatives]
        hand_count, hand_size = hands.shape
        is_unused = np.ones((hand_count, self._poker_game.deck_size), bool)
        is_unused[:, board.cards] = False
        is_unused[np.arange(hand_count)[:, None], hands] = False
        unused_cards = np.nonzero(is_unused)[1].reshape(hand_count, -1).astype(np.int8)
        others = unused_cards[:, :hand_size]
        rest = np.hstack(
            [np.tile(board.cards, (hand_count, 1)).astype(np.int8), unused_cards[:, hand_size:]]
        )
        decks = np.stack([np.hstack([hands, others, rest]), np.hstack([others, hands, rest])])
        decks = np.ascontiguousarray(decks[:, :, : self._poker_game.cards_dealt], np.int8)
        return RepresentativeHands(representatives, representative_of_hand, decks)

    def build_tables(
        self, states: np.ndarray, representative_hands: RepresentativeHands
    ) -> np.ndarray:
        """Return a table for each pair of a state [D] and a representative hand, [D * R]."""
        decks = representative_hands.decks[states["to_act"]].reshape(
            -1, self._poker_game.cards_dealt
        )
        return self._deal_decks(np.repeat(states, len(representative_hands.representatives)), decks)

    def _deal_decks(self, tables: np.ndarray, decks: np.ndarray) -> np.ndarray:
        tables["deck"][:, : self._poker_game.cards_dealt] = decks
        return tables

    def compute_probs(
        self, player: Player, states: np.ndarray, representative_hands: RepresentativeHands
    ) -> np.ndarray:
        """Return the policy at each state [D] with each hand, [D, A, H]; 0 for impossible hands.

        All states are on the street of the board. The cards in their records are ignored.
        """
        probs = self._query_player(player, states, representative_hands, lambda rows: None)
        representative_of_hand = representative_hands.representative_of_hand
        is_possible = representative_of_hand >= 0
        hand_probs = np.zeros((len(probs), self._game.action_count, len(representative_of_hand)))
        hand_probs[:, :, is_possible] = probs[:, representative_of_hand[is_possible]].transpose(
            0, 2, 1
        )
        return hand_probs

    def _query_player(
        self,
        player: Player,
        states: np.ndarray,
        representative_hands: RepresentativeHands,
        on_progress: Callable[[int], object],
    ) -> np.ndarray:
        """Return the policy at each state with each representative hand, [D, R, A]."""
        tables = self.build_tables(states, representative_hands)
        probs = np.empty((len(tables), self._game.action_count))
        for start in range(0, len(tables), MAX_ROWS_PER_CALL):
            rows = slice(start, min(start + MAX_ROWS_PER_CALL, len(tables)))
            probs[rows] = compute_checked_probs(self._game, player, tables[rows])
            on_progress(rows.stop - rows.start)
        hand_count = len(representative_hands.representatives)
        return probs.reshape(len(states), hand_count, self._game.action_count)

    def iterate_board_policies(
        self,
        player: Player,
        states: np.ndarray,
        boards: Iterable[Board],
        on_progress: Callable[[int], object],
    ) -> Iterator[list[BoardPolicy]]:
        """Yield the policy on each board, in lists of boards that are queried together.

        A network on a GPU computes the next list while the caller uses the present one. `states`
        [D] are tables in all public states of the street that the boards belong to.
        """
        if not has_separable_features(player) or not len(states):
            for board in boards:
                hands = self.find_representative_hands(board)
                probs = self._query_player(player, states, hands, on_progress)
                yield [BoardPolicy(board, probs, hands.representative_of_hand)]
            return
        groups = self._group_boards(boards, len(states))
        queries = (self._start_group_query(player, states, group, on_progress) for group in groups)
        finish_previous = next(queries, None)
        while finish_previous is not None:
            finish_next = next(queries, None)  # start a query before waiting for the previous one
            yield finish_previous()
            finish_previous = finish_next

    def _group_boards(
        self, boards: Iterable[Board], state_count: int
    ) -> Iterator[list[tuple[Board, RepresentativeHands]]]:
        """Yield consecutive boards in groups that are large enough for one query of a network."""
        group, row_count = [], 0
        for board in boards:
            group.append((board, self.find_representative_hands(board)))
            row_count += state_count * len(group[-1][1].representatives)
            if row_count >= MIN_ROWS_PER_QUERY:
                yield group
                group, row_count = [], 0
        if group:
            yield group

    def _start_group_query(
        self,
        player: NetworkPlayer,
        states: np.ndarray,
        group: list[tuple[Board, RepresentativeHands]],
        on_progress: Callable[[int], object],
    ) -> Callable[[], list[BoardPolicy]]:
        """Start to query a network for several boards; return a function that gets the result."""
        decks = np.concatenate([hands.decks for _, hands in group], axis=1)
        get_probs = start_network_query(
            player,
            self._deal_decks(states.copy(), decks[states["to_act"], 0]),
            self._deal_decks(np.repeat(states[:1], decks.shape[1]), decks[states["to_act"][0]]),
        )

        def finish() -> list[BoardPolicy]:
            probs, policies, first_row = get_probs(), [], 0
            on_progress(probs.shape[0] * probs.shape[1])
            for board, hands in group:
                rows = hands.representative_of_hand
                policies.append(BoardPolicy(board, probs, np.where(rows < 0, -1, rows + first_row)))
                first_row += len(hands.representatives)
            return policies

        return finish
