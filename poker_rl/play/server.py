"""The page's server: sessions over plain HTTP, for people who may only see what their seat may.

What changes something is a POST whose body is a small JSON object; it answers with the new view. A
GET changes nothing. What can't be done is answered with a 4xx and `{"error": one sentence}`; a
request that comes from an old view is a 409 that brings the present view along. Whether a request
comes from this page at all is checked in `guard.py`.
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

from poker_rl.config.settings import Refused
from poker_rl.play.guard import Guard
from poker_rl.play.moves import NotAllowed
from poker_rl.play.session import Session, Stale
from poker_rl.storage.disk import error_line

LARGEST_BODY = 1024  # bytes; a move is a few dozen
PAGES = Path(__file__).parent / "pages"
USUAL = {  # what starlette says of such requests itself
    "Not Found": "There is no such page.",
    "Method Not Allowed": "This address is not asked in that way.",
}
DIGITS = 9  # of the number of a hand; nobody plays more of them


@dataclass
class Seat:
    """A person's place in memory: one request at a time is at work on its session."""

    session: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: int = 0  # that are at work on it or wait to be; as long as there are any it is kept


class Sittings:
    """The open sessions by id, at most so many; one that was dropped is read back from its journal.

    Args:
        new: begins a session.
        back: reads back the session of this id, which raises Refused if there is none.
        most: sessions in memory; the one that was not asked for longest makes room.
    """

    def __init__(
        self, new: Callable[[], Session], back: Callable[[str], Session], most: int
    ) -> None:
        self._new, self._back, self._most = new, back, most
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._lock = threading.Lock()
        self._offered: Session | None = None

    def begin(self) -> Session:
        """A new session, which nobody else knows of yet, or the one that is on offer."""
        with self._lock:
            session, self._offered = self._offered, None
        if session is None:
            session = self._new()
            with self._kept(session.name) as seat:
                seat.session = session
        return session

    def offer(self, session: Session) -> None:
        """Keep a session for its owner or, if he has not come before, for who begins one first.

        It makes no room for others.
        """
        with self._kept(session.name) as seat, self._lock:
            seat.session = session
            seat.requests += 1
        self._offered = session

    @contextmanager
    def at(self, name: str) -> Iterator[Session]:
        """The session of this id, for this context alone.

        Raises:
            Refused: if there is none.
        """
        with self._kept(name) as seat, seat.lock:
            if seat.session is None:
                seat.session = self._back(name)
            if self._offered is seat.session:
                self._offered = None
            yield seat.session

    @contextmanager
    def _kept(self, name: str) -> Iterator[Seat]:
        """The one seat of this name, which stays the only one while a request is at it."""
        with self._lock:
            seat = self._seats.setdefault(name, Seat())
            self._seats.move_to_end(name)
            seat.requests += 1
            idle = [one for one, other in self._seats.items() if not other.requests]
            for one in idle[: max(0, len(self._seats) - self._most)]:
                if (dropped := self._seats.pop(one).session) is not None:
                    dropped.close()
        try:
            yield seat
        finally:
            with self._lock:
                seat.requests -= 1
                if seat.session is None and not seat.requests:
                    del self._seats[name]

    def __len__(self) -> int:
        return len(self._seats)


