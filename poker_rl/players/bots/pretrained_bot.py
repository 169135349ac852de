"""Bot that plays with trained weights that are part of the package."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.players.bots.bot import Bot
from poker_rl.players.player_loader import CPU, load_players_of_snapshot

PRETRAINED_FOLDER = Path(__file__).resolve().parents[2] / "pretrained"
CHECKSUM_FILE = "SHA256SUMS"  # in PRETRAINED_FOLDER, as written by `sha256sum`


@dataclass(kw_only=True)
class PretrainedBot(Bot):
    """Bot that plays as the only player of a snapshot in `poker_rl/pretrained`, on the CPU.

    The setting `file` is the name of the snapshot. The snapshot stores weights in 16 bits, which
    halves its size; computations use 32 bits. `scripts/add_pretrained_player.py` makes such files.
    """

    file: str

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        path = PRETRAINED_FOLDER / self.file
        lines = (PRETRAINED_FOLDER / CHECKSUM_FILE).read_text().splitlines()
        checksums = {file: checksum for checksum, file in (line.split() for line in lines)}
        if self.file not in checksums:
            allowed = ", ".join(checksums)
            raise ConfigError(f"file: {self.file} is no bundled file; allowed: {allowed}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != checksums[self.file]:
            raise ConfigError(f"{path} does not match {CHECKSUM_FILE}; reinstall poker-rl")
        (self.player,) = load_players_of_snapshot(path, game, CPU).values()
        self.is_suit_invariant = self.player.is_suit_invariant

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        return self.player.action_probs(records)

    def state_values(self, records: np.ndarray) -> np.ndarray | None:
        return self.player.state_values(records)

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        return self.player.action_values(records)
