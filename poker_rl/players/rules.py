"""A bot that reads the board by simple rules, without counting chances.

It bets top pair or better, calls with any pair and, while a card is to come, with four to a flush
or straight, and else checks or folds:

    top pair   a hole card pairs the highest rank of the board, or both are a pair above it
    better     two pair from both hole cards, or three of a kind or more, of a higher category than
               the board is alone; on the river a straight or more that beats the board
    any pair   a hole card pairs the board or the other hole card
    four to a  four cards of a suit, or four ranks within five in a row (the ace high or low), that
               the board does not hold without the hole cards

Before the flop there is no board to read: it bets a pair and calls with an ace or a king. All of
this is our choice.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.games.cards import (
    CATEGORY_SHIFT,
    HIGH_CARD,
    RANKS,
    STRAIGHT,
    SUITS,
    TRIPS,
    TWO_PAIR,
    best_five,
)
from poker_rl.games.game import rule
from poker_rl.games.poker.betting import BOARD, CALL, FOLD, HOLE
from poker_rl.players.holdem import BET, HoldemBot, certain

KING = RANKS - 2
FOUR = 4  # cards to a flush or straight
SPAN = 5  # ranks of a straight


@dataclass(kw_only=True)
class Rules(HoldemBot):
    """Bets, calls and folds by what its hole cards make of the board.

    Raises:
        Refused: if the game is not played with two cards each of a deck of 52.
    """

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        choice = np.empty(len(records), np.int64)
        read(self.tables(records).definitions(), records, choice)
        return certain(choice)


@rule
def read(games, tables, out):
    """Write what the rules say to each seat to act, [B], by games [B] and tables [B]."""
    cards = np.empty(HOLE + BOARD, np.int64)
    for i in range(len(tables)):
        game, table = games[i], tables[i]
        shown = game.shown[table.street]
        to_come = shown < game.shown[game.streets - 1]
        for j in range(HOLE):
            cards[j] = table.deck[table.to_act * HOLE + j]
        for j in range(shown):
            cards[HOLE + j] = table.deck[game.seats * HOLE + j]
        if shown == 0:
            out[i] = before_flop(cards)
        elif top_pair_or_better(cards, shown):
            out[i] = BET
        elif any_pair(cards, shown) or (to_come and draws(cards, shown)):
            out[i] = CALL
        else:
            out[i] = FOLD


@rule
def before_flop(cards):
    """What to do with two hole cards alone."""
    first, second = cards[0] // SUITS, cards[1] // SUITS
    if first == second:
        return BET
    return CALL if max(first, second) >= KING else FOLD


@rule
def top_pair_or_better(cards, shown):
    """Whether two hole cards, first, make top pair or better of so many board cards."""
    top = -1
    for j in range(HOLE, HOLE + shown):
        top = max(top, cards[j] // SUITS)
    first, second = cards[0] // SUITS, cards[1] // SUITS
    if first == top or second == top or (first == second and first > top):
        return True
    made = best_five(cards, HOLE + shown, SUITS)
    alone = best_five(cards[HOLE:], shown, SUITS)
    kind, kind_alone = made >> CATEGORY_SHIFT, alone >> CATEGORY_SHIFT
    if kind == kind_alone:
        return shown == BOARD and kind >= STRAIGHT and made > alone
    return kind >= TRIPS or (kind == TWO_PAIR and kind_alone == HIGH_CARD)


@rule
def any_pair(cards, shown):
    """Whether a hole card pairs another card."""
    for i in range(HOLE):
        for j in range(i + 1, HOLE + shown):
            if cards[i] // SUITS == cards[j] // SUITS:
                return True
    return False


@rule
def draws(cards, shown):
    """Whether hole cards are among four cards to a flush or a straight."""
    ranks, on_board = 0, 0  # bit r + 1 for rank r, bit 0 for an ace as the lowest
    for suit in range(SUITS):
        count, own = 0, 0
        for j in range(HOLE + shown):
            if cards[j] % SUITS == suit:
                count += 1
                own += j < HOLE
        if own and count >= FOUR:
            return True
    for j in range(HOLE + shown):
        rank = cards[j] // SUITS
        bits = 2 << rank | (rank == RANKS - 1)
        ranks |= bits
        if j >= HOLE:
            on_board |= bits
    for low in range(RANKS + 2 - SPAN):
        held, theirs = 0, 0
        for r in range(low, low + SPAN):
            held += ranks >> r & 1
            theirs += on_board >> r & 1
        if held >= FOUR and held > theirs:
            return True
    return False
