"""Index of the information sets of heads-up poker, for arrays with a row for each information set.

Information sets that differ only in suit names share a row. Flop hold'em has 72 million rows.
Rows are ordered by board, then by betting line, then by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from poker_rl.games.game import Game, insert_sorted, jit
from poker_rl.games.public.tree import Board, PublicTree, encode_sorted_cards


@dataclass
class BoardNode:
    """A board on one street, with the rows of the information sets on this street.

    Hands that differ only in suit names form a class; one hand, its representative, stands for it.
    The information set of decision line d and representative r has row `rows.start + d * R + r`.
    """

    index: int  # index of this node in `InfosetIndex.nodes`
    street: int  # -1 for the root, which is before the first street
    board: Board
    rows: slice
    representatives: np.ndarray  # indices in `PrivateHands.hands`, [R]
    # For each hand the index in `representatives`, -1 if it shares a card with the board, [H].
    representative_of_hand: np.ndarray
    children: list[BoardNode] = field(default_factory=list)  # the boards of the next street


class InfosetIndex:
    """The row of each information set of a game, from 0 to `row_count` - 1.

    `nodes` are the boards of all streets; the first node is the root, the empty board.
    """

    def __init__(self, game: Game) -> None:
        self.tree = PublicTree(game, merge_suits=True)
        self.nodes: list[BoardNode] = []
        self.row_count = 0
        self._add_next_boards(self._add_node(-1, self.tree.boards.root))

    def _add_node(self, street: int, board: Board) -> BoardNode:
        hands = self.tree.boards.find_hand_representatives(board)
        line_count = len(self.tree.streets[street].decision_lines) if street >= 0 else 0
        rows = slice(self.row_count, self.row_count + line_count * len(hands[0]))
        self.row_count = rows.stop
        self.nodes.append(BoardNode(len(self.nodes), street, board, rows, *hands))
        return self.nodes[-1]

    def _add_next_boards(self, node: BoardNode) -> None:
        street = node.street + 1
        if street < len(self.tree.streets):
            boards = self.tree.boards.list_next_boards(node.board, street)
            node.children = [self._add_node(street, board) for board in boards]
            for child in node.children:
                self._add_next_boards(child)

    def lookup_rows(self, records: np.ndarray) -> np.ndarray:
        """Return the row of the information set of the seat to act at each table, [B] int64."""
        out, game = np.empty(len(records), np.int64), self.tree.game
        card_counts = game.hole_cards, game.deck_size, np.array(game.board_cards)
        _fill_rows(
            records, card_counts, self.tree.private_hands.permuted_cards, self._packed_tree, out
        )
        return out

    @cached_property
    def _packed_tree(self) -> tuple[np.ndarray, ...]:
        """The arrays with which `_fill_rows` looks up boards, hands and betting lines.

        At `child_offset[node] + key`, with the key of the new cards (see `encode_sorted_cards`),
        `child_index` has the child of the node, and `permutation_of_edge` has the suit permutation
        that converts the new cards to those of the child.
        """
        game, nodes = self.tree.game, self.nodes
        key_counts = [
            game.deck_size ** game.board_cards[node.street + 1] if node.children else 0
            for node in nodes
        ]
        child_offset = np.concatenate([[0], np.cumsum(key_counts)])
        child_index = np.zeros(child_offset[-1], np.int32)
        permutation_of_edge = np.zeros(child_offset[-1], np.int8)
        for node, offset in zip(nodes, child_offset[:-1], strict=True):
            if not node.children:
                continue
            new_cards = [child.board.cards[len(node.board.cards) :] for child in node.children]
            child_keys = encode_sorted_cards(np.array(new_cards), game.deck_size)
            order = np.argsort(child_keys)
            _, keys = self.tree.boards.enumerate_new_cards_with_keys(node.board, node.street + 1)
            children = order[np.searchsorted(child_keys, keys.min(0), sorter=order)]
            child_index[offset + keys[0]] = [node.children[i].index for i in children]
            permutation = node.board.suit_permutations[keys.argmin(0)]
            permutation_of_edge[offset + keys[0]] = permutation
        return (
            child_offset,
            child_index,
            permutation_of_edge,
            self.tree.private_hands.hand_index.T.ravel().astype(np.int32),
            np.array([node.rows.start for node in nodes]),
            np.array([len(node.representatives) for node in nodes]),
            np.stack([node.representative_of_hand for node in nodes]).astype(np.int16),
            *self._index_betting_lines(),
        )

    def _index_betting_lines(self) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays `next_line` [L, A] and `decision_index` [L] of the L lines of all streets.

        `next_line[line, action]` is the line after this action, or -1 if it is illegal.
        `decision_index` is each line's index in `StreetLines.decision_lines`, -1 if no seat acts.
        """
        streets = self.tree.streets
        total_lines = sum(len(street.parent_line) - street.entering_count for street in streets) + 1
        next_line = np.full((total_lines, self.tree.game.action_count), -1)
        decision_index = np.full(total_lines, -1)
        entering_lines, line_count = np.zeros(1, np.int64), 1
        for street in streets:
            new_lines = line_count + np.arange(len(street.parent_line) - street.entering_count)
            line_number = np.concatenate([entering_lines, new_lines])
            parent_line = line_number[street.parent_line[street.entering_count :]]
            next_line[parent_line, street.action[street.entering_count :]] = new_lines
            decisions = line_number[street.decision_lines]
            decision_index[decisions] = np.arange(len(decisions))
            entering_lines = line_number[street.continuing_lines]
            line_count += len(new_lines)
        return next_line, decision_index


