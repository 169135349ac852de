"""Base classes of bots."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Self

import numpy as np

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.target_classes import settings_to_dict
from poker_rl.games.game import Game
from poker_rl.games.poker import betting
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class Bot(Player):
    """Base class of bots, whose settings are dataclass fields; subclasses add `action_probs`."""

    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self._game = game

    def legal_mask(self, records: np.ndarray) -> np.ndarray:
        """Return which of A actions are legal for the seat to act at each of B tables, [B, A]."""
        return self.build_tables(records).legal_mask()

    def build_tables(self, records: np.ndarray) -> Tables:
        """Return new `Tables` of these records; a bot keeps no tables, so threads may share it."""
        return tables_from_records(self._game, records)

    def to_dict(self) -> dict[str, Any]:
        return settings_to_dict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        return build(state, "player", cls, game=game)  # type: ignore[no-any-return]


@dataclass(kw_only=True)
class PokerBot(Bot):
    """Base class of bots for poker games; `__post_init__` raises ConfigError for other games."""

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not betting:
            raise ConfigError(f"a bot of poker, not of {game.name}")


def to_one_hot(actions: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """Return probabilities [B, A], the shape of `legal_mask`: 1 for `actions` [B], 0 for others."""
    probs = np.zeros(legal_mask.shape)
    probs[np.arange(len(probs)), actions] = 1
    return probs
