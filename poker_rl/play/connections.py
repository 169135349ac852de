"""Connections to the page: a bound on how many are open, and time limits for what they carry.

uvicorn's `limit_concurrency` refuses requests, but accepts any number of connections until the
process is out of file descriptors, and it waits for ever for the rest of a request and for whoever
does not read an answer.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from poker_rl.config.settings import Refused
from poker_rl.storage.disk import error_line

REQUEST_SECONDS = 10  # for a request to arrive, from its first byte or the connection on
ANSWER_SECONDS = 10  # for a part of an answer to be taken
KEEP_ALIVE_SECONDS = 75  # between requests: people think for longer than uvicorn's 5
RETRY_SECONDS = 1
MOST_CONNECTIONS = 1000
OWN_FILES = 24  # of the process itself; it has 7 open when it starts
FILES_EACH = 3  # of a connection: its socket, its session's file, and that once more to write to it
FEWEST_FILES = 48  # which leave 6 connections, as many as a browser opens


def share_files(sessions: int) -> tuple[int, int]:
    """Return how many sessions and connections may be open, of these sessions at most.

    Raises:
        Refused: if the process may not open enough files.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return sessions, MOST_CONNECTIONS
    if files < FEWEST_FILES:
        raise Refused(f"ulimit -n: {files} open files; the page needs {FEWEST_FILES} or more")
    free = files - OWN_FILES
    sessions = min(sessions, free // 4)
    return sessions, min(MOST_CONNECTIONS, (free - sessions) // FILES_EACH)


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive in time.

    Args:
        free: a place in it is given back when the connection is lost.
    """

    def __init__(self, free: asyncio.Semaphore, **others: Any) -> None:
        super().__init__(**others)
        self._free = free
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._free.release()
        if self._deadline is not None:
            self._deadline.cancel()

    def _limit_time(self) -> None:
        """Start the time limit if part of a request is missing; stop it if all of it is there."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._deadline is None:
                self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class PageServer(uvicorn.Server):
    """uvicorn's server with a bound on connections; further ones wait until one is closed.

    Args:
        most: connections that may be open at once.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        super().__init__(config)
        self._most = most
        self._warned = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections here: asyncio's own loop would accept all that come."""
        assert sockets
        await super().startup([])
        self._accepting = asyncio.create_task(self._accept(*sockets))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections and let those end that are open."""
        self._accepting.cancel()
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket) -> None:
        loop, free = asyncio.get_running_loop(), asyncio.Semaphore(self._most)
        listener.setblocking(False)

        def connection() -> Connection:
            return Connection(
                free,
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )

        while True:
            if free.locked():
                self._warn(f"all {self._most} connections are in use")
            await free.acquire()
            try:
                accepted, _ = await loop.sock_accept(listener)
                if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux closes the connection by itself
                    milliseconds = 1000 * ANSWER_SECONDS
                    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
                await loop.connect_accepted_socket(connection, accepted)
            except OSError as error:  # such as no file descriptor left
                free.release()
                self._warn(error_line(error))
                await asyncio.sleep(RETRY_SECONDS)

    def _warn(self, why: str) -> None:
        """Print why connections wait, the first time."""
        if not self._warned:
            logging.getLogger("uvicorn.error").warning(
                "%s; others wait until one is closed (`ulimit -n` allows more or fewer)", why
            )
        self._warned = True
