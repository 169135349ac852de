"""Bot for Big 2 that plays its lowest cards first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.big2.big2_game import Big2
from poker_rl.games.big2.combinations import (
    ACTION_SIZES,
    MAX_COMBINATION_SIZE,
    PASS,
    evaluate_played_cards,
)
from poker_rl.games.game import Game, jit
from poker_rl.players.bots.bot import Bot, to_one_hot


@dataclass(kw_only=True)
class LowestCombinationBot(Bot):
    """Bot that plays the lowest legal combination, and passes only if there is none.

    The lowest combination is the weakest of the legal ones with the fewest cards; if several are
    equally weak, the bot takes the action with the lowest number. So it plays a single card when it
    may play any combination.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not isinstance(game, Big2):
            raise ConfigError(f"plays Big 2, not {game.name}")

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        actions = np.empty(len(records), np.int64)
        choose_lowest_actions(records, legal_mask, actions)
        return to_one_hot(actions, legal_mask)


@jit
def choose_lowest_actions(tables, legal_mask, out):  # type: ignore[no-untyped-def]
    """Write into `out` [B] the action that plays the lowest legal combination at each table."""
    for i in range(len(tables)):
        table = tables[i]
        hand = table.hand[table.to_act]
        fewest_cards, lowest_strength, out[i] = MAX_COMBINATION_SIZE + 1, 0, PASS
        for action in range(PASS):
            size = ACTION_SIZES[action]
            if legal_mask[i, action] and size <= fewest_cards:
                strength = evaluate_played_cards(hand, action)
                if size < fewest_cards or strength < lowest_strength:
                    fewest_cards, lowest_strength, out[i] = size, strength, action
