"""Sessions of the page's visitors, and the games and players that the visitors can choose.

Visitors of a public server choose among the bots of `conf/player` only; a private server also lists
the user's own runs. Only listed names are accepted, so that a request can't open arbitrary files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import list_options_by_group, load_option, read_first_comment
from poker_rl.config.target_classes import split_target_and_settings
from poker_rl.games.displayed_table import DisplayedGame
from poker_rl.games.game import Game
from poker_rl.play.live_hand import RequestNotAllowedError
from poker_rl.play.session import Session
from poker_rl.play.session_file import read_session
from poker_rl.play.table_setup import (
    TableSetup,
    build_table_setup,
    format_player_counts,
    rebuild_table_setup,
)
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player
from poker_rl.storage.checkpoint import PLAYERS_FOLDER

if TYPE_CHECKING:
    from poker_rl.play.play_launcher import PlayConfig

MAX_SESSIONS = 100  # sessions in memory; the least recently used one is dropped first
MAX_TABLES = 32  # tables with loaded players in memory; dropped in the same way
MAX_RUNS = 20  # number of newest runs that are listed as opponents


class SessionStore:
    """Sessions of all visitors; a session that is not in memory is resumed from its file.

    Requests for a game or player that is not listed raise a RequestNotAllowedError.

    `setup` is the table of all sessions; None if each visitor chooses game and opponents. The first
    visitor gets `first_session` if it is given.
    """

    def __init__(
        self,
        config: PlayConfig,
        option_dirs: Sequence[Path],
        setup: TableSetup | None = None,
        first_session: Session | None = None,
    ) -> None:
        self.config, self.setup = config, setup
        self._option_dirs, self.folder = option_dirs, Path(config.outputs)
        self._first_session = first_session
        options = list_options_by_group(option_dirs)
        self._path_by_game = {
            name: path
            for name, path in options["game"].items()
            if _is_displayed_game(name, option_dirs)
        }
        self._path_by_player = options["player"]
        self.open_sessions: OrderedDict[str, Session] = OrderedDict()
        self._players_by_game: dict[str, dict[str, Player]] = {}
        self._build_cached_table = lru_cache(MAX_TABLES)(self._build_table_setup)

    def begin_session(self, game_name: str = "", against: Sequence[str] = ()) -> Session:
        """Return the first session if nobody plays it yet, else a new one at a table."""
        session, self._first_session = self._first_session, None
        if session is None:
            setup = self.setup or self._build_cached_table(game_name, tuple(against))
            session = Session.create(setup, self.folder / setup.game.name, self.config.seed)
        return self._mark_used_and_evict(session)

    def get_session(self, session_id: str) -> Session:
        """Return a session, from its file if not in memory; raise ConfigError if that fails."""
        if self._first_session is not None and self._first_session.session_id == session_id:
            return self.begin_session()
        session = self.open_sessions.get(session_id)
        if session is None:
            path = self._find_session_file(session_id)
            setup = self.setup or rebuild_table_setup(read_session(path).table, self._option_dirs)
            session = Session.resume(path, setup)
        return self._mark_used_and_evict(session)

    def _mark_used_and_evict(self, session: Session) -> Session:
        """Mark a session as the last used; if too many are in memory, close the least recent."""
        self.open_sessions[session.session_id] = session
        self.open_sessions.move_to_end(session.session_id)
        if len(self.open_sessions) > MAX_SESSIONS:
            self.open_sessions.popitem(last=False)[1].close()
        return session

    def _find_session_file(self, session_id: str | None) -> Path:
        path = next(self.folder.glob(f"*/{session_id}.jsonl"), None)
        if path is None:
            raise ConfigError("The file of this session is gone.")
        return path

    def load_bots_for_game(self, game: Game) -> dict[str, Player]:
        """Return the bots of `conf/player` that can play a game, by name."""
        key = repr(game.to_dict())
        if key not in self._players_by_game:
            players = self._players_by_game[key] = {}
            for name in self._path_by_player:
                with suppress(ConfigError, OSError):
                    players[name] = load_player(name, game, option_folders=self._option_dirs)
        return self._players_by_game[key]

    def build_start_screen(self, last_session_id: str | None) -> dict[str, Any]:
        """Return the games with descriptions, and a summary of the visitor's last session."""
        last_session = None
        with suppress(ConfigError):
            saved = read_session(self._find_session_file(last_session_id))
            last_session = {
                "game": saved.table["game"]["name"],
                "against": format_player_counts(saved.table["against"]),
                "hands": len(saved.hands),
            }
        games = [
            {"name": name, "about": read_first_comment(path)}
            for name, path in self._path_by_game.items()
        ]
        return {"games": games, "game": self.config.game, "last": last_session}

    def get_seats_and_possible_opponents(self, game_name: str) -> dict[str, Any]:
        """Return a game's number of seats, and its possible opponents with descriptions."""
        if game_name not in self._path_by_game:
            raise RequestNotAllowedError("There is no such game.")
        game_config = compose_plain_config([f"game={game_name}"], self._option_dirs)
        game: Game = build(game_config["game"], "game", Game)
        if not isinstance(game, DisplayedGame):
            raise RequestNotAllowedError(f"{game_name} can't be played on the page.")
        names = self.load_bots_for_game(game)
        specs = [*(name for name in self.config.default_opponents if name in names), *names]
        about = {name: read_first_comment(self._path_by_player[name]) for name in specs}
        if not self.config.public:
            runs = self.folder.parent.glob(f"{game_name}/*/*/{PLAYERS_FOLDER}")
            newest_runs = sorted(runs, key=lambda path: -path.stat().st_mtime)[:MAX_RUNS]
            about |= {str(run.parent): f"your run {run.parent}" for run in newest_runs}
        players = [{"spec": spec, "about": text} for spec, text in about.items()]
        return {"seats": game.seats, "players": players}

    def _build_table_setup(self, game_name: str, against: tuple[str, ...]) -> TableSetup:
        players = self.get_seats_and_possible_opponents(game_name)["players"]
        known_specs = {player["spec"] for player in players}
        if not against or not known_specs.issuperset(against):
            raise RequestNotAllowedError("There is no such player of this game.")
        return build_table_setup(
            compose_plain_config([f"game={game_name}"], self._option_dirs),
            self._option_dirs,
            against,
            self.config.adviser,
            default_advisers=self.config.default_advisers,
        )


def _is_displayed_game(name: str, option_dirs: Sequence[Path]) -> bool:
    """Return whether a game option's class can be displayed; True if its file names no class."""
    with suppress(ConfigError):
        target, _ = split_target_and_settings(load_option("game", name, option_dirs), "game")
        return issubclass(target, DisplayedGame)
    return True  # an option that changes settings of another one, which names the class
