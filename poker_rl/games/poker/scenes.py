"""What there is to see at a table of poker, and the moves of the seat to act.

A table plays one definition of its game, `played`; where seats are drawn, `game` has several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from poker_rl.games.cards import card_name
from poker_rl.games.game import Game
from poker_rl.games.poker.table import CALL, FOLD, POT, RAISE
from poker_rl.games.poker.words import hand_words
from poker_rl.games.scene import Amounts, Move, Place, Scene
from poker_rl.games.tables import Tables

if TYPE_CHECKING:
    from poker_rl.games.poker.game import PokerGame

BLINDS = ("small blind", "big blind")  # by size; what is above them is a straddle
STREETS = ("preflop", "flop", "turn", "river")
SIZES = {50: "half pot", 67: "two thirds of the pot", 100: "pot"}  # by hundredths of it
USUAL = (50, 67, 100)  # offered between the smallest raise and everything, where any is legal


class PokerTables(Game, Protocol):
    """A game all of whose tables play poker."""

    def played(self, record: np.void) -> PokerGame:
        """The definition that a table plays."""


class Shown:
    """What a game of poker shows and offers at a table."""

    def scene(self: PokerTables, record: np.void, viewer: int | None) -> Scene:
        """A table as one of its seats may see it, or with all cards face up."""
        return scene(self, self.played(record), record, viewer)

    def move_name(self: PokerTables, record: np.void, action: int) -> str:
        """Return an action's name at this table: `raise_all_in` for a size that takes all."""
        return move_name(self, self.played(record), record, action)

    def moves(
        self: PokerTables, record: np.void, actions: Sequence[int] | None = None
    ) -> list[Move]:
        """These actions of the seat to act, or all that are legal; of any amounts the usual."""
        return moves(self, self.played(record), record, actions)

    def amounts(self: PokerTables, record: np.void) -> Amounts | None:
        """What the seat to act may bet or raise to, where any amount is legal."""
        return amounts(self, self.played(record), record)

    def recover_actions(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions so far of tables [B], [B, L], and how many there are [B]."""
        return records["line"], records["moves"]


def scene(game: Game, played: PokerGame, record: np.void, viewer: int | None) -> Scene:
    """A table for one of its seats, or with all hole cards face up."""
    seats, over = range(played.seats), bool(record["over"])
    dead = played.dead_antes
    paid = [int(record["paid"][seat]) for seat in seats]
    begun = street_price(game, record)
    bets = [0 if over else max(put - begun, 0) for put in paid]
    folded = [bool(record["folded"][seat]) for seat in seats]
    board = shown_board(played, record)
    hole = None if viewer is None else hole_cards(played, record, viewer)
    whole = played.hole_cards + sum(played.board_cards)
    return Scene(
        places=tuple(
            place(played, record, seat, viewer is None or seat == viewer, bets[seat])
            for seat in seats
        ),
        board=names(played, board),
        pots=pots([put - bet for put, bet in zip(paid, bets, strict=True)], folded, sum(dead)),
        street=street_name(played, int(record["street"])),
        to_act=None if over else int(record["to_act"]),
        words=""
        if hole is None
        else hand_words(hole, board, played.ranks, played.suits, whole, played.ace),
    )


def place(played: PokerGame, record: np.void, seat: int, seen: bool, bet: int) -> Place:
    """A seat of a scene, whose cards are seen or not."""
    folded = bool(record["folded"][seat])
    paid = int(record["paid"][seat]) + played.dead_antes[seat]
    stacks = played.stack_of
    stack = None if stacks is None else stacks[seat] - paid
    notes = seat_notes(played, seat)
    if stack == 0 and not folded:
        notes.append("all-in")
    return Place(
        cards=names(played, hole_cards(played, record, seat)) if seen else (),
        hidden=0 if seen or folded else played.hole_cards,
        bet=bet,
        paid=paid,
        stack=stack,
        folded=folded,
        notes=tuple(notes),
    )


def seat_notes(played: PokerGame, seat: int) -> list[str]:
    """What a seat is to people: the button, and which blind."""
    notes = ["button"] if seat == played.seats - 1 else []
    if played.forced_raises and played.blinds[seat]:
        amounts = sorted(set(played.blinds) - {0})
        names = BLINDS[-1:] if len(amounts) == 1 else BLINDS
        rank = amounts.index(played.blinds[seat])
        notes.append(names[rank] if rank < len(names) else "straddle")
    return notes


def hole_cards(played: PokerGame, record: np.void, seat: int) -> list[int]:
    """Those of a seat."""
    first = seat * played.hole_cards
    return [int(card) for card in record["deck"][first : first + played.hole_cards]]


def shown_board(played: PokerGame, record: np.void) -> list[int]:
    """The board so far; where nobody can bet any more it is dealt to its end for the showdown."""
    showdown = record["over"] and record["live"] > 1
    streets = len(played.board_cards) if showdown else int(record["street"]) + 1
    first = played.seats * played.hole_cards
    shown = sum(played.board_cards[:streets])
    return [int(card) for card in record["deck"][first : first + shown]]


def names(played: PokerGame, cards: Sequence[int]) -> tuple[str, ...]:
    """As people write them."""
    return tuple(card_name(card, played.ranks, played.suits) for card in cards)


def street_name(played: PokerGame, street: int) -> str:
    """As in hold'em where the first street has no board; "" where there is but one."""
    if len(played.board_cards) == 1:
        return ""
    return STREETS[street] if played.board_cards[0] == 0 else f"round {street + 1}"


def street_price(game: Game, record: np.void) -> int:
    """The chips that a seat had to put in before this street; on the first one, the ante."""
    definition, street = game.record[int(record["variant"])], int(record["street"])
    if street == 0:
        return int(definition["ante"])
    price = int(definition["price"])
    marks = int(record["marks"])
    cells = record["mark"][:marks].astype(np.int64)
    when = cells // int(definition["kinds"]) // int(definition["levels"])
    when %= int(definition["streets"])
    earlier = when < street
    if len(record["chips"]):  # no-limit: what the seat of each mark had put in
        return max(price, int(record["chips"][:marks][earlier].max(initial=0)))
    raises = earlier & (cells % int(definition["kinds"]) == 0)
    if definition["forced_raises"]:  # blinds have marks of their own, before all others
        raises[: np.count_nonzero(definition["post"] > definition["ante"])] = False
    return price + int(definition["raise_size"][when[raises]].sum())


def pots(paid: Sequence[int], folded: Sequence[bool], dead: int = 0) -> tuple[int, ...]:
    """The main pot and side pots of what each seat has put in, as `pots.share_pots` shares them.

    Args:
        dead: antes that are not among it; they are part of the main pot.
    """
    stakes = sorted({put for put, gone in zip(paid, folded, strict=True) if not gone})
    found, below = [], 0
    for upto in stakes:
        if upto > below or dead:
            found.append(sum(max(min(put, upto) - below, 0) for put in paid) + dead)
        below, dead = upto, 0
    return tuple(found)


def moves(
    game: Game, played: PokerGame, record: np.void, actions: Sequence[int] | None
) -> list[Move]:
    """The moves of the seat to act; what each puts in is what the rules make of it."""
    seat = int(record["to_act"])
    sizes = usual_sizes(game, played, record)
    if actions is None:
        legal = np.flatnonzero(legal_actions(game, record)).tolist()
        any_amount = amounts(game, played, record) is not None
        actions = [a for a in legal if not any_amount or a < RAISE or a in sizes]
    after = Tables(game, 0, 0)
    after.use(np.array([record] * len(actions), game.table))
    after.step(np.array(actions, np.int64))
    before, begun = int(record["paid"][seat]), street_price(game, record)
    found = []
    for action, put in zip(actions, after.records["paid"][:, seat].tolist(), strict=True):
        raised = action >= RAISE
        if raised and played.listed_sizes:
            sizes[action] = listed_name(played, record, played.listed_sizes[action - RAISE], put)
        found.append(
            Move(
                action=int(action),
                name=game.move_name(record, int(action)),
                kind=kind(int(action), int(record["price"]), before, begun),
                chips=put - before,
                to=put - begun if raised else None,
                cards=(),
                size=sizes.get(int(action), "") if raised else "",
            )
        )
    return found


def move_name(game: Game, played: PokerGame, record: np.void, action: int) -> str:
    """Return an action's name at this table; a listed size that takes all is `raise_all_in`.

    Of sizes that come to the same amount only the first is legal, whatever it is called.
    """
    if action >= RAISE and played.listed_sizes:
        after = Tables(game, 0, 0)
        after.use(np.array([record], game.table))
        after.step(np.array([action]))
        if takes_all(played, record, int(after.records["paid"][0, record["to_act"]])):
            return "raise_all_in"
    return game.action_name(action)


def takes_all(played: PokerGame, record: np.void, put: int) -> bool:
    """Return whether so many chips, without `dead` antes, are all of the seat to act."""
    seat, stacks = int(record["to_act"]), played.stack_of
    return stacks is not None and put == stacks[seat] - played.dead_antes[seat]


def kind(action: int, price: int, paid: int, begun: int) -> str:
    """What people call an action, by whether there is a bet on the street and one to call."""
    if action == FOLD:
        return "fold"
    if action == CALL:
        return "call" if paid < price else "check"
    return "raise" if price > begun else "bet"


def legal_actions(game: Game, record: np.void) -> np.ndarray:
    """Which actions the seat to act may take, [A] bool; none when the hand is over."""
    tables = Tables(game, 0, 0)
    tables.use(np.array([record], game.table))
    legal: np.ndarray = tables.legal()[0] & (record["over"] == 0)
    return legal


def amounts(game: Game, played: PokerGame, record: np.void) -> Amounts | None:
    """The smallest and the largest bet or raise where any is legal between them."""
    if played.listed_sizes != []:
        return None
    raises = np.flatnonzero(legal_actions(game, record)[RAISE:]) + RAISE
    if not len(raises):
        return None
    begun, low, high = street_price(game, record), int(raises[0]), int(raises[-1])
    return Amounts(low - begun, high - begun, low)


def usual_sizes(game: Game, played: PokerGame, record: np.void) -> dict[int, str]:
    """The bets and raises of any amount that have a name; of equal ones the last name counts."""
    if played.listed_sizes != []:
        return {}
    raises = np.flatnonzero(legal_actions(game, record)[RAISE:]) + RAISE
    if not len(raises):
        return {}
    low, high = int(raises[0]), int(raises[-1])
    found = {low: "minimum"}
    for size in USUAL:
        to = in_pots(played, record, size)
        if low < to < high:
            found[to] = SIZES[size]
    return found | {high: "all-in"}


def in_pots(played: PokerGame, record: np.void, hundredths: int) -> int:
    """The chips that a raise by so much of the pot is to, whatever is legal."""
    price, paid = int(record["price"]), record["paid"][: played.seats]
    pot = price - int(paid[record["to_act"]]) + int(paid.sum())  # once it is called
    pot += sum(played.dead_antes)
    return price + (hundredths * pot + POT // 2) // POT


def listed_name(played: PokerGame, record: np.void, size: float | str, put: int) -> str:
    """Of a listed bet size that comes to so many chips: "half pot", "33 % of the pot", "all-in".

    It is the smallest raise, or the whole stack, where the share of the pot is less or more.
    """
    if isinstance(size, str) or takes_all(played, record, put):
        return "all-in"
    hundredths = round(size * POT)
    if put > in_pots(played, record, hundredths):
        return "minimum"
    return SIZES.get(hundredths, f"{hundredths} % of the pot")
