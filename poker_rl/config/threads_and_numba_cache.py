"""Set-up of a process: threads of torch and numba, and the disk cache of compiled game rules."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from poker_rl.config.plugins import list_plugins

MAX_AUTO_THREADS = 12  # `threads: auto` uses all cores, but at most 12
_threads_were_set = False


def count_cores() -> int:
    """Return the number of CPU cores that this process may use, which a cluster may limit."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def set_threads(threads: int) -> None:
    """Set the number of CPU threads of torch and numba in this process.

    numba gets at most NUMBA_NUM_THREADS. In the processes of joblib, this may be less than the
    number of cores.
    """
    import numba
    import torch

    global _threads_were_set
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    # torch comes last: numba changes the number of OpenMP threads, which torch uses too.
    torch.set_num_threads(threads)
    _threads_were_set = True


def set_one_thread_by_default() -> None:
    """Use one thread, the default of conf/config.yaml, unless `set_threads` was called before."""
    if not _threads_were_set:
        set_threads(1)


@cache
def enable_numba_cache() -> None:
    """Let numba cache compiled code in a folder named by the hash of the source files.

    Numba compiles a cached function again if the function's file changes, but not if the file of a
    function that it calls changes. So the name of the folder is a hash of all source files of rules
    and plug-ins. If the folder can't be written, use a temporary one and print a warning.
    """
    import numba

    if "NUMBA_CACHE_DIR" in os.environ:
        return
    folders = [Path(__file__).parents[1] / "games", *(plugin.folder for plugin in list_plugins())]
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    try:
        cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = cache_home / "poker-rl" / digest
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:  # Path.home raises RuntimeError without a home folder
        folder = Path(tempfile.mkdtemp(prefix="poker-rl-cache-"))
        os.environ["NUMBA_CACHE_DIR"] = str(folder)  # child processes use the same folder
        message = f"poker-rl: compiled rules can't be kept: {error}; they are in {folder} for now."
        print(message, "Set XDG_CACHE_HOME to a folder that can be written", file=sys.stderr)
    numba_config: Any = numba.config
    numba_config.CACHE_DIR = str(folder)