@dataclass
class Server:
    """What the addresses of the page answer.

    Args:
        title: of the page, the game that is played.
        key: signs the cookie, which holds nothing but a session's id.
        cookie: its name; it has to tell servers apart, since all ports of a host share cookies.
        prefix: of all addresses, such as `/token`, or nothing.
    """

    title: str
    sittings: Sittings
    key: str
    cookie: str
    prefix: str

    def __post_init__(self) -> None:
        self._signer = URLSafeSerializer(self.key, salt="session")
        pages = Environment(loader=FileSystemLoader(PAGES), autoescape=True)
        self._page = pages.get_template("page.html").render(title=self.title)

    def routes(self) -> list[Route | Mount]:
        return [
            Route("/", self._index),
            Route("/view", self._view),
            Route("/review/{hand}", self._get(lambda session, hand: session.review(hand))),
            Route("/text/{hand}", self._get(lambda session, hand: session.text(hand))),
            Route("/phh/{hand}", self._get(lambda session, hand: session.phh(hand))),
            Route("/begin", self._begin, methods=["POST"]),
            Route("/act", self._post(_act), methods=["POST"]),
            Route(
                "/next", self._post(lambda s, asked: s.next_hand(_turn(asked))), methods=["POST"]
            ),
            Route("/hint", self._post(lambda s, asked: s.hint(_turn(asked))), methods=["POST"]),
            Route("/grid", self._post(lambda s, asked: s.grid(_turn(asked))), methods=["POST"]),
            Mount("/static", StaticFiles(directory=PAGES)),
        ]

    async def _index(self, request: Request) -> Response:
        return HTMLResponse(self._page)

    async def _view(self, request: Request) -> Response:
        """Return the visitor's table, or 204 to a visitor without one."""
        if self._visitor(request) is None:
            return Response(status_code=204)
        return await self._answered(request, Session.view)

    async def _begin(self, request: Request) -> Response:
        await _body(request)

        def work() -> tuple[str, dict[str, Any]]:
            session = self.sittings.begin()
            return session.name, session.view()

        name, view = await run_in_threadpool(work)
        response = JSONResponse(view)
        response.set_cookie(
            self.cookie,
            str(self._signer.dumps(name)),
            max_age=365 * 24 * 3600,
            path=f"{self.prefix}/",
            httponly=True,
            samesite="strict",
        )
        return response

    def _get(self, answer: Callable[[Session, int], Any]) -> Callable[..., Any]:
        """An endpoint that reads from the visitor's session."""

        async def endpoint(request: Request) -> Response:
            hand = _hand(request.path_params["hand"])
            return await self._answered(request, lambda session: answer(session, hand))

        return endpoint

    def _post(self, answer: Callable[[Session, dict[str, Any]], Any]) -> Callable[..., Any]:
        """An endpoint that does something in the visitor's session."""

        async def endpoint(request: Request) -> Response:
            asked = await _body(request)
            return await self._answered(request, lambda session: answer(session, asked))

        return endpoint

    async def _answered(self, request: Request, answer: Callable[[Session], Any]) -> Response:
        name = self._visitor(request)
        if name is None:
            raise HTTPException(404, "You have no table yet; a POST to begin opens one.")

        def work() -> Response:
            with self.sittings.at(name) as session:
                try:
                    answered = answer(session)
                except Stale as error:
                    return JSONResponse({"error": str(error), "view": session.view()}, 409)
            return (
                PlainTextResponse(answered) if isinstance(answered, str) else JSONResponse(answered)
            )

        return await run_in_threadpool(work)

    def _visitor(self, request: Request) -> str | None:
        """Return the id of the visitor's session, from the cookie; None without a valid one."""
        try:
            return str(self._signer.loads(request.cookies.get(self.cookie, "")))
        except BadSignature:
            return None


def application(server: Server, hosts: frozenset[str]) -> Guard:
    """The server with its checks, as an ASGI application.

    Args:
        hosts: the names that a request's Host may have, without a port.
    """
    handlers: dict[Any, Any] = {
        HTTPException: lambda _, error: _told(
            error.status_code, USUAL.get(error.detail, error.detail)
        ),
        Refused: lambda _, error: _told(410, str(error)),
        NotAllowed: lambda _, error: _told(422, str(error)),
        OSError: lambda _, error: _told(503, error_line(error)),
        Exception: lambda *_: _told(500, "The server has a fault; its terminal tells more."),
    }
    routes = server.routes()
    inner = Starlette(
        routes=[Mount(server.prefix, routes=routes)] if server.prefix else routes,
        exception_handlers=handlers,
    )
    return Guard(inner, hosts)


def _told(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that a POST brings."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "The body has to be application/json.")
    read = b""
    try:
        async for piece in request.stream():
            read += piece
            if len(read) > LARGEST_BODY:
                raise HTTPException(413, f"The body is longer than {LARGEST_BODY} bytes.")
    except ClientDisconnect:
        raise HTTPException(400, "The body broke off.") from None  # which nobody is left to read
    try:
        asked = json.loads(read)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise HTTPException(400, "The body has to be a JSON object.")
    return asked


def _hand(text: str) -> int:
    """The number of a hand in an address."""
    if not (text.isdecimal() and text.isascii() and len(text) <= DIGITS):
        raise HTTPException(404, "Hands are numbered from 1.")
    return int(text)


def _turn(asked: dict[str, Any]) -> int:
    return _whole(asked, "turn")


def _act(session: Session, asked: dict[str, Any]) -> dict[str, Any]:
    if ("action" in asked) == ("to" in asked):
        raise HTTPException(400, "Give either action or to.")
    turn = _turn(asked)
    if "to" in asked:
        return session.act(turn, {"to": _whole(asked, "to")})
    return session.act(turn, _whole(asked, "action"))


def _whole(asked: dict[str, Any], key: str) -> int:
    value = asked.get(key)
    if type(value) is not int or abs(value) > 2**53:
        raise HTTPException(400, f"{key}: a whole number is needed.")
    return value
