"""A bot for Big 2 that gets rid of its lowest cards first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.big2.combinations import MOST_CARDS, PASS, POSITION, SIZE, strength
from poker_rl.games.big2.game import Big2
from poker_rl.games.game import Game, rule
from poker_rl.players.bots import Bot


@dataclass(kw_only=True)
class Lowest(Bot):
    """Plays the lowest legal hand, and passes only where it must.

    Lowest is the one of fewest cards, so that it leads single cards; among hands of as many cards
    the one that most others beat; and of hands that rank alike the first action.

    Raises:
        Refused: if the game is not Big 2.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not isinstance(game, Big2):
            raise Refused(f"plays Big 2, not {game.name}")

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        legal = self.legal(records)
        action = np.empty(len(records), np.int64)
        lowest(records, legal, action)
        out = np.zeros(legal.shape)
        out[np.arange(len(out)), action] = 1
        return out


@rule
def lowest(tables, legal, out):  # type: ignore[no-untyped-def]
    """Write the lowest legal action at each table, [B], by tables [B] and legal actions [B, A]."""
    for i in range(len(tables)):
        table = tables[i]
        hand = table.hand[table.to_act]
        fewest, weakest, out[i] = MOST_CARDS, 0, PASS
        for action in range(PASS):
            if legal[i, action] and SIZE[action] <= fewest:
                position = POSITION[action]
                power = strength(
                    SIZE[action],
                    hand[position[0]],
                    hand[position[1]],
                    hand[position[2]],
                    hand[position[3]],
                    hand[position[4]],
                )
                if SIZE[action] < fewest or out[i] == PASS or power < weakest:
                    fewest, weakest, out[i] = SIZE[action], power, action
