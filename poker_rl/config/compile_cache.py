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
import pickle
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import dispatcher
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps

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
    RepairingCache.digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sources)
    ).hexdigest()[:16]
    try:
        if CACHE_VARIABLE != "NUMBA_CACHE_DIR":
            cache_home = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache")
            config.CACHE_DIR = str(cache_home / "poker-rl" / RepairingCache.digest)
        os.makedirs(config.CACHE_DIR, exist_ok=True)
        with tempfile.TemporaryFile(dir=config.CACHE_DIR, buffering=0) as file:
            file.write(bytes(PROBE_BYTES))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        use_temporary_folder(error)


def use_temporary_folder(error: Exception) -> None:
    """Let numba keep compiled code in a temporary folder, and print why and what to set."""
    reason = f"{config.CACHE_DIR}: {error.strerror}" if isinstance(error, OSError) else str(error)
    previous_folder = config.CACHE_DIR
    config.CACHE_DIR = str(create_temporary_folder() / RepairingCache.digest)
    if previous_folder != config.CACHE_DIR and multiprocessing.parent_process() is None:
        print(
            f"poker-rl: compiled rules can't be kept: {reason.rstrip('.')}; they are kept in"
            f" {config.CACHE_DIR} for now. Set {CACHE_VARIABLE} to a folder that can be written",
            file=sys.stderr,
        )


@cache
def create_temporary_folder() -> Path:
    """Return a folder for compiled code that is below the temporary folder and owned by this user.

    Loading compiled code executes it, so a folder of another user is not used.
    """
    folder = Path(tempfile.gettempdir(), f"poker-rl-cache-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="poker-rl-cache-"))
    return folder


class ChecksummedCode(CompileResultCacheImpl):
    """Compiled code with a checksum: machine code with a wrong byte would end the process."""

    def reduce(self, data: Any) -> tuple[int, bytes]:
        """Return the checksum and the bytes of compiled code."""
        code = dumps(super().reduce(data))
        return zlib.crc32(code), code

    def rebuild(self, target_context: Any, reduced_data: tuple[int, bytes]) -> Any:
        """Return the compiled code of these bytes.

        Raises:
            ValueError: if they do not have the checksum.
        """
        checksum, code = reduced_data
        if zlib.crc32(code) != checksum:
            raise ValueError("the checksum is wrong")
        return super().rebuild(target_context, pickle.loads(code))


class RepairingCache(FunctionCache):
    """Cache of a function's compiled code that replaces damaged files.

    It moves to a temporary folder if its own can't be written, as on a full disk.
    """

    _impl_class = ChecksummedCode
    digest = ""  # of the sources: the name of the cache folder

    def __init__(self, py_func: Any) -> None:
        try:
            super().__init__(py_func)
        except RuntimeError as error:  # numba has found no folder that can be written
            use_temporary_folder(error)
            super().__init__(py_func)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, None if it is missing or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes may raise any
            self._write(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature.

        Raises:
            OSError: naming the folder, if the temporary folder can't be written either.
        """
        self._write(partial(super().save_overload, sig, data))

    def _write(self, write: Callable[[], None]) -> None:
        """Write, to the temporary folder if necessary."""
        try:
            write()
        except OSError as error:
            error.filename = folder = self.cache_path
            use_temporary_folder(error)
            super().__init__(self._py_func)
            if self.cache_path == folder:
                raise
            self._write(write)
