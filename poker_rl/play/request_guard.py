"""Security checks of requests to the page, and security headers of answers.

- The Host header must contain a known name, which prevents DNS rebinding.
- A POST must come from the page itself, which prevents CSRF. The header Sec-Fetch-Site contains the
  origin's relation to the page; if a browser does not send it, Origin must equal Host.
- The headers of answers forbid the browser to load anything from other servers, to guess content
  types, to send a referrer and to cache.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = ("GET", "HEAD")
RESPONSE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class RequestGuard:
    """ASGI middleware that rejects requests from other sites and adds security headers.

    Args:
        app: the application that gets the accepted requests.
        hosts: allowed host names, without a port and in lower case.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(RESPONSE_HEADERS)
            await send(message)

        rejection = self._find_rejection(scope)
        if rejection is None:
            await self.app(scope, receive, send_with_headers)
        else:
            status, sentence = rejection
            await JSONResponse({"error": sentence}, status)(scope, receive, send_with_headers)

    def _find_rejection(self, scope: Scope) -> tuple[int, str] | None:
        """Return HTTP status and message if a request must be rejected, else None."""
        if scope["type"] != "http":
            return 404, "There are only pages here."
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if parse_hostname(f"//{host}") not in self.hosts:
            return 421, "This server does not have that name."
        if scope["method"] in SAFE_METHODS:
            return None
        if "sec-fetch-site" in headers:
            is_same_origin = headers["sec-fetch-site"] in ("same-origin", "none")
        else:
            is_same_origin = headers.get("origin", "").partition("://")[2] == host
        return None if is_same_origin else (403, "Only the page itself may ask for this.")


def parse_hostname(address: str) -> str | None:
    """Return the host name of an address in lower case, without a port; None if malformed."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
