"""Games and players to choose from: the start screen of the page, and the players of `conf/player`.

Visitors of a public server choose among players of `conf/player` only; a private server also lists
the user's own runs. Only listed names are accepted, so that a request cannot name any file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import list_options_by_group, read_first_comment
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.table_view import DisplayedGame
from poker_rl.play.hand_view import MoveNotAllowedError
from poker_rl.play.session import Session
from poker_rl.play.session_file import read_session
from poker_rl.play.table_setup import TableSetup, rebuild_table_setup, shorten_names
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player
from poker_rl.storage.checkpoint import PLAYERS_FOLDER

if TYPE_CHECKING:
    from poker_rl.play.play_launcher import PlayConfig

MAX_TABLES = 32  # tables with loaded players in memory; the least recently used is dropped first
MAX_CACHED_GAMES = 8  # games whose players are kept in memory
MAX_RUNS = 20  # number of newest runs that are listed as opponents


class PlayerCatalog:
    """Players of `conf/player`, loaded once for each game that is played on the page."""

    def __init__(self, option_dirs: Sequence[Path]) -> None:
        self._option_dirs = option_dirs
        self.path_by_name = list_options_by_group(option_dirs)["player"]
        self._players_by_game: dict[str, dict[str, Player]] = {}

    def load_all(self, game: Game) -> dict[str, Player]:
        """Return the players that can play a game, by name."""
        key = repr(game.to_dict())
        if key not in self._players_by_game:
            if len(self._players_by_game) >= MAX_CACHED_GAMES:
                del self._players_by_game[next(iter(self._players_by_game))]
            players = self._players_by_game[key] = {}
            for name in self.path_by_name:
                with suppress(ConfigError, OSError):
                    players[name] = load_player(name, game, option_folders=self._option_dirs)
        return self._players_by_game[key]


@dataclass
class StartScreen:
    """Games and opponents to choose from, and sessions with the chosen ones.

    Requests for a game or player that is not listed raise a MoveNotAllowedError.

    Args:
        build_table_setup: function that builds a table from the settings with the key `game`, and
            the names of its opponents.
    """

    config: PlayConfig
    option_dirs: Sequence[Path]
    catalog: PlayerCatalog
    build_table_setup: Callable[[dict[str, Any], Sequence[str]], TableSetup]

    def __post_init__(self) -> None:
        self._folder = Path(self.config.outputs)
        self._path_by_game = list_options_by_group(self.option_dirs)["game"]
        self._build_cached_table = lru_cache(MAX_TABLES)(self._build_table)

    def _build_table(self, game_name: str, against: tuple[str, ...]) -> TableSetup:
        return self.build_table_setup(self._compose_game(game_name), against)

    def _compose_game(self, name: str) -> dict[str, Any]:
        return compose_plain_config([f"game={name}"], self.option_dirs)

    def _find_session(self, session_id: str | None) -> Path:
        """Return the path of a session's file; raise a ConfigError if it is gone."""
        path = next(self._folder.glob(f"*/{session_id}.jsonl"), None)
        if path is None:
            raise ConfigError("The file of this session is gone.")
        return path

    def list_choices(self, last_session_id: str | None) -> dict[str, Any]:
        """Return the games with descriptions, and a summary of the visitor's last session."""
        last_session = None
        with suppress(ConfigError):
            saved = read_session(self._find_session(last_session_id))
            short_names = shorten_names(saved.table["against"])
            last_session = {
                "game": saved.table["game"]["name"],
                "against": [short_names[name] for name in saved.table["against"]],
                "hands": len(saved.hands),
            }
        games = [
            {"name": name, "about": read_first_comment(path)}
            for name, path in self._path_by_game.items()
        ]
        return {"games": games, "game": self.config.game, "last": last_session}

    def describe_game(self, game_name: str) -> dict[str, Any]:
        """Return the number of seats of a game, and its possible opponents with descriptions."""
        if game_name not in self._path_by_game:
            raise MoveNotAllowedError("There is no such game.")
        game: Game = build(self._compose_game(game_name)["game"], "game", Game)
        if not isinstance(game, DisplayedGame):
            raise MoveNotAllowedError(f"{game_name} can't be played on the page.")
        names = self.catalog.load_all(game)
        specs = [*(name for name in self.config.default_opponents if name in names), *names]
        about = {name: read_first_comment(self.catalog.path_by_name[name]) for name in names}
        if not self.config.public:
            runs = self._folder.parent.glob(f"{game_name}/*/*/{PLAYERS_FOLDER}")
            newest_runs = sorted(runs, key=lambda path: -path.stat().st_mtime)[:MAX_RUNS]
            about |= {str(run.parent): f"your run {run.parent}" for run in newest_runs}
        players = [{"spec": spec, "about": about[spec]} for spec in dict.fromkeys([*specs, *about])]
        return {"seats": game.seats, "players": players}

    def create_session(self, game_name: str, against: Sequence[str]) -> Session:
        """Start a session against these opponents; a single opponent plays in all other seats."""
        known_specs = {player["spec"] for player in self.describe_game(game_name)["players"]}
        if not against or not known_specs.issuperset(against):
            raise MoveNotAllowedError("There is no such player of this game.")
        setup = self._build_cached_table(game_name, tuple(against))
        return Session.create(setup, self._folder / game_name, self.config.seed)

    def resume_session(self, session_id: str) -> Session:
        """Resume a session from its file; raise a ConfigError if that is impossible."""
        path = self._find_session(session_id)
        return Session.resume(path, rebuild_table_setup(read_session(path).table, self.option_dirs))
