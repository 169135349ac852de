"""Disk cache of the game rules that numba compiles.

Numba compiles a cached function again if its file changes, but not if it calls a function in
another file that changes. The name of the cache folder is therefore a hash of all source files of
rules and plug-ins.
"""

# Type errors of these kinds are ignored, because numba has hardly any static types.
# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import dispatcher
from numba.core.caching import FunctionCache

from poker_rl.config.plugins import list_plugins

RULES_FOLDER = Path(__file__).parents[1] / "games"
PROBE_BYTES = 1 << 20  # on a full disk, a file of this size can't be written


class RepairingCache(FunctionCache):
    """Numba's cache of a function, which discards damaged files and compiles again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for argument types; None if it is missing or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file may raise any exception
            self.flush()
            return None


@cache
def enable_compile_cache() -> None:
    """Let numba cache compiled code in a folder named by the hash of the source files.

    If that folder can't be written, use a temporary one and print a warning on standard error.
    """
    dispatcher.FunctionCache = RepairingCache
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    folders = [RULES_FOLDER, *(plugin.folder for plugin in list_plugins())]
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    contents = b"".join(path.read_bytes() for path in (Path(__file__), *sources))
    digest = sha256(contents).hexdigest()[:16]
    try:
        cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = cache_home / "poker-rl" / digest
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(PROBE_BYTES))
    except (OSError, RuntimeError) as error:  # Path.home raises RuntimeError without a home folder
        # Child processes inherit XDG_CACHE_HOME and therefore use the same folder.
        os.environ["XDG_CACHE_HOME"] = temporary = tempfile.mkdtemp(prefix="poker-rl-cache-")
        folder = Path(temporary, "poker-rl", digest)
        reason = str(error).rstrip(".")
        print(
            f"poker-rl: compiled rules can't be kept: {reason}; they are kept in {folder} for now."
            " Set XDG_CACHE_HOME to a folder that can be written",
            file=sys.stderr,
        )
    numba.config.CACHE_DIR = str(folder)
