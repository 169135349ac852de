"""A bot that plays its own cards: it raises strong hands, calls with middling ones, folds the rest.

Its one number is the chance that a hand is the best of those still in, if the others hold random
cards. After the flop that is exact for the cards on the board: the share of the other holdings that
the made hand beats, ties counting half, to the power of the number of opponents. Before it, the
share is of the holdings that come later in Chen's order (B. Chen's formula, in L. Krieger, Hold'em
Excellence, 2000). It looks neither ahead to cards to come nor back to what others did.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from poker_rl.config.settings import Probability, Refused
from poker_rl.games.cards import SUITS, best_five
from poker_rl.games.game import Game, rule
from poker_rl.games.poker.betting import BOARD, CALL, CARDS, FOLD, HOLE
from poker_rl.players.chen import chen
from poker_rl.players.holdem import BET, HoldemBot, certain


@dataclass(kw_only=True)
class Tight(HoldemBot):
    """Raises a hand that is best with a chance of `raise_from`, calls from `call_from` on.

    Raises:
        Refused: if the game is not played with two cards each of a deck of 52.
    """

    raise_from: Probability
    call_from: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if self.call_from > self.raise_from:
            raise Refused(f"call_from: {self.call_from} is more than raise_from, {self.raise_from}")
        self._order = chen_order()

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        best = np.empty(len(records))
        chance_of_best(self.tables(records).definitions(), records, self._order, best)
        bets, calls = best >= self.raise_from, best >= self.call_from
        return certain(np.select([bets, calls], [BET, CALL], FOLD))


@rule
def chance_of_best(games, tables, order, out):  # type: ignore[no-untyped-def]
    """Write the chance that the seat to act has the best hand, [B], by games [B] and tables [B]."""
    hand = np.empty(HOLE + BOARD, np.int64)
    known = np.zeros(CARDS, np.bool_)
    for i in range(len(tables)):
        game, table = games[i], tables[i]
        own = table.to_act * HOLE
        first, second = table.deck[own], table.deck[own + 1]
        board = game.shown[table.street]
        if board == 0:
            share = order[first, second]
        else:
            count = board + HOLE
            for j in range(board):
                hand[HOLE + j] = table.deck[game.seats * HOLE + j]
            hand[0], hand[1] = first, second
            mine = best_five(hand, count, SUITS)
            known[:] = False
            for j in range(count):
                known[hand[j]] = True
            beaten, tied, all_ = 0, 0, 0
            for a in range(1, CARDS):
                if not known[a]:
                    hand[0] = a
                    for b in range(a):
                        if not known[b]:
                            hand[1] = b
                            theirs = best_five(hand, count, SUITS)
                            beaten += theirs < mine
                            tied += theirs == mine
                            all_ += 1
            share = (beaten + tied / 2) / all_
        out[i] = share ** (table.live - 1)


def chen_order() -> np.ndarray:
    """The share of all holdings that Chen's formula puts lower, equal ones half, [card, card]."""
    pairs = np.array(list(combinations(range(CARDS), 2)))
    scores = np.array([chen(int(a), int(b)) for a, b in pairs])
    lower, not_higher = (
        np.searchsorted(np.sort(scores), scores, side) for side in ("left", "right")
    )
    order = np.zeros((CARDS, CARDS))
    order[pairs[:, 0], pairs[:, 1]] = (lower + not_higher) / 2 / len(pairs)
    return order + order.T
