"""Server of the page with limits on the number of connections and on the time of a request.

uvicorn alone has neither: its `limit_concurrency` refuses requests, but connections are accepted
until the process is out of file descriptors; and uvicorn waits without limit for a client that
sends or reads slowly.
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

from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import format_os_error

REQUEST_TIMEOUT_SECONDS = 10  # for a request to arrive in full
ANSWER_TIMEOUT_SECONDS = 10  # for the client to acknowledge sent data
KEEP_ALIVE_SECONDS = 75  # pause between requests; uvicorn's 5 are too short to think about a move
RETRY_DELAY_SECONDS = 1  # after a connection could not be accepted
MAX_CONNECTIONS = 1000
FILES_OF_PROCESS = 24  # reserved for the process itself, which has 7 files open when it starts
FILES_PER_CONNECTION = 3  # its socket, its session's file, and that file opened again to write
MIN_FILES = 48  # enough for 6 connections, as many as a browser opens


def split_file_limit(max_sessions: int) -> tuple[int, int]:
    """Divide the files that the process may open between sessions and connections.

    Returns:
        Number of sessions, at most `max_sessions`, and number of connections that may be open.

    Raises:
        ConfigError: if the process may not open enough files.
    """
    file_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if file_limit == resource.RLIM_INFINITY:
        return max_sessions, MAX_CONNECTIONS
    if file_limit < MIN_FILES:
        raise ConfigError(f"ulimit -n: {file_limit} open files; the page needs {MIN_FILES} or more")
    free_files = file_limit - FILES_OF_PROCESS
    max_sessions = min(max_sessions, free_files // 4)
    return max_sessions, min(MAX_CONNECTIONS, (free_files - max_sessions) // FILES_PER_CONNECTION)


class TimedConnection(H11Protocol):
    """HTTP connection that is closed if a request takes too long to arrive.

    Args:
        connection_slots: semaphore of the open connections, released when this one is lost.
    """

    def __init__(self, connection_slots: asyncio.Semaphore, **protocol_options: Any) -> None:
        super().__init__(**protocol_options)
        self._connection_slots = connection_slots
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._update_deadline()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connection_slots.release()
        if self._deadline is not None:
            self._deadline.cancel()

    def _update_deadline(self) -> None:
        """Start the time limit while a request is incomplete; stop it when it is complete."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._deadline is None:
                self._deadline = self.loop.call_later(REQUEST_TIMEOUT_SECONDS, self.transport.abort)
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class PageServer(uvicorn.Server):
    """uvicorn server with a limit on open connections; further ones wait for a free slot.

    Args:
        app: the ASGI application.
        max_connections: number of connections that may be open at once.
    """

    def __init__(self, app: ASGIApp, max_connections: int) -> None:
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
        self._max_connections = max_connections
        self._has_warned = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and accept connections in a task of this class; asyncio would set no limit."""
        assert sockets
        await super().startup([])
        self._accepting = asyncio.create_task(self._accept_connections(*sockets))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections and wait for the open ones."""
        self._accepting.cancel()
        await super().shutdown(sockets)

    async def _accept_connections(self, listener: socket.socket) -> None:
        loop, connection_slots = (
            asyncio.get_running_loop(),
            asyncio.Semaphore(self._max_connections),
        )
        listener.setblocking(False)

        def create_connection() -> TimedConnection:
            return TimedConnection(
                connection_slots,
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )

        while True:
            if connection_slots.locked():
                self._warn_once(f"all {self._max_connections} connections are in use")
            await connection_slots.acquire()
            try:
                accepted_socket, _ = await loop.sock_accept(listener)
                if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux then closes the connection
                    milliseconds = 1000 * ANSWER_TIMEOUT_SECONDS
                    accepted_socket.setsockopt(
                        socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds
                    )
                await loop.connect_accepted_socket(create_connection, accepted_socket)
            except OSError as error:  # such as no file descriptor left
                connection_slots.release()
                self._warn_once(format_os_error(error))
                await asyncio.sleep(RETRY_DELAY_SECONDS)

    def _warn_once(self, reason: str) -> None:
        """Log once why connections wait."""
        if not self._has_warned:
            logging.getLogger("uvicorn.error").warning(
                "%s; others wait until one is closed (`ulimit -n` allows more or fewer)", reason
            )
        self._has_warned = True
