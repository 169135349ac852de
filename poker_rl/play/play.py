"""What `poker-rl play` does once settings are read: a table, and a page or a terminal.

The page's address is printed first, and what takes seconds to import is imported after it: the
browser that is opened meanwhile waits for its answer.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.files import open_file
from poker_rl.config.options import find_option, of_the_user
from poker_rl.config.root import FILE_NAME
from poker_rl.config.settings import Count, Range, Refused, Seed, about
from poker_rl.play.address import known_names, listening, shown
from poker_rl.play.journal import LARGEST
from poker_rl.storage.disk import at, demand_file, demand_folder, replaced, say
from poker_rl.storage.folder import read_folder

if TYPE_CHECKING:
    from socket import socket

    from poker_rl.play.session import Session
    from poker_rl.play.table import Table
    from poker_rl.players.player import Player

PACKAGES = {
    "page": ("itsdangerous", "jinja2", "starlette", "uvicorn"),
    "terminal": ("rich",),
}
KEY = "key"  # the file of the cookies' key, in the folder of all sessions
SHORTEST_KEY = 32  # bytes
OPTION = re.compile(r"[\w-]+")  # what a player of conf/player is called


@dataclass(kw_only=True, frozen=True)
class Play:
    """The settings of `poker-rl play`."""

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
    names: list[str]
    sessions: Count
    opponents: list[str]


def play(settings: dict[str, Any], chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> None:
    """Play in the terminal, or serve the page until it is stopped.

    Args:
        chosen: the settings of `game` if it was given, None otherwise.
        conf: the folders of the options.

    Raises:
        Refused: if any setting can't be accepted, or packages are missing.
    """
    asked = Play(**convert_fields(Play, settings, "", {}))
    if any(find_spec(name) is None for name in PACKAGES[asked.ui]):
        raise Refused(f"the {asked.ui} needs more packages: pip install 'poker-rl[play]'")
    demand_there(asked, chosen, conf)
    if asked.ui == "terminal":
        in_terminal(asked, table_of(asked, chosen, conf), conf)
        return
    with listening(asked.host, asked.port, asked.public) as listener:
        prefix = f"/{token_in(Path(asked.outputs))}" if asked.public else ""
        say(shown(asked.host, listener.getsockname()[1], prefix))
        table = table_of(asked, chosen, conf)
        serve(asked, listener, prefix, table, Path(asked.outputs) / table.game.name)


def demand_there(asked: Play, chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> None:
    """Refuse what can be seen to be wrong before the seconds that it takes to load the players.

    Raises:
        Refused: naming the setting.
    """
    if asked.run is not None and chosen is not None:
        raise Refused("game: is that of the run; give run=FOLDER or game=NAME, not both")
    if asked.run is not None and asked.session is not None:
        raise Refused("run: a session has a game and players of its own; leave run out")
    if asked.run is not None:
        with about("run"):
            read_folder(Path(asked.run))
    if asked.session is not None:
        begun(Path(asked.session))
    if "you" in (*asked.against, asked.adviser):
        raise Refused("against: a table has one person; all others are players, bots or runs")
    for key, names in (("against", asked.against), ("adviser", [asked.adviser or ""])):
        for name in (one.removesuffix(":greedy") for one in names):
            if OPTION.fullmatch(name) and not Path(name).is_dir():
                with about(key):
                    find_option("player", name, conf)
    game: Any = None if chosen is None else chosen.get("game")
    seats = game.get("seats") if isinstance(game, Mapping) else None  # some rules know their own
    if isinstance(seats, int) and len(asked.against) > 1:
        demand_opponents(asked.against, seats, game.get("name"))


def demand_opponents(against: Sequence[str], seats: int, game: str) -> None:
    """Refuse more or fewer opponents than there are other seats."""
    if len(against) != seats - 1:
        raise Refused(
            f"against: {len(against)} opponents; {game} needs {seats - 1}, one for each other"
            " seat, or a single one for all"
        )


def table_of(asked: Play, chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> Table:
    """The table that was asked for, with everybody but the person at it.

    Raises:
        Refused: if a seat has no player, or a player can't play this game.
    """
    from poker_rl.games.game import Game
    from poker_rl.play.table import Seated, Table
    from poker_rl.players.load import full_spec
    from poker_rl.training.device import prepare_device
    from poker_rl.training.opponents import player_loader
    from poker_rl.training.run_config import read_config

    kept = None if asked.session is None else begun(Path(asked.session))
    if asked.run is not None:
        cfg: Mapping[str, Any] = read_config(Path(asked.run), "run")
    elif chosen is not None:
        cfg = chosen
    else:
        from poker_rl.config.compose import composed

        cfg = composed([f"game={asked.game if kept is None else kept['game']['name']}"], conf)
        if kept is not None:  # whose settings may have been changed where it was begun
            cfg["game"] = cfg["game"] | kept["game"]
    device = prepare_device("cpu", 1, asked.seed or 0)  # a decision at a time is fastest there
    game: Game = build_as(Game, cfg["game"], "game")
    if not FILE_NAME.fullmatch(game.name):
        raise Refused(f"game.name: {game.name!a} can't be the name of a folder")
    load = player_loader(game, device, conf)
    against = asked.against or (kept["against"] if kept else [])
    against = against or [asked.run or first_of(asked.opponents, load)]
    if len(against) == 1:
        against = against * (game.seats - 1)
    demand_opponents(against, game.seats, game.name)
    adviser = asked.adviser or (kept["adviser"] if kept else against[0])
    players: dict[str, Seated] = {}

    def seated(key: str, name: str) -> Seated:
        if name not in players:
            with about(key):
                players[name] = Seated(full_spec(name), load(name))
        return players[name]

    opponents = [seated("against", name) for name in against]
    return Table(game, opponents, None if adviser is None else seated("adviser", adviser))


def first_of(names: Sequence[str], load: Callable[[str], Player]) -> str:
    """The first of these players that plays the game.

    Raises:
        Refused: if none does.
    """
    for name in names:
        with suppress(Refused):
            load(name)
            return name
    raise Refused("against: give a player; none of `opponents` plays this game")


def begun(journal: Path) -> dict[str, Any]:
    """What the first line of a session's file says of its table: game, opponents and adviser.

    Raises:
        Refused: if it is no such file.
    """
    with about("session"):
        try:
            with open_file(journal, LARGEST) as lines:
                table: dict[str, Any] = json.loads(lines.readline())["table"]
            names = [table["game"]["name"], *table["against"], table["adviser"] or ""]
            in_words = all(isinstance(name, str) for name in names)
            if not in_words or not FILE_NAME.fullmatch(names[0]):
                raise KeyError
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise Refused(f"{journal} is no file of a session") from None
    return table


def in_terminal(asked: Play, table: Table, conf: Sequence[Path]) -> None:
    """Play a session until its person leaves."""
    from poker_rl.play.session import Session
    from poker_rl.play.terminal import sit_down

    folder = Path(asked.outputs) / table.game.name
    demand_folder(folder)
    if asked.session is None:
        session = Session.new(table, folder, asked.seed)
        file = folder / f"{session.name}.jsonl"
    else:
        file = Path(asked.session)
        session = Session.resumed(file, table)
    try:
        with warming_up(table):
            flags = [f"--config-dir={one}" for one in of_the_user(conf)]
            sit_down(session, shlex.join([f"session={file}", *flags]))
    finally:
        session.close()


def serve(asked: Play, listener: socket, prefix: str, table: Table, folder: Path) -> None:
    """Answer until stopped.

    Args:
        prefix: of all addresses, which others have to know.
    """
    from poker_rl.play.connections import PageServer, share_files
    from poker_rl.play.server import Server, Sittings, application
    from poker_rl.play.session import Session

    demand_folder(folder)
    sessions, connections = share_files(asked.sessions)
    port = listener.getsockname()[1]
    resumed = None if asked.session is None else Session.resumed(Path(asked.session), table)

    def new() -> Session:
        return Session.new(table, folder, asked.seed)

    def back(name: str) -> Session:
        return Session.resumed(folder / f"{name}.jsonl", table)

    # Who plays another game or others in between finds the session of each table again.
    digest = sha256(json.dumps(table.state(), sort_keys=True).encode()).hexdigest()[:8]
    sittings = Sittings(new, back, sessions)
    if resumed is not None:
        sittings.offer(resumed)
    server = Server(
        table.game.name.replace("_", " "),
        sittings,
        key_in(Path(asked.outputs)),
        f"poker_rl_{port}_{digest}",
        prefix,
    )
    app = application(server, known_names(asked.host, asked.names, asked.public))
    say(
        f"{table.game.name} against {', '.join(table.names()[1:])}\n"
        f"Open the address in a browser; Ctrl-C ends it. Finished hands are kept in {folder}"
    )
    with suppress(KeyboardInterrupt), warming_up(table):
        PageServer(app, connections).run([listener])


@contextmanager
def warming_up(table: Table) -> Iterator[None]:
    """Play a hand beside, so that what is compiled or solved once is so before somebody waits.

    Who leaves at once waits for the move that is being played: a process that ends while one of
    its threads is inside torch is aborted.
    """
    left = threading.Event()
    hand = threading.Thread(target=warm_up, args=(table, left))
    hand.start()
    try:
        yield
    finally:
        left.set()
        hand.join()


def warm_up(table: Table, left: threading.Event) -> None:
    """Play a hand with a hint at each move, and review it, unless everybody has `left`."""
    from poker_rl.play.session import Session

    session = Session.new(table, None, 0)
    view = session.view()
    while view["phase"] == "act":
        if left.is_set():
            return
        if table.adviser is not None:
            session.hint(view["turn"])
        view = session.act(view["turn"], view["moves"][0]["action"])
    if not left.is_set():
        session.review(view["hand"])


def key_in(folder: Path) -> str:
    """The key of the cookies, drawn at the first start and kept, so that sessions outlive a server.

    A file that is too short for one, as a crash at the first start may leave it, is written anew.

    Raises:
        OSError: naming the file, if it can't be kept.
    """
    path = folder / KEY
    demand_folder(folder)
    demand_file(path)
    with at(path):
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and len(kept := path.read_bytes()) >= SHORTEST_KEY:
            return kept.decode("latin-1")
        with replaced(path, 0o600) as beside:
            beside.write_text(secrets.token_urlsafe(SHORTEST_KEY))
        return path.read_text()


def token_in(folder: Path) -> str:
    """The token of a public address, of the kept key: a cookie leads back to this address alone."""
    return hmac.digest(key_in(folder).encode(), b"address", "sha256").hex()
