"""Where the page is found: the socket it listens at, the names it goes by, its address."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence

from poker_rl.config.settings import Refused

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::")
NOWHERE = "192.0.2.1"  # kept for documentation (RFC 5737); nothing is sent to it


def listening(host: str, port: int, public: bool) -> socket.socket:
    """A socket that listens there.

    Raises:
        Refused: if others could reach it without `public`, or it can't listen there.
    """
    if not (public or is_loopback(host)):
        raise Refused(
            f"host: {host} may be reached by others, which needs public=true; allowed without:"
            f" {', '.join(LOOPBACK)}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also right after a kill -9
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Refused(f"port: {port} is in use; port=0 takes any that is free") from None
        if error.errno == errno.EACCES:
            raise Refused(f"port: {port} is not for everybody; allowed: 1024 to 65535") from None
        raise Refused(f"host: {host} is no address of this machine") from None
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine itself can reach what listens at this address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def known_names(host: str, further: Sequence[str], public: bool) -> frozenset[str]:
    """What a request may call the server: the names of this machine, without a port."""
    own = {socket.gethostname(), outward()} if public else set()
    return frozenset(name.lower().strip("[]") for name in {*LOOPBACK, host, *own, *further})


def shown(host: str, port: int, prefix: str) -> str:
    """The address that people open."""
    name = outward() if host in ANYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}{prefix}/"


def outward() -> str:
    """The address of this machine as others see it; its name where it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((NOWHERE, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
