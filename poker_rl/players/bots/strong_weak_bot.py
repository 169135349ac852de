"""Bot that randomly bets or calls with strong hands, and randomly calls or folds with weak hands.

The bots of a published work on six-player hold'em play like this (docs/results/apu.md). Such a bot
folds a weak hand at one of the next decisions, even after it has put chips in, so a player that
always raises wins chips from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from poker_rl.config.validation import Probability
from poker_rl.games.game import Game
from poker_rl.players.bots.holdem_bot import BET, HoldemBot
from poker_rl.players.player import player_from_dict

STRONG_HAND_MIN_BET_PROB = 0.5  # `reference_bot` bets strong hands at least so often


@dataclass(kw_only=True)
class StrongWeakBot(HoldemBot):
    """Bot with random choices, whose probabilities depend on whether its hand is strong.

    A hand is strong if `reference_bot` bets it at least half of the time. The bot bets a strong
    hand with probability `strong_bet_prob` and else calls. It calls with a weak hand with
    probability `weak_call_prob`, else it folds, or checks if there is no bet to call.
    """

    reference_bot: HoldemBot
    strong_bet_prob: Probability
    weak_call_prob: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        strong_plan = [0.0, 1 - self.strong_bet_prob, self.strong_bet_prob]
        weak_plan = [1 - self.weak_call_prob, self.weak_call_prob, 0.0]
        self._choice_probs = np.array([weak_plan, strong_plan])

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        bet_prob = self.reference_bot.compute_choice_probs(records, legal_mask)[:, BET]
        is_strong = bet_prob >= STRONG_HAND_MIN_BET_PROB
        return np.asarray(self._choice_probs[is_strong.astype(np.int64)])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "reference_bot": self.reference_bot.to_dict()}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        reference_bot = player_from_dict(state["reference_bot"], game, device)
        return super().from_dict({**state, "reference_bot": reference_bot}, game, device)
