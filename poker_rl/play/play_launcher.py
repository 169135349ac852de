"""`poker-rl play`: build the table from the settings, and start the page or the terminal.

The page's address is printed before the slow imports, so that the user can open it meanwhile.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from poker_rl.config.build import build_instance_of, convert_fields
from poker_rl.config.option_files import find_option_file, list_user_option_dirs
from poker_rl.config.root_config import FILE_NAME_PATTERN
from poker_rl.config.untrusted_files import open_regular_file
from poker_rl.config.validation import ConfigError, PositiveInt, Range, Seed, error_prefix
from poker_rl.play.network_address import create_listener, format_url, list_host_names
from poker_rl.play.session_journal import MAX_JOURNAL_BYTES
from poker_rl.storage.disk import (
    atomic_replacement,
    check_file_path,
    check_folder_path,
    name_path_in_errors,
    print_line,
)
from poker_rl.storage.run_folder import read_run_folder

if TYPE_CHECKING:
    from socket import socket

    import uvicorn
    from starlette.types import ASGIApp

    from poker_rl.play.live_hand import TableSetup
    from poker_rl.play.player_catalog import PlayerCatalog
    from poker_rl.play.start_screen import StartScreen
    from poker_rl.players.player import Player

PAGE_PACKAGES = ("itsdangerous", "jinja2", "starlette", "uvicorn")
COOKIE_KEY_FILE = "key"  # in the folder of all sessions
MIN_KEY_BYTES = 32
KEEP_ALIVE_SECONDS = 75  # uvicorn's 5 are too short to think about a move
OPTION_NAME_PATTERN = re.compile(r"[\w-]+")  # name of a player in conf/player


@dataclass(kw_only=True, frozen=True)
class PlayConfig:
    """Settings of `poker-rl play`."""

    ui: Literal["page", "terminal"]
    game: str
    run: str | None
    against: list[str]
    adviser: str | None
    session: str | None
    seed: Seed | None
    outputs: str
    host: str
    port: Annotated[int, Range(0, 65535)]
    public: bool
    extra_host_names: list[str]
    max_sessions: PositiveInt
    default_advisers: list[str]
    default_opponents: list[str]


def start_play(
    settings_dict: dict[str, Any],
    game_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
) -> None:
    """Play in the terminal, or serve the page until it is stopped.

    Args:
        settings_dict: the settings of conf/play.yaml, changed by the command line.
        game_config: the config with the key `game`; None without game=… on the command line.
        option_dirs: folders of YAML options, such as `conf`.

    Raises:
        ConfigError: if a setting is not allowed, or packages are missing.
    """
    config = PlayConfig(**convert_fields(PlayConfig, settings_dict, "", {}))
    if config.ui == "page" and any(find_spec(name) is None for name in PAGE_PACKAGES):
        raise ConfigError("ui: the page needs more packages: pip install 'poker-rl[play]'")
    check_config(config, game_config, option_dirs)
    if config.ui == "terminal":
        play_in_terminal(config, build_table_setup(config, game_config, option_dirs), option_dirs)
        return
    with create_listener(config.host, config.port, config.public) as listener:
        url_prefix = f"/{derive_url_token(Path(config.outputs))}" if config.public else ""
        print_line(format_url(config.host, listener.getsockname()[1], url_prefix))
        has_table = game_config is not None or config.run or config.session or config.against
        setup = build_table_setup(config, game_config, option_dirs) if has_table else None
        serve_page(config, listener, url_prefix, setup, option_dirs)


def check_config(
    config: PlayConfig, game_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Check the settings that can be checked without loading players, which is slow.

    Raises:
        ConfigError: naming the first wrong setting.
    """
    if config.run is not None and game_config is not None:
        raise ConfigError("game: is that of the run; give run=FOLDER or game=NAME, not both")
    if config.run is not None and config.session is not None:
        raise ConfigError("run: a session has its own game and players; leave run out")
    if config.run is not None:
        with error_prefix("run"):
            read_run_folder(Path(config.run))
    if config.session is not None:
        read_saved_setup(Path(config.session))
    if "you" in (*config.against, config.adviser):
        raise ConfigError("against: a table has one person; all others are players, bots or runs")
    for setting, names in (("against", config.against), ("adviser", [config.adviser or ""])):
        for name in (player_spec.removesuffix(":greedy") for player_spec in names):
            if OPTION_NAME_PATTERN.fullmatch(name) and not Path(name).is_dir():
                with error_prefix(setting):
                    find_option_file("player", name, option_dirs)
    game_fields: Any = None if game_config is None else game_config.get("game")
    # A game without the setting `seats` has a fixed number of seats, which is checked later.
    seat_count = game_fields.get("seats") if isinstance(game_fields, Mapping) else None
    if isinstance(seat_count, int) and len(config.against) > 1:
        check_opponent_count(config.against, seat_count, game_fields.get("name"))


def check_opponent_count(opponents: Sequence[str], seat_count: int, game_name: str) -> None:
    """Raise a ConfigError unless there is one opponent for each seat but the person's."""
    if len(opponents) != seat_count - 1:
        raise ConfigError(
            f"against: {len(opponents)} opponents; {game_name} needs {seat_count - 1}, one for"
            " each other seat, or a single one for all"
        )


