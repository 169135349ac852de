"""Tables, sessions and servers for tests of the play page."""

import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from commands import PROGRAM, replace_settings

from poker_rl.config.build import convert_fields
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, list_option_dirs, read_plain_yaml
from poker_rl.games import load_game
from poker_rl.play.page_server import PageServer, create_http_server
from poker_rl.play.play_launcher import PlayConfig, create_listener, list_allowed_hosts
from poker_rl.play.table_setup import NamedPlayer, TableSetup
from poker_rl.play.visitor_sessions import SessionStore
from poker_rl.players import load_player


def make_table_setup(game, *names):
    """Return a table setup with these players, the first of which gives advice."""
    played = load_game(game)
    seated = [NamedPlayer(name, load_player(name, played)) for name in names]
    return TableSetup(played, seated, seated[0])


def make_sessions(folder, setup=None, **settings):
    """Return sessions saved in `folder/play`; without a setup, they begin at the start screen."""
    settings = {"outputs": str(folder / "play"), **settings}
    settings = read_plain_yaml(SHIPPED_OPTION_DIR / "play.yaml") | settings
    config = PlayConfig(**convert_fields(PlayConfig, settings, "", {}))
    return SessionStore(config, list_option_dirs(None), setup)


def make_app(sessions, url_prefix=""):
    """Return the web application of a play page with these sessions."""
    server = PageServer(sessions, "key", "table", url_prefix)
    return server.create_application(list_allowed_hosts("127.0.0.1", ["Proxy.example"], False))


def play_on(view, post):
    """Make the last legal move at each decision until the hand is over; return the final view."""
    while view["phase"] == "act":
        view = post("act", {"turn": view["turn"], "action": view["moves"][-1]["action"]})
    return view


@dataclass
class ServerProcess:
    """Server of the play page in its own process."""

    process: subprocess.Popen[str]
    port: int
    path: str

    def client(self, cookies=None):
        """Return an HTTP client of this server on the same machine."""
        base = f"http://127.0.0.1:{self.port}{self.path}"
        headers = {"sec-fetch-site": "same-origin"}
        cookies = dict(cookies or {})
        return httpx.Client(base_url=base, headers=headers, cookies=cookies, timeout=None)


@contextmanager
def serve(app):
    """Run a server in a thread; yield it and its port."""
    listener = create_listener("127.0.0.1", 0, False)
    server = create_http_server(app)
    thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
    port = listener.getsockname()[1]
    thread.start()
    yield server, port
    server.should_exit = True
    thread.join(20)


def start_server(folder, *arguments):
    """Start `poker-rl play` in this folder, and return it once it has printed its address."""
    command = [*PROGRAM, "play", *replace_settings(["port=0"], *arguments)]
    options = {"cwd": folder, "env": os.environ | {"PYTHONUNBUFFERED": "1"}, "text": True}
    process = subprocess.Popen(command, **options, stdout=subprocess.PIPE)
    for line in process.stdout:
        match = re.match(r"http://.*:(\d+)(/.*)", line)
        if match:
            return ServerProcess(process, int(match[1]), match[2])
    raise AssertionError(f"no address was printed, exit code {process.wait()}")


def stop_server(server):
    """Stop the server with Ctrl-C; return its exit code."""
    server.process.send_signal(signal.SIGINT)
    return server.process.wait()
