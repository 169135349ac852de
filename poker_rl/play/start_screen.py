"""Start screen of the page: lists of games and opponents, and a session with the chosen ones.

Visitors of a public server choose among players of `conf/player` only; a private server also lists
the user's own runs. Only listed names are accepted, so that a request cannot name any file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from poker_rl.config.build import build_instance_of
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_listing import list_options_by_group, read_first_comment
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.table_view import DisplayedGame
from poker_rl.play.live_hand import TableSetup, shorten_names
from poker_rl.play.move_requests import MoveNotAllowedError
from poker_rl.play.player_catalog import PlayerCatalog
from poker_rl.play.results_over_sessions import read_session_file
from poker_rl.play.session import Session
from poker_rl.storage.checkpoint import PLAYERS_FOLDER

MAX_TABLES = 32  # tables with loaded players in memory; the least recently used is dropped first
MAX_RUNS = 20  # number of newest runs that are listed as opponents


@dataclass
class StartScreen:
    """Games and opponents to choose from, and sessions with the chosen ones.

    Args:
        folder: folder of the sessions of all games.
        option_dirs: folders of YAML options, such as `conf`.
        catalog: the players of `conf/player`.
        default_game: the game that is selected when the page opens.
        first_players: names of the players that are listed first, in this order.
        seed: seed of each new session; None for a random one.
        is_public: whether others on the network may visit the page.
        build_table_setup: function that builds a table from a game's name, opponents and the file
            of a session to resume; either the name or the file is None.
    """

    folder: Path
    option_dirs: Sequence[Path]
    catalog: PlayerCatalog
    default_game: str
    first_players: Sequence[str]
    seed: int | None
    is_public: bool
    build_table_setup: Callable[[str | None, Sequence[str], Path | None], TableSetup]

    def __post_init__(self) -> None:
        self._lock = threading.RLock()  # Hydra's global state allows one thread at a time
        self._path_by_game = list_options_by_group(self.option_dirs)["game"]
        self._build_cached_table = lru_cache(MAX_TABLES)(self.build_table_setup)

    def list_choices(self, last_session_id: str | None) -> dict[str, Any]:
        """Return the games with descriptions, and a summary of the visitor's last session."""
        last_session = None
        with suppress(ConfigError, OSError, StopIteration):
            path = next(self.folder.glob(f"*/{last_session_id}.jsonl"))
            table, hands = read_session_file(path)
            against = shorten_names(table["against"])
            last_session = {
                "game": table["game"]["name"],
                "against": [against[name] for name in table["against"]],
                "hands": len(hands),
            }
        games = [
            {"name": name, "about": read_first_comment(path)}
            for name, path in self._path_by_game.items()
        ]
        return {"games": games, "game": self.default_game, "last": last_session}

    def describe_game(self, game_name: str) -> dict[str, Any]:
        """Return the number of seats of a game, and its possible opponents with descriptions.

        Raises:
            MoveNotAllowedError: if there is no such game, or it can't be displayed.
        """
        if game_name not in self._path_by_game:
            raise MoveNotAllowedError("There is no such game.")
        with self._lock:
            config = compose_plain_config([f"game={game_name}"], self.option_dirs)
        game: Game = build_instance_of(Game, config["game"], "game")
        if not isinstance(game, DisplayedGame):
            raise MoveNotAllowedError(f"{game_name} can't be played on the page.")
        names = self.catalog.load_all(game)
        specs = [*(name for name in self.first_players if name in names), *names]
        about = {name: read_first_comment(self.catalog.path_by_name[name]) for name in names}
        if not self.is_public:
            runs = self.folder.parent.glob(f"{game_name}/*/*/{PLAYERS_FOLDER}")
            newest_runs = sorted(runs, key=lambda path: -path.stat().st_mtime)[:MAX_RUNS]
            about |= {str(run.parent): f"your run {run.parent}" for run in newest_runs}
        players = [{"spec": spec, "about": about[spec]} for spec in dict.fromkeys([*specs, *about])]
        return {"seats": game.seats, "players": players}

    def create_session(self, game_name: str, against: Sequence[str]) -> Session:
        """Start a session against these opponents; a single opponent plays in all other seats.

        Raises:
            MoveNotAllowedError: if there is no such game, or a player is not one of those listed.
            ConfigError: if the number of opponents is wrong.
        """
        known_specs = {player["spec"] for player in self.describe_game(game_name)["players"]}
        if not against or not known_specs.issuperset(against):
            raise MoveNotAllowedError("There is no such player of this game.")
        with self._lock:
            setup = self._build_cached_table(game_name, tuple(against), None)
        return Session.create(setup, self.folder / game_name, self.seed)

    def resume_session(self, session_id: str) -> Session:
        """Resume a session from its file.

        Raises:
            ConfigError: if its file is gone, or a player of its table can't be loaded.
        """
        path = next(self.folder.glob(f"*/{session_id}.jsonl"), None)
        if path is None:
            raise ConfigError("The file of this session is gone.")
        with self._lock:
            setup = self._build_cached_table(None, (), path)
        return Session.resume(path, setup)
