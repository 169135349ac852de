"""What every request to the page has to pass, and what every answer tells the browser.

- Only known names as Host: a foreign name that leads here (DNS rebinding) is somebody else's page.
- What changes something has to come from the page itself: by Sec-Fetch-Site, or where a browser
  does not send it by an Origin that is the Host.
- The browser loads nothing from elsewhere, guesses no types, tells nobody where it was, keeps
  nothing.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = ("GET", "HEAD")
TOLD = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application with checks before it.

    Args:
        hosts: the names that Host may have, without a port and in lower case.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(TOLD)
            await send(message)

        refused = self._refused(scope)
        if refused is None:
            await self.app(scope, receive, tell)
        else:
            status, sentence = refused
            await JSONResponse({"error": sentence}, status)(scope, receive, tell)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not let in: the status and a sentence."""
        if scope["type"] != "http":
            return 404, "There are only pages here."
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if hostname(f"//{host}") not in self.hosts:
            return 421, "This server does not go by that name."
        if scope["method"] in SAFE:
            return None
        if "sec-fetch-site" in headers:
            ours = headers["sec-fetch-site"] in ("same-origin", "none")
        else:
            ours = headers.get("origin", "").partition("://")[2] == host
        return None if ours else (403, "Only the page itself may ask for this.")


def hostname(address: str) -> str | None:
    """The name in an address, in lower case and without a port; None if it can't be read."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
