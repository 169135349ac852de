"""The value of a hand of poker if everybody who is still in it called and then only checked.

`Equity` is one of the values that `luck.py` takes. It is made of a seat's equity, its share of the
pot at a showdown, all cards to come being equally likely. It knows all hole cards, as whoever looks
back at a hand does.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.cards import strength
from poker_rl.games.game import Game, random, rule
from poker_rl.games.hashing import hashed
from poker_rl.games.poker import betting
from poker_rl.games.poker.betting import BOARD, CARDS, SEATS, payoffs
from poker_rl.games.poker.table import has_stacks

MOST_BOARDS = 1000  # so that a flop of hold'em is exact: two seats leave 990 boards
KEPT = 64  # shares of one deal that are kept to be used again
UNDEALT = -1  # board cards that are known before even the hole cards are


class Equity:
    """Two values of any game of poker: equity times pot less what the seat put in, and equity.

    The second one is for the chips that later streets bring, which depend little on the pot.

    All boards that can still come are gone through if there are at most `boards`; else as many are
    drawn, by a generator that starts at the seed and the deal. So the same hand has the same value
    whenever it is asked for.

    Raises:
        Refused: if the game is not poker.
    """

    def __init__(self, game: Game, boards: int = MOST_BOARDS, seed: int = 0) -> None:
        if game.rules is not betting:
            raise Refused(f"equity is a share of a pot, which {game.name} is played without")
        self._definitions, self._seats = game.record, game.seats
        self._boards, self._seed = boards, np.uint64(seed)

    def values(self, records: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Tables [B] of which only so many board cards [B] are known -> chips [B, seats, 2].

        Where a hand is over, the first is what it pays on average over the boards that could have
        come, side pots and odd chips included.
        """
        out = np.zeros((len(records), self._seats, 2))
        games = self._definitions[records["variant"]]
        room = np.empty(1, records.dtype)
        fill(games, records, shown.astype(np.int64), self._boards, self._seed, room, out)
        return out


@rule
def fill(games, tables, shown, most, seed, room, out):
    """Write the values [B, seats, 2] of tables [B] of games [B], `shown` [B] of the board known.

    Args:
        most: boards that are gone through; more are drawn.
        room: for a table to play on, [1].
    """
    share = np.empty((KEPT, SEATS))
    paid = np.empty(SEATS)
    key = np.empty((KEPT, 2), np.int64)  # board cards known; a bit for each seat that folded
    kept = 0
    for i in range(len(tables)):
        game = games[i]
        if i > 0 and not same_deal(game, tables[i], tables[i - 1]):
            kept = 0
        room[0] = tables[i]
        table = room[0]
        board = game.dealt - game.seats * game.hole
        known = board if table.live == 1 else shown[i]  # a board means nothing to one alone
        folds = 0
        for seat in range(game.seats):
            folds |= table.folded[seat] << seat
        at = 0
        while at < kept and not (key[at, 0] == known and key[at, 1] == folds):
            at += 1
        if at == kept:
            at = min(at, KEPT - 1)
            kept = at + 1
            key[at, 0], key[at, 1] = known, folds
            play_out(game, table, known, most, seed, False, share[at])
        pot = 0
        for seat in range(game.seats):
            pot += stake(game, table, seat)
        for seat in range(game.seats):
            out[i, seat, 0] = share[at, seat] * pot - stake(game, table, seat)
            out[i, seat, 1] = share[at, seat]
        if table.over:
            room[0] = tables[i]  # with the deck as it was
            play_out(game, table, known, most, seed, True, paid)
            for seat in range(game.seats):
                out[i, seat, 0] = paid[seat]


@rule
def same_deal(game, table, other):
    """Whether two tables have the same cards."""
    same = table.variant == other.variant
    for place in range(game.dealt):
        same &= table.deck[place] == other.deck[place]
    return same


@rule
def stake(game, table, seat):
    """The chips that a seat has put in once all who are in have called."""
    dead = game.dead[seat]
    if table.folded[seat]:
        return dead + table.paid[seat]
    if has_stacks(table):
        return dead + min(table.price, game.stack[seat])
    return dead + table.price


@rule
def play_out(game, table, shown, most, seed, paid, out):
    """Write the mean over the boards that can still come, by seat; the deck is overwritten.

    It is the mean of a seat's share of the pot or, if `paid`, of what a hand that is over pays.
    """
    for seat in range(game.seats):
        out[seat] = 0
    if shown == UNDEALT:
        for seat in range(game.seats):
            out[seat] = (1 - table.folded[seat]) / table.live
        return
    unseen = np.empty(CARDS, np.int64)
    place = np.empty(BOARD, np.int64)  # in `unseen`, of the cards to come
    won = np.empty(SEATS, np.int64)
    first = game.seats * game.hole + shown
    left = game.dealt - first
    table.key, table.draws = hashed(table.deck[: game.dealt], seed), np.uint64(0)
    count = remaining(game, table, first, unseen)
    ways = choices(count, left)
    drawn = ways > most
    boards = most if drawn else ways
    for j in range(left):
        place[j] = j
    for _ in range(boards):
        for j in range(left):
            if drawn:
                bits = random(table) >> np.uint64(32)
                k = j + np.int64(bits * np.uint64(count - j) >> np.uint64(32))
                unseen[j], unseen[k] = unseen[k], unseen[j]
            table.deck[first + j] = unseen[place[j]]
        if paid:
            payoffs(game, table, won)
            for seat in range(game.seats):
                out[seat] += won[seat]
        else:
            show_down(game, table, out)
        if not drawn:
            advance(place, left, count)
    for seat in range(game.seats):
        out[seat] /= boards


@rule
def remaining(game, table, known, unseen):
    """Write the cards that are not among the first `known` of the deck; return how many."""
    for card in range(game.cards):
        unseen[card] = card
    for place in range(known):
        unseen[table.deck[place]] = -1
    count = 0
    for card in range(game.cards):
        if unseen[card] >= 0:
            unseen[count] = unseen[card]
            count += 1
    return count


@rule
def choices(count, size):
    """In how many ways so many of `count` cards can be chosen."""
    ways = 1
    for j in range(size):
        ways = ways * (count - j) // (j + 1)
    return ways


@rule
def advance(place, size, count):
    """Go to the next choice of places, in ascending order; from the last to nowhere."""
    j = size - 1
    while j >= 0 and place[j] == count - size + j:
        j -= 1
    if j >= 0:
        place[j] += 1
        for k in range(j + 1, size):
            place[k] = place[k - 1] + 1


@rule
def show_down(game, table, out):
    """Add to each seat its share of a pot that all who are in contest."""
    first = game.seats * game.hole
    board = game.dealt - first
    for i in range(board):
        table.hand[game.hole + i] = table.deck[first + i]
    best, winners = -1, 0
    for seat in range(game.seats):
        rank = -1
        if not table.folded[seat]:
            for i in range(game.hole):
                table.hand[i] = table.deck[seat * game.hole + i]
            rank = strength(table.hand, game.hole + board, game.suits, game.short_deck)
        if rank > best:
            best, winners = rank, 1
        elif rank == best:
            winners += 1
        table.rank[seat] = rank
    for seat in range(game.seats):
        if table.rank[seat] == best:
            out[seat] += 1 / winners
