"""Connections to the page: never more than there are files for, and none that stays half-used."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from servers import serve

from poker_rl.config import ConfigError
from poker_rl.play import connection_limits
from poker_rl.play.connection_limits import MAX_CONNECTIONS, split_file_limit
from poker_rl.play.network_address import list_host_names
from poker_rl.play.page_server import PageEndpoints, create_application
from poker_rl.play.request_guard import RequestGuard

HEADERS = b"Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n"
WHOLE = b"GET / HTTP/1.1\r\n" + HEADERS + b"\r\n"
JSON = b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
PARTS = [WHOLE[:9], WHOLE[:-2], b"POST /begin HTTP/1.1\r\n" + HEADERS + JSON + b"{"]
LONG = 1000.0  # seconds, none of which a test waits for


@pytest.fixture
def app() -> RequestGuard:
    """The page without a table: these tests ask for nothing of one."""
    server = PageEndpoints("kuhn", None, "key", "table", "", None)  # type: ignore[arg-type]
    return create_application(server, list_host_names("127.0.0.1", [], False))


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def connect(port: int, sockets: ExitStack) -> socket.socket:
    return sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))


def answer(connection: socket.socket) -> bytes:
    """Send a whole request; the first line of the answer, all of which is read."""
    connection.sendall(WHOLE)
    read = b""
    while not read.endswith(b"</html>"):
        piece = connection.recv(65536)
        assert piece, read
        read += piece
    return read.partition(b"\r\n")[0]


def is_closed(connection: socket.socket) -> bool:
    try:
        return not connection.recv(1)
    except ConnectionError:
        return True


@pytest.mark.parametrize("part", [b"", *PARTS])
def test_a_request_has_to_arrive_in_time(
    app: RequestGuard, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch, part: bytes
) -> None:
    monkeypatch.setattr(connection_limits, "REQUEST_TIMEOUT_SECONDS", 0.5)
    with serve(app) as (_, port):
        connection = connect(port, sockets)
        connection.sendall(part)
        assert is_closed(connection)


def test_others_wait_for_a_place(
    app: RequestGuard, sockets: ExitStack, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(connection_limits, "REQUEST_TIMEOUT_SECONDS", LONG)
    with serve(app, most=2) as (server, port):
        first = [connect(port, sockets) for _ in range(6)]
        last = connect(port, sockets)
        for one in first:
            one.sendall(PARTS[0])
        for one in first:
            assert len(server.server_state.connections) <= 2
            one.close()
        assert answer(last) == b"HTTP/1.1 200 OK"
    assert capsys.readouterr().err.splitlines() == [
        "WARNING:  all 2 connections are in use; others wait until one is closed"
        " (`ulimit -n` allows more or fewer)"
    ]


@pytest.mark.parametrize(
    ("files", "shared"),
    [(64, (10, 10)), (1024, (100, 300)), (resource.RLIM_INFINITY, (100, MAX_CONNECTIONS))],
)
def test_files_are_shared(
    monkeypatch: pytest.MonkeyPatch, files: int, shared: tuple[int, int]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert split_file_limit(100) == shared


def test_too_few_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (47, 47))
    with pytest.raises(ConfigError, match="ulimit -n: 47 open files; the page needs 48 or more"):
        split_file_limit(100)
