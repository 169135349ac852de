"""A bot that draws by chance at each decision: to bet or call strong hands, to call or fold others.

A published work on six-player hold'em (docs/results/apu.md) describes its bots so: with a
strong hand they tend to bet or call, with a weak one they call or fold. Read to the letter, such a
bot soon folds a weak hand that it has already paid for, and who always raises wins from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from poker_rl.config.classes import class_of
from poker_rl.config.settings import Probability
from poker_rl.games.game import Game
from poker_rl.players.holdem import BET, HoldemBot

AT_LEAST = 0.5  # the share of the other bot's bets that makes a hand strong


@dataclass(kw_only=True)
class Letter(HoldemBot):
    """Bets or calls with the hands that another bot bets at least half the time, by chance.

    It bets a strong hand with a chance of `strong_bets` and else calls; it calls with a weak one
    with a chance of `weak_calls` and else folds, or checks where that is free.

    Raises:
        Refused: if the game is not played with two cards each of a deck of 52.
    """

    strong: HoldemBot
    strong_bets: Probability
    weak_calls: Probability

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        strong = [0.0, 1 - self.strong_bets, self.strong_bets]
        weak = [1 - self.weak_calls, self.weak_calls, 0.0]
        self._plans = np.array([weak, strong])

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        bets = self.strong.wishes(records, self.strong.legal(records))[:, BET]
        plans: np.ndarray = self._plans[(bets >= AT_LEAST).astype(np.int64)]
        return plans

    def state(self) -> dict[str, Any]:
        """The settings, those of the other bot with its class."""
        return {**super().state(), "strong": self.strong.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        other = state["strong"]
        strong = class_of(other["_target_"]).from_state(other, game, device)
        return super().from_state({**state, "strong": strong}, game, device)
