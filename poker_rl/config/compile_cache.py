"""Disk cache of the game rules that numba compiles.

Numba keeps compiled code on disk. But if a function calls another one from a different file, numba
does not notice changes in that file. The name of the cache folder is therefore a hash of all source
files of the rules and of plug-ins.
"""

# numba has hardly any static types.
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
PROBE_BYTES = 1 << 20  # size of a test file; a full disk would still accept an empty one


class RepairingCache(FunctionCache):
    """Cache of a function's compiled code that replaces damaged files, as after a power cut."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if it is missing or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes may raise any exception
            self.flush()
            return None


@cache
def enable_compile_cache() -> None:
    """Make numba cache compiled code in the folder for the present source files.

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
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        # Child processes inherit the variable and therefore use the same folder.
        os.environ["XDG_CACHE_HOME"] = temporary = tempfile.mkdtemp(prefix="poker-rl-cache-")
        folder = Path(temporary, "poker-rl", digest)
        reason = str(error).rstrip(".")
        print(
            f"poker-rl: compiled rules can't be kept: {reason}; they are kept in {folder} for now."
            " Set XDG_CACHE_HOME to a folder that can be written",
            file=sys.stderr,
        )
    numba.config.CACHE_DIR = str(folder)
