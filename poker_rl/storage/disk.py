"""Files, folders and output of this machine, all of which may fail.

What the machine fails to do (the disk is full, a folder is gone) is an OSError that names its path;
`cli.main` tells it in a line, with exit code 1. What is there but of the wrong kind is refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from poker_rl.config.messages import printable
from poker_rl.config.settings import Refused

PART = ".part"  # ends the name of a file that takes another one's place when it is whole


@contextmanager
def at(path: Path | str) -> Iterator[None]:
    """What fails in this context and names no path is said to have failed at this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def error_line(error: OSError) -> str:
    """A failure in a line: the path and what the system says of it."""
    what = error.strerror or str(error)
    return what if error.filename is None else f"{error.filename}: {what}"


def say(text: str, painted: bool = False) -> None:
    """Print at once, so that a failure is noticed here.

    Args:
        painted: it has colours of ours, and what a stranger wrote in it is `printable` already.
    """
    with at("standard output"):
        print(text if painted else printable(text), flush=True)


def tell(what: str) -> None:
    """Print a message to the user on standard error, which may be gone."""
    with suppress(OSError):  # a terminal that was closed, or an error log that is full
        print(f"poker-rl: {printable(what)}", file=sys.stderr, flush=True)


@contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A file beside this one to write to; in the end it takes its place, flushed to the disk.

    Whatever happens, there is the whole old file or the whole new one; after a failure the old one,
    and nothing beside it. Of several processes that replace the same file the last one wins.

    Args:
        mode: permissions of the new file, less what the user's umask takes away.
    """
    # Under a fixed name a stranger's link could lie there, and lead to a file of the user's.
    beside = path.with_name(f"{path.name}.{token_hex(4)}{PART}")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, mode))
        yield beside
        sync(beside)
        os.replace(beside, path)
        sync(path.parent)  # a rename is only then safe from a power cut
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def demand_file(path: Path) -> None:
    """Refuse a folder, a pipe or a device in the place of a file: reading it might never end."""
    if path.exists() and not path.is_file():
        raise Refused(f"{path} is not a file")


def demand_folder(path: Path) -> None:
    """Refuse a file, or a link that leads nowhere, in the place of a folder or of one above it."""
    for folder in (*reversed(path.parents), path):
        if os.path.lexists(folder) and not folder.is_dir():
            raise Refused(f"{folder} is not a folder")


def demand_own(folder: Path) -> None:
    """Refuse a folder in which something is neither a file nor a folder, before it is written to.

    What is written through a link lands outside, and a pipe may never take it.

    Raises:
        Refused: naming the first.
    """
    for path in folder.rglob("*"):
        kind = stat.S_IFMT(path.lstat().st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            what = "a link" if kind == stat.S_IFLNK else "not a file"
            raise Refused(f"{path} is {what}; {folder} is only written to if it has files alone")


def names_in(folder: Path) -> set[str]:
    """Names of all that is in a folder, but for files that a process left half written."""
    return {path.name for path in folder.iterdir() if path.suffix != PART}


def remove_parts(folder: Path) -> None:
    """Remove what processes left half written in a folder that no other one writes to now."""
    for path in folder.rglob(f"*{PART}"):
        if path.is_file():
            path.unlink()


def make_folder(path: Path) -> None:
    """Make a folder in which something can be written, if it is not there.

    Raises:
        Refused: if something else is in its place.
        OSError: if nothing can be written into it.
    """
    demand_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "nothing can be written into this folder", str(path))


def check_reaches(file: IO[bytes], path: Path) -> None:
    """Check that what was written to an open file is to be found at its path.

    Raises:
        OSError: if the file was removed, replaced or cut.
    """
    there = path.stat()
    if not os.path.samestat(there, os.fstat(file.fileno())) or there.st_size < file.tell():
        raise OSError(errno.ESTALE, "was changed by another program while written", str(path))


@contextmanager
def alone(folder: Path, doing: str | None = None) -> Iterator[None]:
    """Only one process at a time is in this context of a folder.

    Args:
        doing: what another process is doing there, if it is not waited for.

    Raises:
        Refused: if another one is in it and is not waited for.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if doing else 0))
        except BlockingIOError:
            raise Refused(f"{folder} is in use: another process is {doing}") from None
        yield
    finally:
        os.close(descriptor)


def lacking(path: Path) -> Path | None:
    """The highest folder of a path that is not there; None if all are."""
    return next((one for one in (*reversed(path.parents), path) if not one.exists()), None)


def remove_made(folder: Path, made: Path) -> None:
    """Remove a folder that is empty, and those above it, up to the highest one that was made."""
    for one in (folder, *folder.parents):
        if one.is_relative_to(made):
            with suppress(OSError):  # something else is in it
                one.rmdir()


def make_room(path: Path, overwrite: bool) -> None:
    """Make the folder of a file that is to be written, before what it holds is computed.

    Raises:
        Refused: if the file is there and may not be replaced, or something else is in its place.
        OSError: if nothing can be written into the folder.
    """
    demand_file(path)
    if path.exists() and not overwrite:
        raise Refused(f"{path} is there already; give another name, or overwrite=true")
    make_folder(path.parent)
