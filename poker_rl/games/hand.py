"""A hand that was played: everything chance decided and every action, enough to play it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables


@dataclass(frozen=True)
class Hand:
    """One hand from the deal to its end, or as far as it went."""

    deck: tuple[int, ...]  # the cards that a hand can need, in the order dealt
    actions: tuple[int, ...]
    variant: int = 0  # which of the game's definitions was played


def hand_of(game: Game, record: np.void, actions: tuple[int, ...]) -> Hand:
    """The hand at a table at which these actions were taken."""
    variant = int(record["variant"])
    dealt = int(game.record[variant]["dealt"])
    return Hand(tuple(int(card) for card in record["deck"][:dealt]), actions, variant)


def replay(game: Game, hand: Hand) -> Iterator[np.ndarray]:
    """The table before each action and after the last one: arrays of one record, [1], each a copy.

    Raises:
        ValueError: if the cards are none of the game, or at an action that is illegal.
    """
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.array([hand.deck]), variants=hand.variant)
    yield tables.records.copy()
    for action in hand.actions:
        tables.step(np.array([action]))
        yield tables.records.copy()
