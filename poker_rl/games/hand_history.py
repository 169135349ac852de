"""Hand histories: the cards and actions of a hand, from which it can be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables


@dataclass(frozen=True)
class HandHistory:
    """The cards and actions of a hand that is over or still in play."""

    deck: tuple[int, ...]  # all cards that the hand may use, in the order dealt
    actions: tuple[int, ...]
    variant: int = 0  # index of the game's definition in play


def hand_history_from_record(game: Game, record: np.void, actions: tuple[int, ...]) -> HandHistory:
    """Return the history of a hand from its table, which has the cards, and its actions."""
    variant = int(record["variant"])
    cards_dealt = int(game.definitions[variant]["dealt"])
    return HandHistory(tuple(int(card) for card in record["deck"][:cards_dealt]), actions, variant)


def replay_hand(game: Game, history: HandHistory) -> Iterator[np.ndarray]:
    """Yield a copy of the table, an array of one record, before each action and after the last."""
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.array([history.deck]), variants=history.variant)
    yield tables.records.copy()
    for action in history.actions:
        tables.step(np.array([action]))
        yield tables.records.copy()
