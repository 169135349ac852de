"""HTTP endpoints of the page, on which each visitor plays a session.

A visitor sees only what the visitor's seat may know. A POST with a small JSON object changes the
session and returns the new view; a GET changes nothing. A request that is not allowed gets a 4xx
status and `{"error": sentence}`. A request made from an outdated view gets status 409 with the
present view. `network_access.py` checks that requests come from this page.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer
from jinja2 import Environment, FileSystemLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from poker_rl.config.validation import ConfigError
from poker_rl.play.hand_view import MoveNotAllowedError
from poker_rl.play.network_access import RequestGuard
from poker_rl.play.range_explorer import explore_ranges
from poker_rl.play.session import Session, StaleRequestError
from poker_rl.play.session_statistics import summarize_sessions
from poker_rl.play.start_screen import PlayerCatalog, StartScreen
from poker_rl.storage.console import format_os_error

MAX_BODY_BYTES = 4096  # a long line of actions takes a few hundred bytes
MAX_SESSIONS = 100  # sessions in memory at once
PAGES_FOLDER = Path(__file__).parent / "pages"
COOKIE_SECONDS = 365 * 24 * 3600


class SessionStore:
    """LRU cache of open sessions by id; a dropped session is resumed from its file when needed.

    Args:
        create_session: function that starts a new session, from the visitor's choice of game and
            opponents if there is a start screen.
        resume_session: function that resumes a session by its id; it raises a ConfigError if there
            is no such session.
        first_session: session of the first visitor; None for a new one.
        max_sessions: number of sessions in memory; the least recently used one is dropped first.
    """

    def __init__(
        self,
        create_session: Callable[..., Session],
        resume_session: Callable[[str], Session],
        first_session: Session | None = None,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        self._create_session, self._resume_session = create_session, resume_session
        self._first_session, self._max_sessions = first_session, max_sessions
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def begin_session(self, *choice: Any) -> Session:
        """Return the first session to the first visitor, and a new session to each later one."""
        session = self._first_session or self._create_session(*choice)
        self._first_session = None
        return self._keep(session)

    def get_session(self, session_id: str) -> Session:
        """Return the session with this id; raise a ConfigError if there is no such session."""
        if self._first_session is not None and self._first_session.session_id == session_id:
            return self.begin_session()
        session = self._sessions.get(session_id)
        return self._keep(session or self._resume_session(session_id))

    def _keep(self, session: Session) -> Session:
        """Make a session the most recently used one, and drop the least recently used one."""
        self._sessions[session.session_id] = session
        self._sessions.move_to_end(session.session_id)
        if len(self._sessions) > self._max_sessions:
            _, dropped_session = self._sessions.popitem(last=False)
            dropped_session.close()
        return session

    def __len__(self) -> int:
        return len(self._sessions)


@dataclass
class PageEndpoints:
    """HTTP endpoints of the page, which answer from the visitor's session, one after another.

    Args:
        title: title of the page, such as the name of the game.
        session_store: the open sessions.
        cookie_key: key that signs the cookie, which contains only the id of a session.
        cookie_name: name of the cookie; it differs between servers, because a browser sends the
            cookies of a host to all of its ports.
        url_prefix: prefix of all URL paths, such as `/token`, or "".
        catalog: the players of `conf/player`, for the range explorer.
        start_screen: games and opponents to choose from; None if each visitor plays the same game
            against the same opponents.
        results_folder: folder of the sessions that `/results` summarizes; None to refuse it.
    """

    title: str
    session_store: SessionStore
    cookie_key: str
    cookie_name: str
    url_prefix: str
    catalog: PlayerCatalog
    start_screen: StartScreen | None = None
    results_folder: Path | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # neither sessions nor Hydra are thread-safe
        self._signer = URLSafeSerializer(self.cookie_key, salt="session")
        pages = Environment(loader=FileSystemLoader(PAGES_FOLDER), autoescape=True)
        self._page_html = pages.get_template("page.html").render(
            title=self.title,
            has_start_screen=self.start_screen is not None,
            has_results=self.results_folder is not None,
        )

    def build_routes(self) -> list[Route | Mount]:
        endpoint, post = self._create_endpoint, ["POST"]

        def format_phh(session: Session, hand_number: int) -> str:
            return session.format_hand(hand_number, "phh")

        routes = [
            Route("/", self._serve_index),
            Route("/view", self._serve_view),
            Route("/review/{hand}", endpoint(Session.review_hand, _parse_hand_number)),
            Route("/text/{hand}", endpoint(Session.format_hand, _parse_hand_number)),
            Route("/phh/{hand}", endpoint(format_phh, _parse_hand_number)),
            Route("/hands/{kind}", endpoint(Session.format_all_hands, itemgetter("kind"))),
            Route("/begin", self._serve_begin, methods=post),
            Route("/act", endpoint(_act, dict), methods=post),
            Route("/next", endpoint(Session.deal_next_hand, _parse_turn_id), methods=post),
            Route("/hint", endpoint(Session.get_hint, _parse_turn_id), methods=post),
            Route("/grid", endpoint(Session.get_grid, _parse_turn_id), methods=post),
            Route("/ranges", endpoint(self._explore_ranges, dict), methods=post),
        ]
        if self.start_screen is not None:
            routes.append(Route("/start", self._serve_start))
            routes.append(Route("/players/{game}", self._serve_players))
        if self.results_folder is not None:
            routes.append(Route("/results", self._serve_results))
        return [*routes, Mount("/static", StaticFiles(directory=PAGES_FOLDER))]

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a thread, when no other one runs, and return its result."""

        def run_alone() -> Any:
            with self._lock:
                return function(*arguments)

        return await run_in_threadpool(run_alone)

    async def _serve_index(self, request: Request) -> Response:
        return HTMLResponse(self._page_html)

    async def _serve_view(self, request: Request) -> Response:
        """Return the visitor's view, or null to a visitor without a session."""
        if self._get_session_id(request) is None:
            return JSONResponse(None)
        serve = self._create_endpoint(lambda session, _: session.build_view(), dict)
        return await serve(request)

    async def _serve_start(self, request: Request) -> Response:
        """Return the games to choose from, and a summary of the visitor's last session."""
        assert self.start_screen is not None
        session_id = self._get_session_id(request)
        return JSONResponse(await self._run(self.start_screen.list_choices, session_id))

    async def _serve_players(self, request: Request) -> Response:
        assert self.start_screen is not None
        game = request.path_params["game"]
        return JSONResponse(await self._run(self.start_screen.describe_game, game))

    async def _serve_results(self, request: Request) -> Response:
        return JSONResponse(await self._run(summarize_sessions, self.results_folder))

    async def _serve_begin(self, request: Request) -> Response:
        request_data = await _read_json_body(request)
        choice: tuple[Any, ...] = ()
        if self.start_screen is not None:
            against = _get_list(request_data, "against", str)
            choice = _get_value(request_data, "game", str), against

        def begin_session() -> tuple[str, dict[str, Any]]:
            session = self.session_store.begin_session(*choice)
            return session.session_id, session.build_view()

        session_id, view = await self._run(begin_session)
        response = JSONResponse(view)
        response.set_cookie(
            self.cookie_name,
            str(self._signer.dumps(session_id)),
            max_age=COOKIE_SECONDS,
            path=f"{self.url_prefix}/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _create_endpoint(
        self, answer: Callable[[Session, Any], Any], parse: Callable[[dict[str, Any]], Any]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Create an endpoint that answers from the visitor's session.

        `parse` gets the JSON of a POST, or the parameters in the path of a GET, and `answer` gets
        the session and what `parse` returns.
        """

        async def endpoint(request: Request) -> Response:
            is_post = request.method == "POST"
            data = parse(await _read_json_body(request) if is_post else request.path_params)
            session_id = self._get_session_id(request)
            if session_id is None:
                raise HTTPException(404, "You have no table yet; a POST to begin opens one.")

            def answer_from_session() -> Response:
                session = self.session_store.get_session(session_id)
                try:
                    answered = answer(session, data)
                except StaleRequestError as error:
                    error_and_view = {"error": str(error), "view": session.build_view()}
                    return JSONResponse(error_and_view, 409)
                is_text = isinstance(answered, str)
                return PlainTextResponse(answered) if is_text else JSONResponse(answered)

            response: Response = await self._run(answer_from_session)
            return response

        return endpoint

    def _explore_ranges(self, session: Session, request_data: dict[str, Any]) -> dict[str, Any]:
        actions = request_data.get("actions")
        return explore_ranges(
            session.current_hand,
            self.catalog,
            None if actions is None else _get_list(request_data, "actions", int),
            _get_value(request_data, "board", str),
            _get_list(request_data, "names", str),
        )

    def _get_session_id(self, request: Request) -> str | None:
        """Return the id of the visitor's session, from the cookie; None without a valid one."""
        try:
            return str(self._signer.loads(request.cookies.get(self.cookie_name, "")))
        except BadSignature:
            return None


def create_application(server: PageEndpoints, hosts: frozenset[str]) -> RequestGuard:
    """Create the ASGI application, which answers requests to the names in `hosts`."""

    def answer_error(status: int, message: str) -> JSONResponse:
        return JSONResponse({"error": message}, status)

    internal_error = "Internal error; see the terminal of the server."
    exception_handlers: dict[Any, Any] = {
        HTTPException: lambda _, error: answer_error(error.status_code, error.detail),
        ConfigError: lambda _, error: answer_error(410, str(error)),
        MoveNotAllowedError: lambda _, error: answer_error(422, str(error)),
        OSError: lambda _, error: answer_error(503, format_os_error(error)),
        Exception: lambda *_: answer_error(500, internal_error),
    }
    routes = server.build_routes()
    starlette_app = Starlette(
        routes=[Mount(server.url_prefix, routes=routes)] if server.url_prefix else routes,
        exception_handlers=exception_handlers,
    )
    return RequestGuard(starlette_app, hosts)


async def _read_json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a POST."""
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


def _parse_hand_number(path_params: dict[str, str]) -> int:
    """Return the number of a hand in a URL path; raise a 404 error if it is not a number."""
    try:
        return int(path_params["hand"])
    except ValueError:
        raise HTTPException(404, "Hands are numbered from 1.") from None


def _parse_turn_id(request_data: dict[str, Any]) -> int:
    return int(_get_value(request_data, "turn", int))


def _act(session: Session, request_data: dict[str, Any]) -> dict[str, Any]:
    turn_id = _parse_turn_id(request_data)
    if "to" in request_data:
        return session.act(turn_id, {"to": _get_value(request_data, "to", int)})
    return session.act(turn_id, _get_value(request_data, "action", int))


def _get_value(request_data: dict[str, Any], key: str, kind: type) -> Any:
    value = request_data.get(key)
    if type(value) is not kind:  # isinstance would accept true as an int
        raise HTTPException(400, f"{key}: a value of another type is needed.")
    return value


def _get_list(request_data: dict[str, Any], key: str, kind: type) -> list[Any]:
    values: list[Any] = _get_value(request_data, key, list)
    return [_get_value({key: value}, key, kind) for value in values]