@jit
def _fill_rows(tables, card_counts, card_permutations, lookup_arrays, out):
    """Write into `out` [B] the row of the information set of the seat to act at each table."""
    hole_card_count, deck_size, board_card_counts = card_counts
    child_offset, child, permutation_of_edge, hand_of_key = lookup_arrays[:4]
    first_row, representative_count, representative_of_hand = lookup_arrays[4:7]
    next_line, decision_index = lookup_arrays[7:]
    permuted_card, sorted_cards = np.empty(deck_size, np.int64), np.empty(5, np.int64)
    for i in range(len(tables)):
        table = tables[i]
        for card in range(deck_size):
            permuted_card[card] = card
        node, deck_position = 0, 2 * hole_card_count
        for street in range(table.street + 1):
            count = board_card_counts[street]
            key = _encode_permuted_cards(
                table.deck, deck_position, count, permuted_card, sorted_cards
            )
            deck_position += count
            edge = child_offset[node] + key
            node = child[edge]
            if permutation_of_edge[edge]:
                permutation = card_permutations[permutation_of_edge[edge]]
                for card in range(deck_size):
                    permuted_card[card] = permutation[permuted_card[card]]
        start = table.to_act * hole_card_count
        hand = hand_of_key[
            _encode_permuted_cards(table.deck, start, hole_card_count, permuted_card, sorted_cards)
        ]
        line = 0
        for move in range(table.moves):
            line = next_line[line, table.line[move]]
        first_row_of_line = first_row[node] + decision_index[line] * representative_count[node]
        out[i] = first_row_of_line + representative_of_hand[node, hand]


@jit
def _encode_permuted_cards(deck, start, card_count, permuted_card, sorted_cards):
    """Return the key (see `encode_sorted_cards`) of `card_count` cards of a deck from `start` on.

    Each card is replaced by its image in `permuted_card`; `sorted_cards` is scratch memory.
    """
    for j in range(card_count):
        insert_sorted(sorted_cards, j, permuted_card[deck[start + j]])
    key, scale = 0, 1
    for j in range(card_count):
        key += sorted_cards[j] * scale
        scale *= len(permuted_card)
    return key
