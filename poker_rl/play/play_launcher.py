"""`poker-rl play`: build the table from the settings; serve the page or play in the terminal."""

from __future__ import annotations

import hmac
import json
import secrets
import shlex
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from poker_rl.config.compose import compose_plain_config
from poker_rl.config.input_checks import ConfigError, Range, Seed, error_prefix
from poker_rl.config.option_files import list_user_option_dirs
from poker_rl.config.plugins import check_optional_packages
from poker_rl.play.session import Session
from poker_rl.play.session_file import read_session
from poker_rl.play.table_setup import TableSetup, build_table_setup, rebuild_table_setup
from poker_rl.play.terminal import run_input_loop
from poker_rl.storage.disk import (
    atomic_replacement,
    check_file_path,
    check_folder_path,
    create_writable_folder,
)
from poker_rl.storage.terminal_printing import print_line
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import read_run_config

PAGE_PACKAGES = ("itsdangerous", "jinja2", "starlette", "uvicorn")
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
WILDCARD_HOSTS = ("0.0.0.0", "::")
# Reserved address (RFC 5737), used to find this machine's own address: connecting a UDP socket
# sends nothing, but the system gives the socket the address from which it would send.
PROBE_ADDRESS = "192.0.2.1"


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
    default_advisers: list[str]
    default_opponents: list[str]


def start_play(
    config: PlayConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Play in the terminal, or serve the page, until the user stops it."""
    if config.ui == "page":
        check_optional_packages("play", "ui: the page", *PAGE_PACKAGES)
    if config.run is not None and group_config is not None:
        raise ConfigError("game: is that of the run; give run=FOLDER or game=NAME, not both")
    has_choice = bool(group_config is not None or config.run or config.against)
    if config.session is not None and (has_choice or config.adviser or config.seed is not None):
        raise ConfigError(
            "session: has its own game, players and seed; leave out game, run, against, adviser"
            " and seed"
        )
    prepare_process("cpu", 1, config.seed or 0)  # single decisions are fastest on the CPU
    setup = None
    if config.session is not None:
        with error_prefix("session"):
            table = read_session(Path(config.session)).table
        setup = rebuild_table_setup(table, option_dirs)
    elif has_choice or config.ui == "terminal":
        if config.run is not None:
            group_config = read_run_config(Path(config.run), "run")
        setup = build_table_setup(
            group_config or compose_plain_config([f"game={config.game}"], option_dirs),
            option_dirs,
            config.against or ([] if config.run is None else [config.run]),
            config.adviser,
            config.default_opponents,
            config.default_advisers,
        )
    if setup is not None:
        with error_prefix("outputs"):
            check_folder_path(Path(config.outputs) / setup.game.name)
    if setup is not None and config.ui == "terminal":
        play_in_terminal(config, setup, option_dirs)
    else:
        serve_page(config, setup, option_dirs)


def play_in_terminal(config: PlayConfig, setup: TableSetup, option_dirs: Sequence[Path]) -> None:
    """Create or resume a session, and play it in the terminal until the person quits."""
    folder = Path(config.outputs) / setup.game.name
    if config.session is None:
        with error_prefix("outputs"):
            create_writable_folder(folder)
        session = Session.create(setup, folder, config.seed)
    else:
        session = Session.resume(Path(config.session), setup)
    path = config.session or folder / f"{session.session_id}.jsonl"
    flags = [f"--config-dir={option_dir}" for option_dir in list_user_option_dirs(option_dirs)]
    try:
        run_input_loop(session, shlex.join([f"session={path}", *flags]))
    finally:
        session.close()


def serve_page(config: PlayConfig, setup: TableSetup | None, option_dirs: Sequence[Path]) -> None:
    """Serve the page until Ctrl-C; if `setup` is None, visitors choose game and opponents."""
    from poker_rl.play.page_server import PageServer, create_http_server
    from poker_rl.play.visitor_sessions import SessionStore

    listener = create_listener(config.host, config.port, config.public)
    folder, port = Path(config.outputs), listener.getsockname()[1]
    cookie_key = load_or_create_cookie_key(folder)
    url_prefix = f"/{derive_url_token(cookie_key)}" if config.public else ""
    first_session, table_digest = None, "start"
    if setup is None:
        print_line("Choose game and opponents on the page.")
    else:
        # The cookie's name depends on the table, so that a browser keeps one session per table.
        table_text = json.dumps(setup.to_dict(), sort_keys=True)
        table_digest = sha256(table_text.encode()).hexdigest()[:8]
        if config.session is not None:
            first_session = Session.resume(Path(config.session), setup)
        print_line(f"{setup.game.name} against {', '.join(setup.player_names[1:])}")
    sessions = SessionStore(config, option_dirs, setup, first_session)
    server = PageServer(sessions, cookie_key, f"poker_rl_{port}_{table_digest}", url_prefix)
    hosts = list_allowed_hosts(config.host, config.extra_host_names, config.public)
    print_line(
        f"Open this address in a browser; Ctrl-C stops it. Finished hands are saved in {folder}\n"
        + format_url(config.host, port, url_prefix)
    )
    with suppress(KeyboardInterrupt):
        create_http_server(server.create_application(hosts)).run([listener])


def create_listener(host: str, port: int, allow_public: bool) -> socket.socket:
    """Create a listening socket; raise ConfigError for a public host without `allow_public`."""
    if not (allow_public or host in LOOPBACK_HOSTS):
        raise ConfigError(
            f"host: {host} may be reached by others, which needs public=true; allowed without:"
            f" {', '.join(LOOPBACK_HOSTS)}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    except OSError as error:
        raise ConfigError(f"host, port: {error.strerror}; port=0 takes a free port") from None


def list_allowed_hosts(host: str, extra_names: Sequence[str], allow_public: bool) -> frozenset[str]:
    """Return the host names, in lower case, that a request may contain in its Host header."""
    own_names = {socket.gethostname(), find_network_address()} if allow_public else set()
    return frozenset(
        name.lower().strip("[]") for name in {*LOOPBACK_HOSTS, host, *own_names, *extra_names}
    )


def format_url(host: str, port: int, prefix: str) -> str:
    """Return the URL of the page; this machine's address replaces a wildcard host."""
    host_name = find_network_address() if host in WILDCARD_HOSTS else host
    return f"http://{f'[{host_name}]' if ':' in host_name else host_name}:{port}{prefix}/"


def find_network_address() -> str:
    """Return this machine's IPv4 address in its network, or its name if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((PROBE_ADDRESS, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def load_or_create_cookie_key(folder: Path) -> str:
    """Return the key for signing cookies, read from a file in `folder`; create it if missing."""
    path = folder / "key"
    with error_prefix("outputs"):
        create_writable_folder(folder)
    check_file_path(path)
    if not path.exists():
        with atomic_replacement(path, 0o600) as temporary_path:
            temporary_path.write_text(secrets.token_urlsafe(32))
    return path.read_text()


def derive_url_token(cookie_key: str) -> str:
    """Return the secret token in a public server's URL; it depends only on the cookie key."""
    return hmac.digest(cookie_key.encode(), b"address", "sha256").hex()
