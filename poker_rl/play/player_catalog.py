"""Catalog of the players of `conf/player` that can play a game, loaded when they are needed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from poker_rl.config.option_listing import list_options_by_group
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player

MAX_CACHED_GAMES = 8  # games whose players are kept in memory


class PlayerCatalog:
    """Players of `conf/player`, loaded once for each game that is played on the page.

    Args:
        option_dirs: folders of YAML options, such as `conf`.
    """

    def __init__(self, option_dirs: Sequence[Path]) -> None:
        self._option_dirs = option_dirs
        self.path_by_name = list_options_by_group(option_dirs)["player"]
        self._players_by_game: dict[str, dict[str, Player]] = {}
        self._lock = threading.Lock()

    def load_all(self, game: Game) -> dict[str, Player]:
        """Return the players that can play a game, by name."""
        key = repr(game.to_dict())
        with self._lock:
            if key not in self._players_by_game:
                if len(self._players_by_game) >= MAX_CACHED_GAMES:
                    del self._players_by_game[next(iter(self._players_by_game))]
                players = self._players_by_game[key] = {}
                for name in self.path_by_name:
                    with suppress(ConfigError, OSError):
                        players[name] = load_player(name, game, option_folders=self._option_dirs)
            return self._players_by_game[key]