def build_table_setup(
    config: PlayConfig, game_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> TableSetup:
    """Build the table that the settings describe: game, opponents and adviser.

    Raises:
        ConfigError: if a seat has no player, or a player can't play this game.
    """
    from poker_rl.games.game import Game
    from poker_rl.games.table_view import DisplayedGame
    from poker_rl.play.live_hand import NamedPlayer, TableSetup
    from poker_rl.players.player_loader import parse_bot_name, resolve_spec
    from poker_rl.training.device import prepare_process
    from poker_rl.training.read_run_config import read_run_config
    from poker_rl.training.run_opponents import create_player_loader

    saved_table = None if config.session is None else read_saved_setup(Path(config.session))
    if config.run is not None:
        run_config: Mapping[str, Any] = read_run_config(Path(config.run), "run")
    elif game_config is not None:
        run_config = game_config
    else:
        from poker_rl.config.compose import compose_plain_config

        run_config = compose_plain_config(
            [f"game={config.game if saved_table is None else saved_table['game']['name']}"],
            option_dirs,
        )
        if saved_table is not None:  # saved settings replace those of conf/game
            run_config["game"] = run_config["game"] | saved_table["game"]
    device = prepare_process("cpu", 1, config.seed or 0)  # single decisions are fastest on the CPU
    game: DisplayedGame = build_instance_of(Game, run_config["game"], "game")
    if not FILE_NAME_PATTERN.fullmatch(game.name):
        raise ConfigError(f"game.name: {game.name!a} can't be the name of a folder")
    load_player = create_player_loader(game, device, option_dirs)
    opponent_specs = config.against or (saved_table["against"] if saved_table else [])
    opponent_specs = opponent_specs or [
        config.run or find_playable_spec(config.default_opponents, load_player) or ""
    ]
    if not opponent_specs[0]:
        raise ConfigError("against: give a player; none of `default_opponents` plays this game")
    if len(opponent_specs) == 1:
        opponent_specs = opponent_specs * (game.seats - 1)
    check_opponent_count(opponent_specs, game.seats, game.name)
    if config.adviser is not None or saved_table is None:
        runs = (spec for spec in opponent_specs if parse_bot_name(spec) is None)
        adviser_spec = (
            config.adviser
            or next(runs, None)
            or find_playable_spec(config.default_advisers, load_player)
        )
    else:
        adviser_spec = saved_table["adviser"]
    players: dict[str, NamedPlayer] = {}

    def get_named_player(setting: str, player_spec: str) -> NamedPlayer:
        if player_spec not in players:
            with error_prefix(setting):
                players[player_spec] = NamedPlayer(
                    resolve_spec(player_spec), load_player(player_spec)
                )
        return players[player_spec]

    opponents = [get_named_player("against", name) for name in opponent_specs]
    return TableSetup(
        game, opponents, None if adviser_spec is None else get_named_player("adviser", adviser_spec)
    )


def find_playable_spec(specs: Sequence[str], load_player: Callable[[str], Player]) -> str | None:
    """Return the first of the players named in `specs` that can play the game, or None."""
    for spec in specs:
        with suppress(ConfigError):
            load_player(spec)
            return spec
    return None


def read_saved_setup(journal: Path) -> dict[str, Any]:
    """Return game, opponents and adviser from the first line of a session's file.

    Raises:
        ConfigError: if the file is not that of a session.
    """
    with error_prefix("session"):
        try:
            with open_regular_file(journal, MAX_JOURNAL_BYTES) as file:
                table: dict[str, Any] = json.loads(file.readline())["table"]
            names = [table["game"]["name"], *table["against"], table["adviser"] or ""]
            all_text = all(isinstance(name, str) for name in names)
            if not all_text or not FILE_NAME_PATTERN.fullmatch(names[0]):
                raise KeyError
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise ConfigError(f"{journal} is not a file of a session") from None
    return table


def play_in_terminal(config: PlayConfig, setup: TableSetup, option_dirs: Sequence[Path]) -> None:
    """Play a session in the terminal until the player quits."""
    from poker_rl.play.session import Session
    from poker_rl.play.terminal import run_input_loop

    folder = Path(config.outputs) / setup.game.name
    check_folder_path(folder)
    if config.session is None:
        session = Session.create(setup, folder, config.seed)
        session_file = folder / f"{session.session_id}.jsonl"
    else:
        session_file = Path(config.session)
        session = Session.resume(session_file, setup)
    try:
        with warm_up_in_background(setup):
            flags = [
                f"--config-dir={option_dir}" for option_dir in list_user_option_dirs(option_dirs)
            ]
            run_input_loop(session, shlex.join([f"session={session_file}", *flags]))
    finally:
        session.close()


def serve_page(
    config: PlayConfig,
    listener: socket,
    url_prefix: str,
    setup: TableSetup | None,
    option_dirs: Sequence[Path],
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        config: the settings.
        listener: the listening socket.
        url_prefix: prefix of all URL paths: a secret token on a public server, else "".
        setup: game, opponents and adviser; None if each visitor chooses on a start screen.
        option_dirs: folders of YAML options, such as `conf`.
    """
    import uvicorn

    from poker_rl.play.page_server import PageEndpoints, SessionStore, create_application
    from poker_rl.play.player_catalog import PlayerCatalog
    from poker_rl.play.session import Session

    folder, catalog = Path(config.outputs), PlayerCatalog(option_dirs)
    port = listener.getsockname()[1]
    if setup is None:
        start_screen = create_start_screen(config, option_dirs, catalog)
        title, table_digest = "poker-rl", "start"
        session_store = SessionStore(
            start_screen.create_session, start_screen.resume_session, config.max_sessions
        )
        print_line("Choose game and opponents on the page.")
    else:
        title, start_screen = setup.game.name.replace("_", " "), None
        game_folder = folder / setup.game.name
        check_folder_path(game_folder)
        # The cookie's name depends on the table, so a browser keeps a session for each table.
        table_text = json.dumps(setup.to_dict(), sort_keys=True)
        table_digest = sha256(table_text.encode()).hexdigest()[:8]
        session_store = SessionStore(
            lambda: Session.create(setup, game_folder, config.seed),
            lambda name: Session.resume(game_folder / f"{name}.jsonl", setup),
            config.max_sessions,
        )
        if config.session is not None:
            session_store.reserve_session(Session.resume(Path(config.session), setup))
        print_line(f"{setup.game.name} against {', '.join(setup.list_player_names()[1:])}")
    server = PageEndpoints(
        title,
        session_store,
        load_cookie_key(folder),
        f"poker_rl_{port}_{table_digest}",
        url_prefix,
        catalog,
        start_screen,
        None if config.public else folder,
    )
    app = create_application(
        server, list_host_names(config.host, config.extra_host_names, config.public)
    )
    print_line(
        "Open the address in a browser; Ctrl-C stops it. Finished hands are saved in"
        f" {folder if setup is None else game_folder}"
    )
    warm_up = nullcontext() if setup is None else warm_up_in_background(setup)
    with suppress(KeyboardInterrupt), warm_up:
        uvicorn.Server(create_server_config(app)).run([listener])


def create_server_config(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of the HTTP server; connections stay open while a player thinks."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def create_start_screen(
    config: PlayConfig, option_dirs: Sequence[Path], catalog: PlayerCatalog
) -> StartScreen:
    """Create the start screen; game and opponents in `config` are replaced by the chosen ones."""
    from poker_rl.config.compose import compose_plain_config
    from poker_rl.play.start_screen import StartScreen

    def build_chosen_table(
        game_name: str | None, against: Sequence[str], session: Path | None
    ) -> TableSetup:
        if session is not None:
            return build_table_setup(replace(config, session=str(session)), None, option_dirs)
        game_config = compose_plain_config([f"game={game_name}"], option_dirs)
        return build_table_setup(replace(config, against=list(against)), game_config, option_dirs)

    return StartScreen(
        Path(config.outputs),
        option_dirs,
        catalog,
        config.game,
        config.default_opponents,
        config.seed,
        config.public,
        build_chosen_table,
    )


@contextmanager
def warm_up_in_background(setup: TableSetup) -> Iterator[None]:
    """Play one hand in a thread, so that compiling and solving are done before the person plays.

    The end of the context waits until the thread has finished its move, because a process crashes
    if it ends while torch computes in a thread.
    """
    stop_event = threading.Event()
    warm_up_thread = threading.Thread(target=play_warm_up_hand, args=(setup, stop_event))
    warm_up_thread.start()
    try:
        yield
    finally:
        stop_event.set()
        warm_up_thread.join()


def play_warm_up_hand(setup: TableSetup, stop_event: threading.Event) -> None:
    """Play a hand with a hint at each move, and review it; end early if the event is set."""
    from poker_rl.play.session import Session

    session = Session.create(setup, None, 0)
    view = session.build_view()
    while view["phase"] == "act":
        if stop_event.is_set():
            return
        if setup.adviser is not None:
            session.get_hint(view["turn"])
        view = session.act(view["turn"], view["moves"][0]["action"])
    if not stop_event.is_set():
        session.review_hand(view["hand"])


def load_cookie_key(folder: Path) -> str:
    """Load the key that signs cookies; create its file at the first start.

    A file that is too short, for example after a crash, is replaced by a new key.

    Raises:
        OSError: naming the file, if it can't be written.
    """
    path = folder / COOKIE_KEY_FILE
    check_folder_path(folder)
    check_file_path(path)
    with name_path_in_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and len(saved_key := path.read_bytes()) >= MIN_KEY_BYTES:
            return saved_key.decode("latin-1")
        with atomic_replacement(path, 0o600) as temporary_path:
            temporary_path.write_text(secrets.token_urlsafe(MIN_KEY_BYTES))
        return path.read_text()


def derive_url_token(folder: Path) -> str:
    """Return the secret token in the URL of a public server, derived from the cookie key."""
    return hmac.digest(load_cookie_key(folder).encode(), b"address", "sha256").hex()
