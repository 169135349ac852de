"""Random hands move by move beside independent engines: PokerKit and, heads-up, OpenSpiel.

    python scripts/lockstep.py [--hands 100000] [--seed 0] [game ...]

Each hand is played here, then again there with the same cards and actions. Seat to act, legal
actions and chips won have to be the same; the first difference is told, with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from poker_rl.config import build, option
from poker_rl.games.betting import CALL, FOLD, RAISE
from poker_rl.games.cards import card_name
from poker_rl.games.drawn_seats import DrawnSeats
from poker_rl.games.poker import Poker
from poker_rl.games.tables import Tables

GAMES = ["limit_holdem", "limit_holdem_3p", "limit_holdem_6p", "limit_holdem_9p"]
GAMES += ["limit_holdem_2to9"]
BATCH = 1000  # hands played here before they are played there
TIES = 5  # of so many hands of hold'em, one whose showdown is a tie of all who are left
ROYAL = range(32, 52, 4)
WEIGHTS = np.array([[1, 1, 1], [1, 8, 4]])  # of fold, call, raise, by turns: most of these get far


class Difference(Exception):
    """Two engines do not agree."""


class Decision(NamedTuple):
    seat: int
    legal: list[int]
    action: int


class Hand(NamedTuple):
    """One that was played here."""

    game: Poker
    deck: list[int]  # the cards dealt: hole cards seat by seat, then the board
    decisions: list[Decision]
    paid: list[int]  # chips put in, by seat
    won: list[int]  # chips, by seat
    showdown: bool

    def expect(self, what: str, ours: object, theirs: object) -> None:
        """Compare one thing of two engines.

        Raises:
            Difference: if they differ.
        """
        if ours != theirs:
            moves = "".join("fcr"[decision.action] for decision in self.decisions)
            cards = " ".join(card_name(c, self.game.ranks, self.game.suits) for c in self.deck)
            where = f"{self.game.name}, cards {cards}, actions {moves}"
            raise Difference(f"{where}: {what} {ours} here, {theirs} there")


Engine = Callable[[Hand], None]
"""Plays a hand again; raises Difference."""


def play(game: Poker | DrawnSeats, hands: int, seed: int) -> Iterator[Hand]:
    """So many random hands."""
    generator = np.random.default_rng(seed)
    tables = Tables(game, min(BATCH, hands), seed)
    weights = np.resize(WEIGHTS, (len(tables.records), 3))
    for first in range(0, hands, BATCH):
        tables.deal()
        for record in tables.records[::TIES]:
            put_royal_flush_on_board(record, game)
        decisions: list[list[Decision]] = [[] for _ in tables.records]
        while len(rows := np.flatnonzero(tables.records["over"] == 0)):
            legal = tables.legal(rows)
            chances = (legal * weights[rows]).cumsum(1)
            drawn = generator.random((len(rows), 1)) * chances[:, -1:]
            actions = (drawn < chances).argmax(1)
            seats = tables.records["to_act"][rows]
            for row, seat, mask, action in zip(rows, seats, legal, actions, strict=True):
                here = Decision(int(seat), np.flatnonzero(mask).tolist(), int(action))
                decisions[row].append(here)
            tables.step(actions, rows)
        won = tables.payoffs()
        for row, record in enumerate(tables.records[: hands - first]):
            each = variant(game, record)
            yield Hand(
                each,
                record["deck"][: each.dealt].tolist(),
                decisions[row],
                record["paid"][: each.seats].tolist(),
                won[row, : each.seats].tolist(),
                record["live"] > 1,
            )


def put_royal_flush_on_board(record: np.void, game: Poker | DrawnSeats) -> None:
    """Change the deck of a table just dealt, if its deck and its board have room for it."""
    each = variant(game, record)
    if each.cards == 52 and sum(each.board_cards) == 5:
        for place, card in enumerate(ROYAL, each.dealt - 5):
            at = record["deck"].tolist().index(card)
            record["deck"][at], record["deck"][place] = record["deck"][place], card


def variant(game: Poker | DrawnSeats, record: np.void) -> Poker:
    """The game a table plays."""
    return game if isinstance(game, Poker) else game.games[record["variant"]]


# PokerKit


def pokerkit(hand: Hand) -> None:
    """Play a hand of hold'em in PokerKit, whose players are our seats."""
    state, game = pokerkit_state(hand.game), hand.game
    hand.expect("blinds", game.blinds, list(state.bets))
    cards = [card_name(card, game.ranks, game.suits) for card in hand.deck]
    for seat in range(game.seats):
        state.deal_hole("".join(cards[2 * seat : 2 * seat + 2]), seat)
    board, street = cards[2 * game.seats :], 0

    def deal_board() -> None:
        nonlocal board, street
        while state.can_deal_board():
            street += 1
            count = game.board_cards[street]
            state.deal_board("".join(board[:count]))
            board = board[count:]

    for decision in hand.decisions:
        deal_board()
        hand.expect("seat to act", decision.seat, state.actor_index)
        legal = [state.can_fold(), state.can_check_or_call(), state.can_complete_bet_or_raise_to()]
        hand.expect("legal actions", decision.legal, np.flatnonzero(legal).tolist())
        if decision.action == FOLD:
            state.fold()
        elif decision.action == CALL:
            state.check_or_call()
        else:
            state.complete_bet_or_raise_to()
    hand.expect("the hand is over", True, not state.status)
    won = [int(chips) for chips in state.payoffs]
    hand.expect("chips won", hand.won, odd_chips_apart(won, hand))


