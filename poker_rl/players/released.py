"""Trained players that travel with the project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.players.bots import Bot
from poker_rl.players.load import load_players

RELEASED = Path(__file__).resolve().parent.parent / "released"


@dataclass(kw_only=True)
class Released(Bot):
    """The one player of a snapshot in `poker_rl/released`, on the CPU.

    Its weights are kept in 16 bits, which is half the size, and computed with in 32.
    `scripts/release.py` makes such files.

    Raises:
        Refused: if the game is not the one it was trained on.
    """

    file: str

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        (self._player,) = load_players(RELEASED / self.file, game, torch.device("cpu")).values()

    @property
    def blind_to_suits(self) -> bool:
        """As the trained player."""
        return self._player.blind_to_suits

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        return self._player.probabilities(records)

    def values(self, records: np.ndarray) -> np.ndarray | None:
        """See `Player.values`."""
        return self._player.values(records)

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """See `Player.action_values`."""
        return self._player.action_values(records)
