"""HTTP endpoints of the page, on which each visitor plays a session.

A visitor sees only what the visitor's seat may know. A POST with a small JSON object changes the
session and returns the new view; a GET changes nothing. A request that is not allowed gets a 4xx
status and `{"error": sentence}`. A request made from an outdated view gets status 409 with the
present view. `request_guard.py` checks that requests come from this page.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from poker_rl.play.move_requests import MoveNotAllowedError
from poker_rl.play.player_catalog import PlayerCatalog
from poker_rl.play.range_explorer import explore_ranges
from poker_rl.play.request_guard import RequestGuard
from poker_rl.play.results_over_sessions import summarize_sessions
from poker_rl.play.session import Session, StaleRequestError
from poker_rl.play.start_screen import StartScreen
from poker_rl.storage.disk import format_os_error

MAX_BODY_BYTES = 1024  # a move takes a few dozen bytes
PAGES_FOLDER = Path(__file__).parent / "pages"
MESSAGE_BY_DEFAULT_DETAIL = {  # messages that replace those of starlette
    "Not Found": "There is no such page.",
    "Method Not Allowed": "This address does not take that method.",
}
MAX_HAND_NUMBER_DIGITS = 9
MAX_ACTIONS, MAX_BOARD_CHARACTERS = 200, 20  # limits in a request to the range explorer


@dataclass
class SessionSlot:
    """Entry of a `SessionStore`: a session, and a lock for the request that uses it."""

    session: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    active_requests: int = 0  # requests that use or await the slot, which they keep in memory


class SessionStore:
    """LRU cache of open sessions by id; a dropped session is resumed from its file when needed.

    Args:
        create_session: function that starts a new session.
        resume_session: function that resumes a session by its id; it raises a ConfigError if there
            is no such session.
        max_sessions: number of sessions in memory; the least recently used one is dropped first.
    """

    def __init__(
        self,
        create_session: Callable[..., Session],
        resume_session: Callable[[str], Session],
        max_sessions: int,
    ) -> None:
        self._create_session, self._resume_session, self._max_sessions = (
            create_session,
            resume_session,
            max_sessions,
        )
        self._slots: OrderedDict[str, SessionSlot] = OrderedDict()
        self._lock = threading.Lock()
        self._offered_session: Session | None = None

    def begin_session(self, *choice: Any) -> Session:
        """Return the reserved session to the first visitor, and a new session to each later one.

        Args:
            choice: arguments of `create_session`: game and opponents, if the visitor chose them.
        """
        with self._lock:
            session, self._offered_session = self._offered_session, None
        if session is None:
            session = self._create_session(*choice)
            with self._pin_slot(session.session_id) as slot:
                slot.session = session
        return session

    def reserve_session(self, session: Session) -> None:
        """Reserve a session for the first visitor; it stays in memory until `begin_session`."""
        with self._pin_slot(session.session_id) as slot, self._lock:
            slot.session = session
            slot.active_requests += 1
        self._offered_session = session

    @contextmanager
    def lock_session(self, session_id: str) -> Iterator[Session]:
        """Yield the session with this id; other requests for it wait until the block ends.

        Raises:
            ConfigError: if there is no such session.
        """
        with self._pin_slot(session_id) as slot, slot.lock:
            if slot.session is None:
                slot.session = self._resume_session(session_id)
            if self._offered_session is slot.session:
                self._offered_session = None
            yield slot.session

    @contextmanager
    def _pin_slot(self, session_id: str) -> Iterator[SessionSlot]:
        """Yield the slot of a session id; within this context the slot stays in memory."""
        with self._lock:
            slot = self._slots.setdefault(session_id, SessionSlot())
            self._slots.move_to_end(session_id)
            slot.active_requests += 1
            idle_ids = [
                idle_id
                for idle_id, other_slot in self._slots.items()
                if not other_slot.active_requests
            ]
            for idle_id in idle_ids[: max(0, len(self._slots) - self._max_sessions)]:
                if (dropped_session := self._slots.pop(idle_id).session) is not None:
                    dropped_session.close()
        try:
            yield slot
        finally:
            with self._lock:
                slot.active_requests -= 1
                if slot.session is None and not slot.active_requests:
                    del self._slots[session_id]

    def __len__(self) -> int:
        return len(self._slots)


@dataclass
class PageEndpoints:
    """HTTP endpoints of the page, which answer from the visitor's session.

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
        self._signer = URLSafeSerializer(self.cookie_key, salt="session")
        pages = Environment(loader=FileSystemLoader(PAGES_FOLDER), autoescape=True)
        self._page_html = pages.get_template("page.html").render(
            title=self.title,
            has_start_screen=self.start_screen is not None,
            has_results=self.results_folder is not None,
        )

    def build_routes(self) -> list[Route | Mount]:
        hand_answers: dict[str, Callable[[Session, int], Any]] = {
            "review": Session.review_hand,
            "text": Session.format_hand_text,
            "phh": Session.format_hand_phh,
        }
        turn_answers: dict[str, Callable[[Session, int], Any]] = {
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
            Route("/hands/{kind}", self._serve_hands),
            Route("/ranges", self._serve_ranges),
            Route("/begin", self._serve_begin, methods=["POST"]),
            Route("/act", self._create_endpoint(_act_on_request), methods=["POST"]),
            *(
                Route(f"/{name}/{{hand}}", self._create_endpoint(answer, _parse_hand_number))
                for name, answer in hand_answers.items()
            ),
            *(
                Route(f"/{name}", self._create_endpoint(answer, _parse_turn_id), methods=["POST"])
                for name, answer in turn_answers.items()
            ),
            Mount("/static", StaticFiles(directory=PAGES_FOLDER)),
        ]

    async def _serve_index(self, request: Request) -> Response:
        return HTMLResponse(self._page_html)

    async def _serve_view(self, request: Request) -> Response:
        """Return the visitor's view, or null to a visitor without a session."""
        if self._get_session_id(request) is None:
            return JSONResponse(None)
        return await self._answer_with_session(request, Session.build_view)

    async def _serve_start(self, request: Request) -> Response:
        """Return the games to choose from, and a summary of the visitor's last session."""
        start_screen, session_id = self._get_start_screen(), self._get_session_id(request)
        return JSONResponse(await run_in_threadpool(start_screen.list_choices, session_id))

    async def _serve_players(self, request: Request) -> Response:
        start_screen, game = self._get_start_screen(), request.path_params["game"]
        return JSONResponse(await run_in_threadpool(start_screen.describe_game, game))

    async def _serve_results(self, request: Request) -> Response:
        if self.results_folder is None:
            raise HTTPException(404, "This server shows no results over sessions.")
        return JSONResponse(await run_in_threadpool(summarize_sessions, self.results_folder))

    async def _serve_hands(self, request: Request) -> Response:
        """Return all finished hands of the visitor's session as a file to save."""
        kind = request.path_params["kind"]
        response = await self._answer_with_session(
            request, lambda session: session.format_all_hands(kind)
        )
        file_name = "hands.phhs" if kind == "phh" else "hands.txt"
        response.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        return response

    async def _serve_ranges(self, request: Request) -> Response:
        """Return a position of the range explorer, from the query parameters of the request."""
        query = request.query_params
        actions = None if "actions" not in query else _parse_actions(query["actions"])
        board, names = query.get("board", "")[:MAX_BOARD_CHARACTERS], query.getlist("player")
        session_id = self._require_session_id(request)

        def explore() -> dict[str, Any]:
            with self.session_store.lock_session(session_id) as session:
                hand = session.current_hand
            # The session is not locked here, because the first call of a bot may take a minute.
            return explore_ranges(hand, self.catalog, actions, board, names)

        return JSONResponse(await run_in_threadpool(explore))

    def _get_start_screen(self) -> StartScreen:
        if self.start_screen is None:
            raise HTTPException(404, "This server has only one table.")
        return self.start_screen

    async def _serve_begin(self, request: Request) -> Response:
        request_data = await _read_json_body(request)
        choice = () if self.start_screen is None else _parse_choice(request_data)

        def begin_session() -> tuple[str, dict[str, Any]]:
            session = self.session_store.begin_session(*choice)
            return session.session_id, session.build_view()

        session_id, view = await run_in_threadpool(begin_session)
        response = JSONResponse(view)
        response.set_cookie(
            self.cookie_name,
            str(self._signer.dumps(session_id)),
            max_age=365 * 24 * 3600,
            path=f"{self.url_prefix}/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _create_endpoint(
        self, answer: Callable[[Session, Any], Any], parse: Callable[[Any], Any] = dict
    ) -> Callable[..., Any]:
        """Create an endpoint that answers from the visitor's session.

        Args:
            answer: function of the session and of what `parse` returns.
            parse: function of the JSON of a POST, or of the parameters in the path of a GET.
        """

        async def endpoint(request: Request) -> Response:
            is_post = request.method == "POST"
            data = parse(await _read_json_body(request) if is_post else request.path_params)
            return await self._answer_with_session(request, lambda session: answer(session, data))

        return endpoint

    async def _answer_with_session(
        self, request: Request, answer_session: Callable[[Session], Any]
    ) -> Response:
        session_id = self._require_session_id(request)

        def answer_in_thread() -> Response:
            with self.session_store.lock_session(session_id) as session:
                try:
                    answered = answer_session(session)
                except StaleRequestError as error:
                    return JSONResponse({"error": str(error), "view": session.build_view()}, 409)
            return (
                PlainTextResponse(answered) if isinstance(answered, str) else JSONResponse(answered)
            )

        return await run_in_threadpool(answer_in_thread)

    def _require_session_id(self, request: Request) -> str:
        session_id = self._get_session_id(request)
        if session_id is None:
            raise HTTPException(404, "You have no table yet; a POST to begin opens one.")
        return session_id

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
    exception_handlers: dict[Any, Any] = {
        HTTPException: lambda _, error: _create_error_response(
            error.status_code, MESSAGE_BY_DEFAULT_DETAIL.get(error.detail, error.detail)
        ),
        ConfigError: lambda _, error: _create_error_response(410, str(error)),
        MoveNotAllowedError: lambda _, error: _create_error_response(422, str(error)),
        OSError: lambda _, error: _create_error_response(503, format_os_error(error)),
        Exception: lambda *_: _create_error_response(
            500, "Internal error; see the terminal of the server."
        ),
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
    except ClientDisconnect:
        raise HTTPException(400, "The body is incomplete.") from None
    try:
        request_data = json.loads(body)
    except (ValueError, RecursionError):
        request_data = None
    if not isinstance(request_data, dict):
        raise HTTPException(400, "The body has to be a JSON object.")
    return request_data


def _parse_hand_number(path_params: dict[str, str]) -> int:
    """Return the number of a hand in a URL path; raise a 404 error if it is not a number."""
    text = path_params["hand"]
    if not (text.isdecimal() and text.isascii() and len(text) <= MAX_HAND_NUMBER_DIGITS):
        raise HTTPException(404, "Hands are numbered from 1.")
    return int(text)


def _parse_actions(text: str) -> list[int]:
    """Return the actions in a text such as `2.1`; raise a 400 error if it is not such a text."""
    parts = text.split(".") if text else []
    if len(parts) > MAX_ACTIONS or not all(len(one) < 6 and one.isdecimal() for one in parts):
        raise HTTPException(400, "actions: numbers with dots between them are needed.")
    return [int(one) for one in parts]


def _parse_choice(request_data: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the game and the opponents that a visitor has chosen."""
    game, against = request_data.get("game"), request_data.get("against")
    if not isinstance(against, list) or not all(isinstance(one, str) for one in (game, *against)):
        raise HTTPException(400, "Choose a game and opponents.")
    return str(game), against


def _parse_turn_id(request_data: dict[str, Any]) -> int:
    return _parse_integer(request_data, "turn")


def _act_on_request(session: Session, request_data: dict[str, Any]) -> dict[str, Any]:
    if ("action" in request_data) == ("to" in request_data):
        raise HTTPException(400, "Give either action or to.")
    turn_id = _parse_turn_id(request_data)
    if "to" in request_data:
        return session.act(turn_id, {"to": _parse_integer(request_data, "to")})
    return session.act(turn_id, _parse_integer(request_data, "action"))


def _parse_integer(request_data: dict[str, Any], key: str) -> int:
    value = request_data.get(key)
    if type(value) is not int or abs(value) > 2**53:
        raise HTTPException(400, f"{key}: a whole number is needed.")
    return value
