"""The public tree of heads-up poker: the boards and betting lines, which both seats see."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.betting_lines import build_lines_of_all_streets
from poker_rl.games.public.ranges import PrivateHands

MAX_ROWS = 2e9  # limit on public states times hands; a pass over so many takes hours


def check_heads_up_poker(game: Game) -> PokerGame:
    """Return the game, or raise ConfigError unless it is heads-up poker with equal antes."""
    if not isinstance(game, PokerGame) or game.seats != 2:
        raise ConfigError(f"{game.name} is not poker for two players, which it has to be")
    if any(game.dead_antes):
        raise ConfigError(f"{game.name} has antes that differ by seat; they have to be equal here")
    return game


@dataclass(frozen=True)
class Board:
    """The board cards of one street and of all streets before it."""

    cards: np.ndarray  # in the order dealt, [n] int64
    # Number of boards that this one represents, itself included; all extend the same earlier board.
    multiplicity: int
    # Indices in `PrivateHands.permuted_cards` of permutations that leave each street's card set as
    # it is.
    suit_permutations: np.ndarray


def encode_sorted_cards(cards: np.ndarray, deck_size: int) -> np.ndarray:
    """Convert sets of n cards in ascending order to integer keys, [..., n] -> [...]."""
    keys: np.ndarray = cards @ deck_size ** np.arange(cards.shape[-1])
    return keys


class BoardEnumerator:
    """All boards of a game; with `merge_suits`, those that differ only in suit names are merged."""

    def __init__(self, game: PokerGame, private_hands: PrivateHands, merge_suits: bool) -> None:
        self._game, self._private_hands = game, private_hands
        permutation_count = len(private_hands.permuted_cards) if merge_suits else 1
        self.root = Board(np.empty(0, np.int64), 1, np.arange(permutation_count))  # the empty board

    def list_next_boards(self, board: Board, street: int) -> list[Board]:
        """Return the boards of a street that continue a board of the street before it."""
        new_cards, keys = self.enumerate_new_cards_with_keys(board, street)
        boards = []
        for i in np.flatnonzero(keys[0] == keys.min(0)):
            unchanged = board.suit_permutations[keys[:, i] == keys[0, i]]
            multiplicity = len(board.suit_permutations) // len(unchanged)
            cards = np.concatenate([board.cards, new_cards[i]])
            boards.append(Board(cards, multiplicity, unchanged))
        return boards

    def enumerate_new_cards_with_keys(
        self, board: Board, street: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the N possible sets of n new cards of a street, [N, n], and their keys, [S, N].

        Row s has the keys (see `encode_sorted_cards`) of the sets after the s-th of the board's S
        suit permutations; row 0 has those of the sets themselves. A set's smallest key is that of
        the set that represents it.
        """
        new_card_count = self._game.board_cards[street]
        remaining_cards = np.setdiff1d(np.arange(self._game.deck_size), board.cards)
        card_sets = list(combinations(remaining_cards.tolist(), new_card_count))
        new_cards = np.array(card_sets, np.int64).reshape(len(card_sets), new_card_count)
        card_permutations = self._private_hands.permuted_cards[board.suit_permutations]
        keys = [
            encode_sorted_cards(np.sort(permuted_card[new_cards]), self._game.deck_size)
            for permuted_card in card_permutations
        ]
        return new_cards, np.stack(keys)

    def build_board_of_each_street(self, cards: np.ndarray) -> list[Board]:
        """Return the board on each street of a hand; each has the multiplicity 1.

        `cards` [n] are the board cards in the order dealt. If further cards are still to come, the
        boards of later streets have only these n cards.
        """
        boards, board = [], self.root
        for size in self._game.board_cards:
            new_cards = cards[len(board.cards) :][:size]
            permuted_cards = self._private_hands.permuted_cards[board.suit_permutations][
                :, new_cards
            ]
            is_unchanged = (np.sort(permuted_cards, axis=1) == np.sort(new_cards)).all(1)
            all_cards = np.concatenate([board.cards, new_cards])
            board = Board(all_cards, 1, board.suit_permutations[is_unchanged])
            boards.append(board)
        return boards

    def find_hand_representatives(self, board: Board) -> tuple[np.ndarray, np.ndarray]:
        """Choose a representative of each class of hands that are equivalent on a board.

        Hands are equivalent if one of `board.suit_permutations` maps one to the other. Return the
        indices of the representatives in `PrivateHands.hands`, [R], and for each hand the index of
        its representative in this array, or -1 if it shares a card with the board, [H].
        """
        min_permuted_hand = self._private_hands.permuted_hands[board.suit_permutations].min(0)
        is_compatible = self._private_hands.mask_compatible_hands(board.cards)
        representatives, index = np.unique(min_permuted_hand[is_compatible], return_inverse=True)
        representative_of_hand = np.full(len(is_compatible), -1)
        representative_of_hand[is_compatible] = index
        return representatives, representative_of_hand

    def count_ways_to_deal_street(self, street: int) -> int:
        """Return the number of boards of a street, given the board before it and both hands."""
        shown_count = sum(self._game.board_cards[:street])
        remaining_card_count = self._game.deck_size - 2 * self._game.hole_cards - shown_count
        return comb(remaining_card_count, self._game.board_cards[street])


class PublicTree:
    """Boards, betting lines and hands of heads-up poker; `merge_suits`: see `BoardEnumerator`.

    Raise ConfigError if an estimate of public states times hands is more than `MAX_ROWS`.
    """

    def __init__(self, game: Game, merge_suits: bool) -> None:
        self.game = check_heads_up_poker(game)
        self.streets = build_lines_of_all_streets(game)
        self.private_hands = PrivateHands(self.game)
        self.boards = BoardEnumerator(self.game, self.private_hands, merge_suits)
        estimated_rows = self._estimate_rows(merge_suits)
        if estimated_rows > MAX_ROWS:
            advice = "games of fewer raises, streets or cards fit"
            if not merge_suits:
                advice += ", and players that do not see suits: net.features=sorted_suits"
            raise ConfigError(
                f"the public tree of {game.name} has about {estimated_rows:.1e} public states times"
                f" hands, more than {MAX_ROWS:.0e}; {advice}"
            )

    def _estimate_rows(self, merge_suits: bool) -> float:
        """Estimate the number of rows, public states times hands, without building the boards."""
        rows, board_count, remaining_cards = 0.0, 1.0, self.game.deck_size
        for street, new_card_count in zip(self.streets, self.game.board_cards, strict=True):
            board_count *= comb(remaining_cards, new_card_count)
            remaining_cards -= new_card_count
            hand_count = comb(remaining_cards, self.game.hole_cards)
            rows += len(street.decision_lines) * board_count * hand_count
        # Most boards represent as many boards as there are suit permutations.
        return rows / len(self.private_hands.permuted_cards) if merge_suits else rows

    @property
    def hand_pair_count(self) -> int:
        """Number of pairs of hands that the two seats may be dealt."""
        cards, hole = self.game.deck_size, self.game.hole_cards
        return comb(cards, hole) * comb(cards - hole, hole)
