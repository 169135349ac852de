"""Disk cache of compiled rules.

Numba keeps compiled code on disk, but does not see that a function called from another file has
changed. The cache folder is therefore named by a hash of the sources of the rules and of plug-ins.
A damaged file is compiled again. Where the folder can't be written, a temporary one takes its
place, with one line on standard error.
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

from poker_rl.config.plugins import sources as plugin_sources

RULES = Path(__file__).parents[1] / "games"
PROBE = 1 << 20  # bytes written to try a folder: a full disk still takes an empty file
VARIABLE = "NUMBA_CACHE_DIR" if "NUMBA_CACHE_DIR" in os.environ else "XDG_CACHE_HOME"

config: Any = numba.config


@cache
def use_cache() -> None:
    """Let numba keep compiled code in a folder of these sources, in a temporary one if need be."""
    dispatcher.FunctionCache = RobustCache
    ours = sorted(RULES.rglob("*.py"))
    sources = b"".join(path.read_bytes() for path in [*ours, *plugin_sources()])
    RobustCache.digest = hashlib.sha256(sources).hexdigest()[:16]
    try:
        if VARIABLE != "NUMBA_CACHE_DIR":
            caches = Path(os.environ.get(VARIABLE) or Path.home() / ".cache")
            config.CACHE_DIR = str(caches / "poker-rl" / RobustCache.digest)
        os.makedirs(config.CACHE_DIR, exist_ok=True)
        with tempfile.TemporaryFile(dir=config.CACHE_DIR, buffering=0) as file:
            file.write(bytes(PROBE))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        use_temporary_folder(error)


def use_temporary_folder(error: Exception) -> None:
    """Let numba keep compiled code in a temporary folder, and print why and what to set."""
    why = (
        f"{config.CACHE_DIR}: {error.strerror}"
        if isinstance(error, OSError)
        else str(error).rstrip(".")
    )
    folder = temporary_folder()
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder / RobustCache.digest)
    if before != config.CACHE_DIR and multiprocessing.parent_process() is None:
        print(
            f"poker-rl: compiled rules can't be kept: {why}; they are kept in {folder} for now."
            f" Set {VARIABLE} to a folder that can be written",
            file=sys.stderr,
        )


@cache
def temporary_folder() -> Path:
    """Return this user's folder for compiled code among the temporary files.

    Loading compiled code executes it, so a folder of somebody else is not used.
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
        """Return the compiled code of such bytes.

        Raises:
            ValueError: if they do not fit the checksum.
        """
        checksum, code = reduced_data
        if zlib.crc32(code) != checksum:
            raise ValueError("the checksum is wrong")
        return super().rebuild(target_context, pickle.loads(code))


class RobustCache(FunctionCache):
    """A function's cache that survives damaged files and a folder that can't be written."""

    _impl_class = ChecksummedCode
    digest = ""  # of the sources, the name of the cache folder

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
            OSError: if the temporary folder can't be written either.
        """
        self._write(partial(super().save_overload, sig, data))

    def _write(self, write: Callable[[], None]) -> None:
        """Write, to the temporary folder if need be."""
        try:
            write()
        except OSError as error:
            error.filename = folder = self.cache_path
            use_temporary_folder(error)
            super().__init__(self._py_func)
            if self.cache_path == folder:
                raise
            self._write(write)
