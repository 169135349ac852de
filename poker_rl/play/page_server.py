"""HTTP server of the page, on which each visitor plays a session.

A visitor sees only what the visitor's seat may know. A GET makes no move, but may resume a saved
session. A POST contains a small JSON object, and returns the new view if it changes the session. A
request that is not allowed gets a 4xx status and `{"error": sentence}`. A request made from an
outdated view gets status 409 and the present view. `RequestGuard` rejects POSTs of other pages.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from itsdangerous import BadSignature, URLSafeSerializer
from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from poker_rl.config.input_checks import ConfigError
from poker_rl.play.live_hand import RequestNotAllowedError
from poker_rl.play.range_explorer import explore_ranges
from poker_rl.play.session import Session, StaleRequestError
from poker_rl.play.session_statistics import summarize_sessions_by_table
from poker_rl.play.visitor_sessions import SessionStore
from poker_rl.storage.terminal_printing import format_os_error

MAX_BODY_BYTES = 4096  # a long sequence of actions takes a few hundred bytes
PAGES_FOLDER = Path(__file__).parent / "pages"
COOKIE_SECONDS = 365 * 24 * 3600
KEEP_ALIVE_SECONDS = 75  # connections stay open while a person thinks; uvicorn's default is 5
RESPONSE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

RequestData = dict[str, Any]  # JSON object in a POST, or parameters in the path of a GET


@dataclass
class PageServer:
    """HTTP endpoints of the page; they answer one request at a time."""

    sessions: SessionStore
    cookie_key: str  # signs the cookie, which contains only the id of a session
    # It differs between servers of one host, since browsers send cookies to all ports of a host.
    cookie_name: str
    url_prefix: str = ""  # prefix of all URL paths, such as `/token`

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # neither sessions nor Hydra are thread-safe
        self._signer = URLSafeSerializer(self.cookie_key, salt="session")

    def create_application(self, hosts: frozenset[str]) -> RequestGuard:
        """Create the ASGI application; it answers requests to the host names `hosts` only."""

        def answer_error(status: int, message: str, **more: Any) -> JSONResponse:
            return JSONResponse({"error": message, **more}, status)

        internal_error = "Internal error; see the terminal of the server."
        exception_handlers: dict[Any, Any] = {
            HTTPException: lambda _, error: answer_error(error.status_code, error.detail),
            StaleRequestError: lambda _, error: answer_error(409, str(error), view=error.view),
            ConfigError: lambda _, error: answer_error(410, str(error)),
            RequestNotAllowedError: lambda _, error: answer_error(422, str(error)),
            OSError: lambda _, error: answer_error(503, format_os_error(error)),
            Exception: lambda *_: answer_error(500, internal_error),
        }
        routes = [Mount(self.url_prefix, routes=self._build_routes())]
        return RequestGuard(Starlette(routes=routes, exception_handlers=exception_handlers), hosts)

    def _build_routes(self) -> list[Route | Mount]:
        sessions, route, in_session = (
            self.sessions,
            self._create_route,
            self._create_route_in_session,
        )
        config, setup = sessions.config, sessions.setup
        environment = Environment(loader=FileSystemLoader(PAGES_FOLDER), autoescape=True)
        page_html = environment.get_template("page.html").render(
            title="poker-rl" if setup is None else setup.game.name.replace("_", " "),
            has_start_screen=setup is None,
            has_results=not config.public,
        )
        routes = [
            route("/", lambda *_: HTMLResponse(page_html)),
            route("/view", lambda one, _: one and sessions.get_session(one).build_view()),
            route("/begin", self._begin_session, "POST"),
            in_session("/review/{hand}", lambda one, data: one.review_hand(_get_hand_number(data))),
            in_session("/hands/{kind}", lambda one, data: one.format_all_hands(data["kind"])),
            in_session("/hands/{kind}/{hand}", _format_hand),
            in_session("/act", _act, "POST"),
            in_session("/next", lambda one, data: one.deal_next_hand(_get_turn_id(data)), "POST"),
            in_session("/hint", lambda one, data: one.get_hint(_get_turn_id(data)), "POST"),
            in_session("/ranges", self._explore_ranges, "POST"),
        ]
        if setup is None:
            routes += [
                route("/start", lambda session_id, _: sessions.build_start_screen(session_id)),
                route(
                    "/players/{game}",
                    lambda _, data: sessions.get_seats_and_possible_opponents(data["game"]),
                ),
            ]
        if not config.public:  # visitors of a public server must not see each other's results
            routes.append(
                route("/results", lambda *_: summarize_sessions_by_table(sessions.folder))
            )
        return [*routes, Mount("/static", StaticFiles(directory=PAGES_FOLDER))]

    def _create_route(
        self, path: str, answer: Callable[[str | None, RequestData], Any], method: str = "GET"
    ) -> Route:
        """Create a route that answers its requests by calling `answer` under a lock.

        `answer` gets the visitor's session id, or None, and the data of the request. It returns a
        response, text, or plain values that are sent as JSON.
        """

        def answer_under_lock(session_id: str | None, request_data: RequestData) -> Response:
            with self._lock:
                answered = answer(session_id, request_data)
            if isinstance(answered, Response):
                return answered
            is_text = isinstance(answered, str)
            return PlainTextResponse(answered) if is_text else JSONResponse(answered)

        async def endpoint(request: Request) -> Response:
            is_post = request.method == "POST"
            request_data = await _read_json_body(request) if is_post else request.path_params
            session_id = None  # stays None without a validly signed cookie
            with suppress(BadSignature):
                session_id = str(self._signer.loads(request.cookies.get(self.cookie_name, "")))
            return await run_in_threadpool(answer_under_lock, session_id, request_data)

        return Route(path, endpoint, methods=[method])

    def _create_route_in_session(
        self, path: str, answer: Callable[[Session, RequestData], Any], method: str = "GET"
    ) -> Route:
        """Create a route whose `answer` gets the visitor's session; without one, status 404."""

        def answer_from_session(session_id: str | None, request_data: RequestData) -> Any:
            if session_id is None:
                raise HTTPException(404, "You have no table yet; a POST to begin opens one.")
            return answer(self.sessions.get_session(session_id), request_data)

        return self._create_route(path, answer_from_session, method)

    def _begin_session(self, _: str | None, request_data: RequestData) -> Response:
        if self.sessions.setup is None:
            against = _get_list(request_data, "against", str)
            session = self.sessions.begin_session(_get_value(request_data, "game", str), against)
        else:
            session = self.sessions.begin_session()
        response = JSONResponse(session.build_view())
        response.set_cookie(
            self.cookie_name,
            str(self._signer.dumps(session.session_id)),
            max_age=COOKIE_SECONDS,
            path=f"{self.url_prefix}/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _explore_ranges(self, session: Session, request_data: RequestData) -> dict[str, Any]:
        if "turn" in request_data:  # the grid is part of a hint, which must not be outdated
            session.check_request_is_current(_get_turn_id(request_data), is_over=False)
        has_actions = request_data.get("actions") is not None
        return explore_ranges(
            session.current_hand,
            self.sessions.load_bots_for_game(session.setup.game),
            _get_list(request_data, "actions", int) if has_actions else None,
            _get_value(request_data, "board", str),
            _get_list(request_data, "names", str),
        )


def create_http_server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of `app` that is not started yet; it writes only warnings to the log."""
    settings: dict[str, Any] = {"log_level": "warning", "server_header": False, "ws": "none"}
    return uvicorn.Server(uvicorn.Config(app, timeout_keep_alive=KEEP_ALIVE_SECONDS, **settings))


class RequestGuard:
    """ASGI middleware that rejects forged requests and adds security headers.

    - The Host header must contain a name of the server, which prevents DNS rebinding. `hosts` are
      these names, without a port and in lower case.
    - A POST must come from the page itself, which prevents CSRF. The header Sec-Fetch-Site shows
      where it comes from; if a browser does not send this header, Origin must equal Host.
    - The headers of answers forbid the browser to load anything from other servers, to show the
      page in a frame, to guess content types, to send a referrer and to cache.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(RESPONSE_HEADERS)
            await send(message)

        rejection = self._find_rejection(scope) if scope["type"] == "http" else None
        await (rejection or self.app)(scope, receive, send_with_headers)

    def _find_rejection(self, scope: Scope) -> JSONResponse | None:
        """Return the answer to a request that must be rejected, else None."""
        headers = Headers(scope=scope)
        host, host_name = headers.get("host", ""), None
        with suppress(ValueError):
            host_name = urlsplit(f"//{host}").hostname
        if host_name not in self.hosts:
            return JSONResponse({"error": "This server does not have that name."}, 421)
        is_same_origin = headers.get("origin", "").partition("://")[2] == host
        if "sec-fetch-site" in headers:
            is_same_origin = headers["sec-fetch-site"] in ("same-origin", "none")
        if is_same_origin or scope["method"] in ("GET", "HEAD"):
            return None
        return JSONResponse({"error": "Only the page itself may ask for this."}, 403)


async def _read_json_body(request: Request) -> RequestData:
    """Return the JSON object in the body of a POST; raise an HTTP error if there is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "The body has to be application/json.")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise HTTPException(413, f"The body is longer than {MAX_BODY_BYTES} bytes.")
        request_data = json.loads(body)
    except (ClientDisconnect, ValueError, RecursionError):
        request_data = None
    if not isinstance(request_data, dict):
        raise HTTPException(400, "The body has to be a JSON object.")
    return request_data


def _get_hand_number(request_data: RequestData) -> int:
    """Return the hand number from the URL; raise an HTTP 404 error if it is not an integer."""
    try:
        return int(request_data["hand"])
    except ValueError:
        raise HTTPException(404, "Hands are numbered from 1.") from None


def _get_turn_id(request_data: RequestData) -> int:
    return int(_get_value(request_data, "turn", int))


def _format_hand(session: Session, request_data: RequestData) -> str:
    return session.format_hand(_get_hand_number(request_data), request_data["kind"])


def _act(session: Session, request_data: RequestData) -> dict[str, Any]:
    key = "to" if "to" in request_data else "action"
    number = _get_value(request_data, key, int)
    return session.act(_get_turn_id(request_data), {"to": number} if key == "to" else number)


def _get_value(request_data: RequestData, key: str, value_type: type) -> Any:
    """Return `request_data[key]`; raise an HTTP 400 error unless its type is `value_type`."""
    value = request_data.get(key)
    if type(value) is not value_type:  # isinstance would accept true as an int
        raise HTTPException(400, f"{key}: a value of another type is needed.")
    return value


def _get_list(request_data: RequestData, key: str, item_type: type) -> list[Any]:
    values: list[Any] = _get_value(request_data, key, list)
    return [_get_value({key: value}, key, item_type) for value in values]
