"""Hands of hold'em in the PHH format, which PokerKit replays (Kim, arXiv:2312.11753).

Seats are PHH's players in the same order. Fixed limit there allows a raise more before the flop
than ours, and knows no stacks without limit: then everybody begins with a chip more than a hand
takes.
Where a pot does not divide evenly, PokerKit may give the odd chips to others; `finishing_stacks`
are as the hand ended here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.cards import RANKS, SUITS, card_name
from poker_rl.games.game import Game
from poker_rl.games.hand import Hand, replay
from poker_rl.games.poker.limit import Poker
from poker_rl.games.poker.no_limit import NoLimit
from poker_rl.games.poker.notation import AnyPoker, OnePoker, at_table
from poker_rl.games.poker.table import CALL, FOLD
from poker_rl.games.tables import Tables

BOARD = [0, 3, 1, 1]
LARGE_BET = 2  # small bets; in fixed limit, from the turn on


def demand_phh(game: Game) -> AnyPoker:
    """The game, if PHH has its rules.

    Raises:
        Refused: if it has not.
    """
    why = "is not hold'em with a deck of 52"
    if isinstance(game, AnyPoker):
        played = at_table(game, 0)
        deck = len(played.ranks), len(played.suits)
        blinds = sorted(blind for blind in played.blinds if blind)
        if deck == (RANKS, SUITS) and played.board_cards == BOARD and played.hole_cards == 2:
            why = "has no small and big blind"
            usual = len(set(blinds)) == 2 == len(blinds)
            if usual and not in_their_seats(played, *blinds):
                why = "has blinds or openers in other seats"
            elif usual:
                small = played.min_bet if isinstance(played, NoLimit) else played.raise_sizes[0]
                sizes = [small, small, LARGE_BET * small, LARGE_BET * small]
                if played.seats > 2 and isinstance(played, Poker) and played.stacks:
                    why = "is limit with stacks, where half a bet reopens the betting"
                elif isinstance(played, NoLimit) or played.raise_sizes == sizes:
                    return game
                else:
                    why = "has bets that do not double on the turn"
    raise Refused(f"{game.name} can't be written as PHH: it {why}")


def in_their_seats(played: OnePoker, small: int, big: int) -> bool:
    """Whether the blinds are left of the button, or heads-up the small one on it, and who is next
    opens; after the flop it is who is left of the button.
    """
    blinds, opener = [small, big, *[0] * (played.seats - 2)], 2 % played.seats
    if played.seats == 2:
        blinds, opener = [big, small], 1
    return played.blinds == blinds and played.openers == [opener, 0, 0, 0]


def phh(game: Game, hand: Hand, names: Sequence[str]) -> str:
    """A hand that is over, as the text of a PHH file.

    Args:
        names: of the players, by seat.

    Raises:
        Refused: if PHH does not have the game.
    """
    played = at_table(demand_phh(game), hand.variant)
    tables = list(replay(game, hand))
    end = Tables(game, 0, 0)
    end.use(tables[-1])
    won = end.payoffs()[0, : played.seats].tolist()
    stacks = played.stack_of or [played.most_chips + 1] * played.seats
    if isinstance(played, NoLimit):
        rules = {"variant": "NT", "min_bet": played.min_bet}
    else:
        small = played.raise_sizes[0]
        rules = {"variant": "FT", "small_bet": small, "big_bet": LARGE_BET * small}
    # Heads-up, PHH too names the small blind first, and gives it to the second player. PokerKit
    # reads antes in the same order.
    order = -1 if played.seats == 2 else 1
    fields = {
        **rules,
        "antes": played.antes[::order],
        "blinds_or_straddles": played.blinds[::order],
        "starting_stacks": stacks,
        "finishing_stacks": [a + b for a, b in zip(stacks, won, strict=True)],
        "actions": list(actions(played, hand, [table[0] for table in tables])),
        "players": list(names),
    }
    # Its TOML writes numbers, text and lists as JSON does.
    return "".join(f"{key} = {dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())


def actions(game: OnePoker, hand: Hand, tables: Sequence[np.void]) -> Iterator[str]:
    """PHH's words for deals, moves and hands shown; `tables` as `replay` gives them."""
    cards = [card_name(card, game.ranks, game.suits) for card in hand.deck]
    hole, shown, street = [], game.seats * game.hole_cards, 0
    for seat in range(game.seats):
        hole.append("".join(cards[seat * game.hole_cards : (seat + 1) * game.hole_cards]))
        yield f"d dh p{seat + 1} {hole[-1]}"

    def board(until: int) -> Iterator[str]:
        nonlocal shown, street
        while street < until:
            street += 1
            count = game.board_cards[street]
            yield f"d db {''.join(cards[shown : shown + count])}"
            shown += count

    before = np.zeros(game.seats, np.int64)  # put in before this street
    for table, after, action in zip(tables, tables[1:], hand.actions, strict=False):
        if table["street"] > street:
            yield from board(int(table["street"]))
            before = table["paid"][: game.seats].astype(np.int64)
        elif street == 0:
            before[:] = min(game.antes)
        seat = int(table["to_act"])
        if action == FOLD:
            yield f"p{seat + 1} f"
        elif action == CALL:
            yield f"p{seat + 1} cc"
        else:
            yield f"p{seat + 1} cbr {int(after['paid'][seat]) - int(before[seat])}"
    end = tables[-1]
    if end["live"] > 1:
        for seat in range(game.seats):
            if not end["folded"][seat]:
                yield f"p{seat + 1} sm {hole[seat]}"
        yield from board(len(game.board_cards) - 1)  # what is left of it when all are all-in