def odd_chips_apart(won: list[int], hand: Hand) -> list[int]:
    """Theirs gives all odd chips to the first winner, where ours gives one each to the first."""
    received = [chips + put for chips, put in zip(won, hand.paid, strict=True)]
    winners = [seat for seat, chips in enumerate(received) if chips > 0]
    share, odd = divmod(sum(received), len(winners))
    hand.expect("a split pot", [share] * (len(winners) - 1), [received[s] for s in winners[1:]])
    told = [-put for put in hand.paid]
    for place, seat in enumerate(winners):
        told[seat] += share + (place < odd)
    return told


def pokerkit_state(game: Poker) -> Any:
    """A hand there. Its ready-made fixed-limit game allows a raise more before the flop."""
    from pokerkit import (
        Automation,
        BettingStructure,
        Deck,
        Opening,
        StandardHighHand,
        State,
        Street,
    )

    dealt = Automation.HOLE_DEALING, Automation.BOARD_DEALING, Automation.CARD_BURNING
    streets = zip(game.board_cards, game.raise_sizes, game.max_raises, strict=True)
    return State(
        tuple(automation for automation in Automation if automation not in dealt),
        Deck.STANDARD,
        (StandardHighHand,),
        tuple(
            Street(
                False, (False, False) if i == 0 else (), count, False, Opening.POSITION, size, most
            )
            for i, (count, size, most) in enumerate(streets)
        ),
        BettingStructure.FIXED_LIMIT,
        True,
        0,
        (min(filter(None, game.blinds)), max(game.blinds)),
        0,
        game.most_chips + 1,
        game.seats,
    )


# OpenSpiel

Names = Callable[[list[int]], dict[int, int]]


def same_action(legal: list[int]) -> dict[int, int]:
    """OpenSpiel's name of each legal action: the same."""
    return {action: action for action in legal}


def pass_or_bet(legal: list[int]) -> dict[int, int]:
    """OpenSpiel's Kuhn poker says pass (0) for check and fold, bet (1) for bet and call."""
    return {FOLD: 0, CALL: 1} if FOLD in legal else {CALL: 0, RAISE: 1}


def open_spiel(other: Any, names: Names = same_action) -> Engine:
    """Plays hands in a game of OpenSpiel's."""

    def engine(hand: Hand) -> None:
        deck, state = iter(hand.deck), other.new_initial_state()

        def deal() -> None:
            while state.is_chance_node():
                state.apply_action(next(deck))

        for seat, legal, action in hand.decisions:
            deal()
            hand.expect("seat to act", seat, state.current_player())
            hand.expect("legal actions", sorted(names(legal).values()), state.legal_actions())
            state.apply_action(names(legal)[action])
        deal()  # the board's last cards, where a game deals them with nobody left to act
        hand.expect("the hand is over", True, state.is_terminal())
        # It splits an odd chip, we give it away whole: the same where pots divide evenly.
        for ours, theirs in zip(hand.won, state.returns(), strict=True):
            apart = abs(ours - theirs)
            hand.expect("chips won", True, apart == 0 or (apart < 1 and theirs != round(theirs)))

    return engine


def universal_poker(game: Poker) -> Any:
    """The same game in OpenSpiel. Its players count from 1 and its antes are blinds."""
    import pyspiel

    def words(numbers: Any) -> str:
        return " ".join(map(str, numbers))

    return pyspiel.load_game(
        "universal_poker",
        {
            "betting": "limit",
            "numPlayers": game.seats,
            "numRounds": len(game.board_cards),
            "blind": words(game.record["post"][0, : game.seats]),
            "firstPlayer": words(seat + 1 for seat in game.openers),
            "raiseSize": words(game.raise_sizes),
            "maxRaises": words(game.max_raises),
            "numSuits": len(game.suits),
            "numRanks": len(game.ranks),
            "numHoleCards": game.hole_cards,
            "numBoardCards": words(game.board_cards),
        },
    )


def compare(game: Poker | DrawnSeats, engine: Engine, hands: int, seed: int) -> Counter[str]:
    """Play hands here and there; what was compared.

    Raises:
        Difference: at the first thing that is not the same.
    """
    told: Counter[str] = Counter()
    for hand in play(game, hands, seed):
        engine(hand)
        winners = sum(chips + put > 0 for chips, put in zip(hand.won, hand.paid, strict=True))
        told.update(
            {
                "hands": 1,
                "decisions": len(hand.decisions),
                "showdowns": int(hand.showdown),
                "split pots": int(winners > 1),
                "odd chips": sum(hand.paid) % winners,
            }
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hands", type=int, default=100_000, help="in all, beside each engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("games", nargs="*", default=GAMES, metavar="game")
    given = parser.parse_args()
    for name in given.games:
        game = build(option("game", name), "game")
        engines: dict[str, tuple[Engine, int]] = {"PokerKit": (pokerkit, len(given.games))}
        if game.seats == 2:
            engines["OpenSpiel"] = open_spiel(universal_poker(game)), 1
        for other, (engine, share) in engines.items():
            start = time.perf_counter()
            try:
                told = compare(game, engine, given.hands // share, given.seed)
            except Difference as difference:
                print(difference)
                sys.exit(1)
            counts = ", ".join(f"{count:,} {what}" for what, count in told.items())
            seconds = time.perf_counter() - start
            print(f"{name} beside {other}: {counts}; no difference; {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
