"""Rules of two-player Goofspiel with hidden bids, in the form that `poker_rl.games.game` explains.

Each seat holds N cards of the values 1 to N. A third suit of N cards, the prizes, is turned up card
by card in random order. For each prize both seats bid a card; the higher bid wins the prize's value
in points, equal bids win nothing, and both cards are gone. Bids stay hidden: a seat only learns
whether it won, lost or tied (Lanctot 2013, "Monte Carlo Sampling and Regret Minimization for
Equilibrium Computation and Decision-Making in Large Extensive Form Games", section 3.1.3). The
payoff is the difference in points.

The shuffled deck is the order of the prizes. Seat 0 moves first in each round, but seat 1 does not
see the bid of seat 0. This is equivalent to bids at the same time.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games import jit

MAX_CARDS = 8
SEATS = 2
UNKNOWN, LOST, TIED, WON = range(4)  # result of a round for seat 0; UNKNOWN until it is over

DEFINITION_DTYPE = np.dtype([("seats", "i1"), ("dealt", "i1"), ("cards", "i1")])

TABLE_DTYPE = np.dtype(
    [
        ("key", "u8"),  # `key` and the counter `draws` are the random state
        ("draws", "u8"),
        ("error", "i2"),  # 1 + the last action if it was illegal, else 0
        ("to_act", "u1"),
        ("over", "i1"),
        ("variant", "u1"),  # 0: there is one definition
        ("round", "i1"),  # number of finished rounds; in each, both seats bid for a prize
        ("deck", "i1", MAX_CARDS),  # the prizes in order, as cards 0 to N - 1
        ("bid", "i1", (SEATS, MAX_CARDS)),  # card bid in each round, -1 where there is none
        ("result", "i1", MAX_CARDS),  # result of each round, for seat 0
    ]
)


@jit
def start(game, table):
    """Set a table whose deck is shuffled to the start of a game: first prize, no bids."""
    table.error = 0
    table.over = 0
    table.to_act = 0
    table.round = 0
    for i in range(MAX_CARDS):
        table.result[i] = UNKNOWN
        for seat in range(SEATS):
            table.bid[seat, i] = -1


@jit
def is_held(game, table, seat, card):
    """Return whether a seat still holds a card."""
    if card < 0 or card >= game.cards:
        return False
    gone = False
    for i in range(game.cards):
        gone |= table.bid[seat, i] == card
    return not gone


@jit
def legal(game, table, mask):
    """Write into `mask` [N], bool, which cards the seat to act may bid."""
    for card in range(game.cards):
        mask[card] = is_held(game, table, table.to_act, card)


@jit
def step(game, table, action):
    """Let the seat to act bid the card `action`; an illegal action only sets `table.error`."""
    seat = table.to_act
    if table.over or not is_held(game, table, seat, action):
        table.error = 1 + action if 0 <= action < game.cards else 32767
        return
    table.bid[seat, table.round] = action
    if seat == 0:
        table.to_act = 1
        return
    first = table.bid[0, table.round]
    table.result[table.round] = TIED if first == action else WON if first > action else LOST
    table.round += 1
    table.to_act = 0
    table.over = table.round == game.cards


@jit
def payoffs(game, table, out):
    """Write into `out` [seats] the points of each seat minus those of the other."""
    out[0] = 0
    for i in range(game.cards):
        points = table.deck[i] + 1
        if table.result[i] == WON:
            out[0] += points
        elif table.result[i] == LOST:
            out[0] -= points
    out[1] = -out[0]


@jit
def get_result(table, seat, i):
    """Return the result of round `i` for a seat: UNKNOWN, LOST, TIED or WON."""
    result = table.result[i]
    return LOST + WON - result if seat == 1 and result != UNKNOWN else result


@jit
def observe(game, table, seat, out):
    """Write the observation of a seat as 1 + N (3 + 2 N) features, 0 or 1; a suit has N cards.

    [1]      the seat is seat 1
    [N, 3]   each round: lost, tied, won
    [N, N]   each round: its prize, if it has been turned up
    [N, N]   each round: the card that the seat bid
    """
    n = game.cards
    for i in range(len(out)):
        out[i] = 0
    out[0] = seat
    prizes, bids = 1 + 3 * n, 1 + (3 + n) * n
    for i in range(min(table.round + 1, n)):
        result = get_result(table, seat, i)
        if result != UNKNOWN:
            out[1 + 3 * i + result - LOST] = 1
        out[prizes + n * i + table.deck[i]] = 1
        if table.bid[seat, i] >= 0:
            out[bids + n * i + table.bid[seat, i]] = 1


@jit
def observe_hidden_cards(game, table, seat, out):
    """Write the hidden information of a seat: two blocks [N, N] of one-hot features by round.

    The first block has the opponent's bids. The second has only the prizes not yet turned up.
    """
    n = game.cards
    for i in range(len(out)):
        out[i] = 0
    for i in range(n):
        if table.bid[1 - seat, i] >= 0:
            out[n * i + table.bid[1 - seat, i]] = 1
        if i > table.round:
            out[n * n + n * i + table.deck[i]] = 1


@jit
def infoset(game, table, seat, out):
    """Write the key of an information set: the seat, and each round's prize, own bid and result.

    All numbers count from 1, because 0 means unknown.
    """
    out[0] = 1 + seat
    for i in range(MAX_CARDS):
        shown = i <= table.round and i < game.cards
        out[1 + 3 * i] = 1 + table.deck[i] if shown else 0
        out[2 + 3 * i] = 1 + table.bid[seat, i]
        out[3 + 3 * i] = get_result(table, seat, i)
