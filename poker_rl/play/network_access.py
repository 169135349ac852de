"""Access to the page over the network: the server's socket and host names, checks of requests.

- The Host header must contain a name of the server, which prevents DNS rebinding.
- A POST must come from the page itself, which prevents CSRF. The header Sec-Fetch-Site shows where
  it comes from; if a browser does not send this header, Origin must equal Host.
- The headers of answers forbid the browser to load anything from other servers, to guess content
  types, to send a referrer and to cache.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from poker_rl.config.input_checks import ConfigError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
WILDCARD_HOSTS = ("0.0.0.0", "::")
# Reserved address (RFC 5737), used to find this machine's own address: connecting a UDP socket
# sends nothing, but the system gives the socket the address from which it would send.
PROBE_ADDRESS = "192.0.2.1"
RESPONSE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def create_listener(host: str, port: int, allow_public: bool) -> socket.socket:
    """Create a listening socket; raise ConfigError for a public host without `allow_public`."""
    if not (allow_public or host in LOOPBACK_HOSTS):
        raise ConfigError(
            f"host: {host} may be reached by others, which needs public=true; allowed without:"
            f" {', '.join(LOOPBACK_HOSTS)}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    except OSError as error:
        raise ConfigError(f"host, port: {error.strerror}; port=0 takes a free port") from None


def list_allowed_hosts(host: str, extra_names: Sequence[str], allow_public: bool) -> frozenset[str]:
    """Return the host names, in lower case, that a request may contain in its Host header."""
    own_names = {socket.gethostname(), find_network_address()} if allow_public else set()
    return frozenset(
        name.lower().strip("[]") for name in {*LOOPBACK_HOSTS, host, *own_names, *extra_names}
    )


def format_url(host: str, port: int, prefix: str) -> str:
    """Return the URL of the page; this machine's address replaces a wildcard host."""
    host_name = find_network_address() if host in WILDCARD_HOSTS else host
    return f"http://{f'[{host_name}]' if ':' in host_name else host_name}:{port}{prefix}/"


def find_network_address() -> str:
    """Return this machine's IPv4 address in its network, or its name if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((PROBE_ADDRESS, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


class RequestGuard:
    """ASGI middleware that rejects requests from other sites and adds security headers.

    Args:
        app: the application that gets the accepted requests.
        hosts: allowed host names, without a port and in lower case.
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
