"""Where each information set of a game of poker for two lies in a table of them all.

A game whose public tree can be walked may be far too large to enumerate deal by deal and still have
few enough information sets for a row each: flop hold'em has 72 million, suits merged. They lie
board by board, on a board betting line by betting line, in a line hand by hand.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from poker_rl.games.game import Game, rule
from poker_rl.games.public.boards import Board, key_of
from poker_rl.games.public.tree import PublicTree
from poker_rl.games.tables import Tables


@dataclass
class Place:
    """A board, and the rows of the information sets at which somebody acts on its street.

    Attributes:
        street: its number; -1 before the first one.
        first: its first row; the row of line d and hand r is `first + d * R + r`.
        kept: hands that stand for all that are one with them, places among the hands, [R].
        of_hand: of each hand the one that stands for it, a place in `kept`, [H]; -1 for hands that
            share a card with the board.
        after: the boards of the next street.
    """

    street: int
    board: Board
    first: int
    kept: np.ndarray
    of_hand: np.ndarray
    after: list[Place] = field(default_factory=list)


class Places:
    """The rows of all information sets of a game, those that differ in suits alone being one.

    Attributes:
        tree: the game's public tree.
        root: before the first street.
        rows: how many there are, I.
        legal: what may be done where somebody acts on each street, [D, A] bool.

    Raises:
        Refused: if the game's public tree can't be walked.
    """

    def __init__(self, game: Game) -> None:
        self.tree = PublicTree(game, merge=True)
        self.rows = 0
        self.root = self._place(-1, self.tree.boards.root)
        self._grow(self.root)
        self.legal = []
        tables = Tables(game, 0, 0)
        for street in self.tree.streets:
            tables.use(street.tables.copy())
            self.legal.append(tables.legal())

    def _place(self, street: int, board: Board) -> Place:
        kept, of_hand = self.tree.boards.representatives(board)
        place = Place(street, board, self.rows, kept, of_hand)
        if street >= 0:
            self.rows += len(self.tree.streets[street].asked) * len(kept)
        return place

    def _grow(self, place: Place) -> None:
        following = place.street + 1
        if following < len(self.tree.streets):
            for board in self.tree.boards.after(place.board, following):
                place.after.append(self._place(following, board))
            for after in place.after:
                self._grow(after)

    def all(self) -> Iterator[Place]:
        """The boards of all streets."""
        everywhere = self._all(self.root)
        next(everywhere)
        return everywhere

    def span(self, place: Place) -> slice:
        """The rows of a board."""
        count = len(self.tree.streets[place.street].asked) * len(place.kept)
        return slice(place.first, place.first + count)

    def of(self, records: np.ndarray) -> np.ndarray:
        """The row of the seat to act at each table, [B] int64."""
        out = np.empty(len(records), np.int64)
        game = self.tree.game
        sizes = np.array(game.board_cards)
        hole = game.hole_cards
        _find(records, hole, game.cards, sizes, self.tree.ranges.cards, *self._arrays, out)
        return out

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        """What `_find` reads; the places are numbered from the root on."""
        places = list(self._all(self.root))
        number = {id(place): i for i, place in enumerate(places)}
        spans = [
            self.tree.game.cards ** self.tree.game.board_cards[place.street + 1]
            if place.after
            else 0
            for place in places
        ]
        start = np.concatenate([[0], np.cumsum(spans)])
        child, how = np.zeros(start[-1], np.int32), np.zeros(start[-1], np.int8)
        for i, place in enumerate(places):
            if not place.after:
                continue
            shown = len(place.board.cards)
            new = np.array([after.board.cards[shown:] for after in place.after])
            keys = key_of(new, self.tree.game.cards)
            order = np.argsort(keys)
            own, least, renaming = self.tree.boards.renamed(place.board, place.street + 1)
            stands = order[np.searchsorted(keys, least, sorter=order)]
            child[start[i] + own] = [number[id(place.after[j])] for j in stands]
            how[start[i] + own] = renaming
        hands = self.tree.ranges.hands.astype(np.int64)
        hand_of = np.zeros(self.tree.game.cards ** hands.shape[1], np.int32)
        hand_of[key_of(hands, self.tree.game.cards)] = np.arange(len(hands))
        first = np.array([place.first for place in places])
        count = np.array([len(place.kept) for place in places])
        of_hand = np.stack([place.of_hand for place in places]).astype(np.int16)
        return start, child, how, hand_of, first, count, of_hand, *self._lines()

    def _all(self, place: Place) -> Iterator[Place]:
        yield place
        for after in place.after:
            yield from self._all(after)

    def _lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The line [L, A] that each line goes on to, and where it is among those asked, [L].

        A line that leaves a street is the one with which the next street begins.
        """
        streets = self.tree.streets
        size = sum(len(street.parent) - street.entering for street in streets) + 1
        following = np.full((size, self.tree.game.actions), -1)
        asked = np.full(size, -1)
        entering, count = np.zeros(1, np.int64), 1
        for street in streets:
            new = len(street.parent) - street.entering
            number = np.concatenate([entering, count + np.arange(new)])
            later = slice(street.entering, None)
            following[number[street.parent[later]], street.action[later]] = number[later]
            asked[number[street.asked]] = np.arange(len(street.asked))
            entering, count = number[street.leaving], count + new
        return following, asked


@rule
def _find(
    tables,
    hole,
    cards,
    sizes,
    names,
    start,
    child,
    how,
    hand_of,
    first,
    count,
    of_hand,
    following,
    asked,
    out,
):
    """Write the row of the seat to act at each table [B]."""
    name = np.empty(cards, np.int64)
    few = np.empty(5, np.int64)
    for i in range(len(tables)):
        table = tables[i]
        for card in range(cards):
            name[card] = card
        place, shown = 0, 2 * hole
        for street in range(table.street + 1):
            key = _key(table.deck, shown, sizes[street], cards, name, few)
            shown += sizes[street]
            edge = start[place] + key
            place = child[edge]
            if how[edge]:
                for card in range(cards):
                    name[card] = names[how[edge], name[card]]
        hand = hand_of[_key(table.deck, table.to_act * hole, hole, cards, name, few)]
        line = 0
        for move in range(table.moves):
            line = following[line, table.line[move]]
        out[i] = first[place] + asked[line] * count[place] + of_hand[place, hand]


@rule
def _key(deck, begin, size, cards, name, few):
    """The key of some cards of a deck under other names; `few` is room for them in order."""
    for j in range(size):
        card = name[deck[begin + j]]
        k = j
        while k > 0 and few[k - 1] > card:
            few[k] = few[k - 1]
            k -= 1
        few[k] = card
    key, scale = 0, 1
    for j in range(size):
        key += few[j] * scale
        scale *= cards
    return key
