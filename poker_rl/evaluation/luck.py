"""How much of a result was luck: AIVAT (Burch et al. 2018, arXiv:1612.06915).

A value says what a table is worth to each seat. Wherever chance or a player whose policy is known
decided something, the mean of the value over all that could have come, less the value of what came,
is added to the result. Each of these terms is 0 on average, given all that happened before. So the
result stays unbiased, whatever the value is and whatever the players of unknown policy do, and the
better the value, the less luck is left. Only the value must not be chosen by the hands that it is
used on.

A deal is decided before the first move. For these terms its cards come when they are seen: the hole
cards before the first action, the board street by street, and what is left of it, after an all-in,
at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.equity import UNDEALT, Equity
from poker_rl.games.game import Game
from poker_rl.games.hand import Hand, replay
from poker_rl.games.poker import betting
from poker_rl.games.poker.hands import Hands
from poker_rl.games.poker.table import STREETS
from poker_rl.games.tables import Tables, copied
from poker_rl.players.player import Player, policy_at

MOST_ROWS = 2**16  # tables looked at in one go; a no-limit one takes 1.5 kB
CARDS, OWN, OTHERS, ALL_IN = 0, STREETS, 2 * STREETS, 3 * STREETS  # columns of `terms`
COLUMNS = ALL_IN + 1


class Value(Protocol):
    """What tables are worth, by one measure or by several, V of them.

    A result is adjusted by the first; where there are many hands, also by what of the others helps.
    """

    def values(self, records: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Tables [B] of which only so many board cards [B] are known -> chips [B, seats, V].

        With fewer than have been dealt it is the mean over the cards that could have come in their
        place; with -1, before the first action, over the hole cards too. Of a hand that is over and
        of which all cards are known it is what the hand pays.
        """


def adjusted(
    game: Game,
    hand: Hand,
    seat: int,
    players: Sequence[Player | None],
    value: Value | None = None,
) -> float:
    """What a seat won in a finished hand, in chips, less what luck gave it.

    Args:
        players: by seat; None where the policy is not known, as a person's.
        value: must not depend on this hand; None: equity times pot.

    Raises:
        Refused: if the game is not poker.
    """
    *_, record = replay(game, hand)
    known = Tables(game, 0, 0)
    known.use(record)
    who = np.arange(game.seats)[None]
    value = Equity(game) if value is None else value
    luck = terms(game, record, np.array([seat]), players, who, value)
    return float(known.payoffs()[0, seat] + luck[:, :, 0].sum())


def terms(
    game: Game,
    records: np.ndarray,
    seat: np.ndarray,
    players: Sequence[Player | None],
    who: np.ndarray,
    value: Value,
) -> np.ndarray:
    """The terms of finished hands that take luck out of what a seat [B] won, [B, COLUMNS, V].

    Each has a number for each of the V values. There is a column a street from CARDS on for the
    cards that came, from OWN on for the seat's own actions and from OTHERS on for the others'; and
    ALL_IN is for the cards that came when nobody could act any more.

    Args:
        records: tables at which the hands [B] are over.
        players: that took part, None where the policy is not known.
        who: the place in `players` of who had each seat, [B, seats].

    Raises:
        Refused: if the game is not poker.
    """
    demand_poker(game)
    hands, found = Hands(game), []
    ends = np.cumsum(records["moves"].astype(np.int64)) * game.actions // MOST_ROWS
    for part in np.split(np.arange(len(records)), np.flatnonzero(np.diff(ends)) + 1):
        found.append(_terms(game, hands, records[part], seat[part], players, who[part], value))
    return np.concatenate(found)


def demand_poker(game: Game) -> None:
    """Raise `Refused` where the cards do not come as `terms` knows it."""
    if game.rules is not betting:
        raise Refused(f"reduce: aivat knows how the cards of poker come, not those of {game.name}")


def _terms(
    game: Game,
    hands: Hands,
    records: np.ndarray,
    seat: np.ndarray,
    players: Sequence[Player | None],
    who: np.ndarray,
    value: Value,
) -> np.ndarray:
    count = len(records)
    moves = records["moves"].astype(np.int64)
    hand = np.repeat(np.arange(count), moves)  # of each decision [D]
    start = np.cumsum(moves) - moves  # first decision of each hand [B]
    move = np.arange(len(hand)) - start[hand]
    rows = hands.pack(records)[hand]
    before = copied(hands.tables(rows, move).records)
    took = hands.action(rows, move)
    street = before["street"].astype(np.int64)
    shown_at = game.record["shown"].astype(np.int64)[records["variant"]]  # [B, STREETS]
    shown = shown_at[hand, street]

    actor = before["to_act"].astype(np.int64)
    acts = who[hand, actor]
    looked = np.zeros((len(hand), game.actions))  # chances of the actions that are looked at
    looked[np.arange(len(hand)), took] = 1
    for place, player in enumerate(players):
        mine = acts == place
        if player is not None and mine.any():
            looked[mine] = policy_at(game, player, before[mine])
    looked[np.arange(len(hand)), took] = np.maximum(looked[np.arange(len(hand)), took], 1e-300)

    row, action = np.nonzero(looked)
    tables = Tables(game, 0, 0)
    tables.use(before[row])
    tables.step(action)
    worth = _of(value.values(tables.records, shown[row]), seat[hand[row]])
    weighed = looked[row, action][:, None] * worth
    mean = np.add.reduceat(weighed, np.flatnonzero(np.diff(row, prepend=-1)))
    taken = action == took[row]
    came = worth[taken]  # what the action taken was worth, before the cards that it brought
    own = actor == seat[hand]
    found = np.zeros((count, COLUMNS, worth.shape[1]))
    np.add.at(found, (hand, np.where(own, OWN, OTHERS) + street), mean - came)

    after = tables.records[taken]
    over, now = after["over"] != 0, after["street"].astype(np.int64)
    known = np.where(over, shown_at[hand].max(1), shown_at[hand, now])  # 0 after the last street
    some = np.flatnonzero(known > shown)
    dealt = _of(value.values(after[some], known[some]), seat[hand[some]])
    column = np.where(over, ALL_IN, CARDS + now)[some]
    np.add.at(found, (hand[some], column), came[some] - dealt)

    first = before[start]
    nothing = np.full(count, UNDEALT)
    expected = _of(value.values(first, nothing), seat)
    found[:, CARDS] += expected - _of(value.values(first, shown_at[:, 0]), seat)
    return found


def _of(values: np.ndarray, seat: np.ndarray) -> np.ndarray:
    """Values [B, seats, V] of one seat each [B]: [B, V]."""
    of: np.ndarray = values[np.arange(len(seat)), seat]
    return of
