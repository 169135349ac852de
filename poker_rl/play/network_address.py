"""Network address of the page: its listening socket, allowed host names and URL."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence

from poker_rl.config.validation import ConfigError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
WILDCARD_HOSTS = ("0.0.0.0", "::")
# Reserved outside address (RFC 5737) that reveals the outgoing interface; nothing is sent to it.
PROBE_ADDRESS = "192.0.2.1"


def create_listener(host: str, port: int, allow_public: bool) -> socket.socket:
    """Create a listening socket.

    Raises:
        ConfigError: if the host is not a loopback address and `allow_public` is false, or nothing
            can listen at this host and port.
    """
    if not (allow_public or is_loopback(host)):
        raise ConfigError(
            f"host: {host} may be reached by others, which needs public=true; allowed without:"
            f" {', '.join(LOOPBACK_HOSTS)}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # allows a restart after a crash
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"port: {port} is in use; port=0 takes a free one") from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"port: {port} needs root; allowed: 1024 to 65535") from None
        raise ConfigError(f"host: {host} is no address of this machine") from None
    return listener


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def list_host_names(host: str, extra_names: Sequence[str], allow_public: bool) -> frozenset[str]:
    """Return the host names that the Host header of a request may contain, without a port."""
    own_names = {socket.gethostname(), find_outward_address()} if allow_public else set()
    return frozenset(
        name.lower().strip("[]") for name in {*LOOPBACK_HOSTS, host, *own_names, *extra_names}
    )


def format_url(host: str, port: int, prefix: str) -> str:
    """Return the URL of the page."""
    host_name = find_outward_address() if host in WILDCARD_HOSTS else host
    return f"http://{f'[{host_name}]' if ':' in host_name else host_name}:{port}{prefix}/"


def find_outward_address() -> str:
    """Return this machine's address in its network; without a network, its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((PROBE_ADDRESS, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
