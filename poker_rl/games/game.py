"""What a game is: a deal followed by moves.

Everything chance decides (the order of the deck) is decided before the first move, so there are no
chance nodes. A game is a module of rules, functions of two records compiled by numba, and an object
that describes it to the rest of the program.

    deal(game, table)               draw the deck from the table's own random state
    start(game, table)              forced bets, first to act
    legal(game, table, mask)        bool per action
    step(game, table, action)       an illegal action sets table.error
    payoffs(game, table, out)       chips won per seat, summing to zero
    observe(game, table, seat, out) network features
    history(game, table, seat, out) the actions so far as a sequence; returns its length
    reveal(game, table, seat, out)  the hidden cards, for a perfect-information critic only
    infoset(game, table, seat, out) key of the information set as bytes
    redeal(game, table)             draw anew what the seat to act can't see, all of it that fits
                                    what it sees equally likely; for players that look ahead only

A game may have several definitions, such as one for each number of seats; `table.variant` is the
one a table plays, drawn with its cards.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol

import numba
import numpy as np

from poker_rl.games.scene import Amounts, Move, Scene

_compile: Any = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)


def rule(function: Any) -> Any:
    """Decorates a module's function of records and arrays: numba compiles it when it is called.

    The compiled code is kept on the disk. As in NumPy, dividing by 0 raises nothing; an index out
    of range is not noticed. A function that can't be compiled raises numba's TypingError.
    """
    return _compile(function)


class Game(Protocol):
    """A game as the rest of the program sees it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def unit(self) -> str:
        """The unit of results: ante, big blind, point."""

    @property
    def unit_chips(self) -> int:
        """Chips in a unit."""

    @property
    def hand(self) -> str:
        """What people call what is played with one deal: a hand or a game."""

    @property
    def seats(self) -> int:
        """The most players there can be."""

    @property
    def rules(self) -> ModuleType:
        """The module of compiled rules."""

    @property
    def record(self) -> np.ndarray:
        """The definitions the rules read, usually an array of one record; among the fields are
        `seats`, `cards` of the deck and `dealt`, those of a hand."""

    @property
    def table(self) -> np.dtype[np.void]:
        """The dtype of a table; of its fields all programs know `key`, `draws`, `deck`, `variant`,
        `to_act`, `over` and `error`."""

    @property
    def actions(self) -> int:
        """Number of actions, A."""

    @property
    def kinds(self) -> np.ndarray:
        """What kind each action is of, [A] int64; those that differ in size alone are of one."""

    @property
    def observation_size(self) -> int:
        """Width of an observation, W."""

    @property
    def observation_dtype(self) -> np.dtype[Any]:
        """Of an observation: uint8 if all of it is 0 or 1, else float32."""

    @property
    def history_size(self) -> int:
        """Width of a step of `history`, F; 0 if the rules have no `history`."""

    @property
    def hidden_size(self) -> int:
        """Width of what `reveal` writes."""

    @property
    def infoset_size(self) -> int:
        """Bytes in the key of an information set."""

    def deal_count(self) -> int:
        """Number of different, equally likely deals."""

    def deals(self) -> np.ndarray:
        """Every deal once: the first cards of the deck, [deals, dealt] int8."""

    def action_name(self, action: int) -> str:
        """What a person calls this action, whatever the cards."""

    def move_name(self, record: np.void, action: int) -> str:
        """What the seat to act at a table calls this action, which it may take."""

    def recover_actions(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions so far of tables [B], [B, L] integers, and how many there are [B].

        The decks hold cards of the game, all other fields may be damaged: `check_tables` plays the
        actions again and compares.
        """

    def infoset_name(self, record: np.void) -> str:
        """What the seat to act knows, for people: itself, the cards it sees, the actions so far.

        These three are words with a space between them, as in `1 Ks|Qh rc`; a figure of a policy
        has a panel for each seat and number of cards, cards as its rows and actions as its columns.
        """

    def scene(self, record: np.void, viewer: int | None) -> Scene:
        """A table as one of its seats may see it, or with all cards face up, for after the hand.

        It is put together from what the viewer may know, not by leaving out from the whole.
        """

    def moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[Move]:
        """These actions of the seat to act, which have to be legal, in a person's words.

        None: all that are legal; of amounts that may be any number only the usual ones.
        """

    def amounts(self, record: np.void) -> Amounts | None:
        """What the seat to act may bet or raise to, if that is any amount; None otherwise."""

    def state(self) -> dict[str, Any]:
        """The definition as plain values: two games are the same if these are equal."""


@rule
def clear(out):
    """Zero an array; a plain loop compiles sooner than a slice."""
    for i in range(len(out)):
        out[i] = 0


@rule
def random(table):
    """64 random bits from the table's own counter (SplitMix64, Steele et al. 2014)."""
    table.draws += np.uint64(1)
    z = table.key + table.draws * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@rule
def below(table, count):
    """A random number from 0 to count - 1, count being less than 2^32."""
    return np.int64((random(table) >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@rule
def choose(games, table):
    """Draw which of several definitions the next hand is played by."""
    if len(games) > 1:
        table.variant = below(table, len(games))


@rule
def shuffle(table, cards, dealt):
    """Fill the first `dealt` places of a table's deck with distinct random cards (Fisher-Yates).

    Args:
        table: the record of a table; its random state moves on.
        cards: how many cards the deck has, numbered from 0; `table.deck` has room for them.
        dealt: how many of them are drawn, at most `cards`.
    """
    for i in range(cards):
        table.deck[i] = i
    bits = np.uint64(0)
    for i in range(dealt):
        bits = bits << np.uint64(32) if i & 1 else random(table)  # 32 bits a card
        j = np.uint64(i) + ((bits >> np.uint64(32)) * np.uint64(cards - i) >> np.uint64(32))
        card = table.deck[j]
        table.deck[j] = table.deck[i]
        table.deck[i] = card
