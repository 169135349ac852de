"""Disk cache of the game rules that numba compiles.

Numba keeps compiled code on disk, but does not notice when a function called from another file has
changed. The cache folder is therefore named by a hash of the sources of the rules and of plug-ins.
"""

# numba has hardly any static types.
# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import dispatcher
from numba.core.caching import FunctionCache

from poker_rl.config.plugins import iterate_plugin_sources

RULES_FOLDER = Path(__file__).parents[1] / "games"
PROBE_BYTES = 1 << 20  # written as a test, because a full disk still accepts an empty file
CACHE_VARIABLE = "NUMBA_CACHE_DIR" if "NUMBA_CACHE_DIR" in os.environ else "XDG_CACHE_HOME"

config: Any = numba.config


@cache
def use_cache() -> None:
    """Let numba cache compiled code in the folder that belongs to the present sources.

    If nothing can be written there, a temporary folder is used and standard error says so.
    """
    dispatcher.FunctionCache = RepairingCache
    sources = [*sorted(RULES_FOLDER.rglob("*.py")), *iterate_plugin_sources()]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    try:
        if CACHE_VARIABLE != "NUMBA_CACHE_DIR":
            cache_home = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache")
            config.CACHE_DIR = str(cache_home / "poker-rl" / digest)
        os.makedirs(config.CACHE_DIR, exist_ok=True)
        with tempfile.TemporaryFile(dir=config.CACHE_DIR, buffering=0) as file:
            file.write(bytes(PROBE_BYTES))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        reason = f"{config.CACHE_DIR}: {error.strerror}" if isinstance(error, OSError) else error
        config.CACHE_DIR = str(create_temporary_folder() / digest)
        if multiprocessing.parent_process() is None:
            print(
                f"poker-rl: compiled rules can't be kept: {str(reason).rstrip('.')}; they are kept"
                f" in {config.CACHE_DIR} for now. Set {CACHE_VARIABLE} to a folder that can be"
                " written",
                file=sys.stderr,
            )


def create_temporary_folder() -> Path:
    """Return a folder for compiled code that is below the temporary folder and owned by this user.

    Loading compiled code executes it, so a folder of another user is not used.
    """
    folder = Path(tempfile.gettempdir(), f"poker-rl-cache-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="poker-rl-cache-"))
    return folder


class RepairingCache(FunctionCache):
    """Cache of a function's compiled code that replaces damaged files."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if it is missing or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes may raise any exception
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled code for a signature, and let an OSError name the folder."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            error.filename = self.cache_path
            raise
