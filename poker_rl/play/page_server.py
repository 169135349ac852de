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
from poker_rl.storage.disk import format_os_error

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
        answers_by_hand: dict[str, Callable[[Session, int], Any]] = {
            "review": Session.review_hand,
            "text": Session.format_hand,
            "phh": lambda session, hand: session.format_hand(hand, "phh"),
        }
        answers_by_turn: dict[str, Callable[[Session, int], Any]] = {
            "next": Session.deal_next_hand,
            "hint": Session.get_hint,
            "grid": Session.get_grid,
        }
        return [
            Route("/", self._serve_index),
            Route("/view", self._serve_view),
            Route("/start", self._serve_start),
            Route("/players/{game}", self._serve_players),
            Route("/results", self._serve_results),
            Route("/begin", self._serve_begin, methods=["POST"]),
            Route("/act", self._create_endpoint(_act, dict), methods=["POST"]),
            Route("/ranges", self._create_endpoint(self._explore, _parse_line), methods=["POST"]),
            Route(
                "/hands/{kind}",
                self._create_endpoint(Session.format_all_hands, lambda data: data["kind"]),
            ),
            *(
                Route(f"/{name}/{{hand}}", self._create_endpoint(answer, _parse_hand_number))
                for name, answer in answers_by_hand.items()
            ),
            *(
                Route(f"/{name}", self._create_endpoint(answer, _parse_turn_id), methods=["POST"])
                for name, answer in answers_by_turn.items()
            ),
            Mount("/static", StaticFiles(directory=PAGES_FOLDER)),
        ]

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
        list_choices = self._get_start_screen().list_choices
        return JSONResponse(await self._run(list_choices, self._get_session_id(request)))

    async def _serve_players(self, request: Request) -> Response:
        describe_game = self._get_start_screen().describe_game
        return JSONResponse(await self._run(describe_game, request.path_params["game"]))

    async def _serve_results(self, request: Request) -> Response:
        if self.results_folder is None:
            raise HTTPException(404, "This server shows no results over sessions.")
        return JSONResponse(await self._run(summarize_sessions, self.results_folder))

    async def _serve_begin(self, request: Request) -> Response:
        request_data = await _read_json_body(request)
        choice = () if self.start_screen is None else _parse_choice(request_data)

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

        Args:
            answer: function of the session and of what `parse` returns.
            parse: function of the JSON of a POST, or of the parameters in the path of a GET.
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

    def _explore(self, session: Session, line: dict[str, Any]) -> dict[str, Any]:
        return explore_ranges(session.current_hand, self.catalog, **line)

    def _get_start_screen(self) -> StartScreen:
        if self.start_screen is None:
            raise HTTPException(404, "This server has only one table.")
        return self.start_screen

    def _get_session_id(self, request: Request) -> str | None:
        """Return the id of the visitor's session, from the cookie; None without a valid one."""
        try:
            return str(self._signer.loads(request.cookies.get(self.cookie_name, "")))
        except BadSignature:
            return None


def create_application(server: PageEndpoints, hosts: frozenset[str]) -> RequestGuard:
    """Create the ASGI application from its endpoints, with the checks of requests.

    Args:
        hosts: host names that the Host header of a request may contain, without a port.
    """
    internal_error = "Internal error; see the terminal of the server."
    exception_handlers: dict[Any, Any] = {
        HTTPException: lambda _, error: _create_error_response(error.status_code, error.detail),
        ConfigError: lambda _, error: _create_error_response(410, str(error)),
        MoveNotAllowedError: lambda _, error: _create_error_response(422, str(error)),
        OSError: lambda _, error: _create_error_response(503, format_os_error(error)),
        Exception: lambda *_: _create_error_response(500, internal_error),
    }
    routes = server.build_routes()
    starlette_app = Starlette(
        routes=[Mount(server.url_prefix, routes=routes)] if server.url_prefix else routes,
        exception_handlers=exception_handlers,
    )
    return RequestGuard(starlette_app, hosts)


def _create_error_response(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)


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


def _parse_choice(request_data: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the game and the opponents that a visitor has chosen."""
    game, against = request_data.get("game"), request_data.get("against")
    if not isinstance(against, list) or not all(isinstance(one, str) for one in (game, *against)):
        raise HTTPException(400, "Choose a game and opponents.")
    return str(game), against


def _parse_line(request_data: dict[str, Any]) -> dict[str, Any]:
    """Return actions, board and names of players in a request to the range explorer."""
    actions, board, names = (request_data.get(key) for key in ("actions", "board", "names"))
    if not (
        (actions is None or isinstance(actions, list))
        and all(type(action) is int for action in actions or [])
        and isinstance(names, list)
        and all(isinstance(text, str) for text in [board, *names])
    ):
        raise HTTPException(400, "Give actions, board and names.")
    return {"actions": actions, "board": board, "names": names}


def _parse_turn_id(request_data: dict[str, Any]) -> int:
    return _parse_integer(request_data, "turn")


def _act(session: Session, request_data: dict[str, Any]) -> dict[str, Any]:
    turn_id = _parse_turn_id(request_data)
    if "to" in request_data:
        return session.act(turn_id, {"to": _parse_integer(request_data, "to")})
    return session.act(turn_id, _parse_integer(request_data, "action"))


def _parse_integer(request_data: dict[str, Any], key: str) -> int:
    value = request_data.get(key)
    if type(value) is not int:
        raise HTTPException(400, f"{key}: a whole number is needed.")
    return value
