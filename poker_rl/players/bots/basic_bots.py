"""Bots that look only at the legal actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.players.bots.bot import Bot, PokerBot, to_one_hot


@dataclass(kw_only=True)
class UniformBot(Bot):
    """Bot that takes each legal action with equal probability."""

    is_suit_invariant = True

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        return np.asarray(legal_mask / legal_mask.sum(1, keepdims=True))


@dataclass(kw_only=True)
class PreferenceBot(Bot):
    """Bot that takes the first legal action in the list `prefer`, which holds names of actions.

    If none of them is legal, it takes the legal action with the lowest number. In the list, `raise`
    stands for all raises of a no-limit game, the smallest first.
    """

    is_suit_invariant = True

    prefer: list[str]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        order: list[int] = []
        names = [game.action_name(action) for action in range(game.action_count)]
        for preferred in self.prefer:
            # `raise` matches all raises, such as raise_12.
            actions = [a for a, name in enumerate(names) if preferred in (name, name.split("_")[0])]
            if not actions:
                examples = ", ".join(names[:9])
                raise ConfigError(f"prefer: {preferred} is no action of {game.name}: {examples}")
            order += actions
        self._order = np.array([*order, *range(game.action_count)])

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        return to_one_hot(self._order[legal_mask[:, self._order].argmax(1)], legal_mask)


@dataclass(kw_only=True)
class AllInBot(PokerBot):
    """Bot that makes the largest legal raise (all-in in no-limit games) or, without one, calls."""

    is_suit_invariant = True

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        # The last legal action is the largest raise or, if no raise is legal, the call.
        return to_one_hot(legal_mask.shape[1] - 1 - legal_mask[:, ::-1].argmax(1), legal_mask)
