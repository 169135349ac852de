"""Operations on files and output that may fail.

A failure of the machine (a full disk, a missing folder) is an OSError with a file name, which the
command line prints in one line with exit code 1. A path of the wrong kind is a ConfigError.
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

from poker_rl.config.validation import ConfigError

PARTIAL_SUFFIX = ".part"  # ending of the name of an incomplete file


@contextmanager
def naming_path(path: Path | str) -> Iterator[None]:
    """Add a file name to an OSError that is raised in this context without one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def format_os_error(error: OSError) -> str:
    """Return the path and the reason of a failure in one line."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def escape_control_characters(text: str) -> str:
    """Return text with escapes such as `\\x1b` for all that can't be printed, except line breaks.

    Control characters in a file from elsewhere could move the cursor, rename the window or hide
    text, and marks of writing direction could swap it.
    """
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def print_line(text: str, is_escaped: bool = False) -> None:
    """Print and flush text, so that this call raises the error if standard output fails.

    If `is_escaped` is set, untrusted parts are escaped already, and control characters are printed.
    """
    with naming_path("standard output"):
        print(text if is_escaped else escape_control_characters(text), flush=True)


def print_error(message: str) -> None:
    """Print a message to the user on standard error, if that can be written."""
    with suppress(OSError):
        print(f"poker-rl: {escape_control_characters(message)}", file=sys.stderr, flush=True)


@contextmanager
def atomic_replacement(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new file, which replaces `path` at the end, flushed to the disk.

    At any moment `path` is the whole old file or the whole new one. After a failure it is the old
    one, and the new file is removed. Its permissions are `mode`, less the user's umask.
    """
    # The name is random, so that nobody can place a link there that leads to another file.
    new_path = path.with_name(f"{path.name}.{token_hex(4)}{PARTIAL_SUFFIX}")
    try:
        os.close(os.open(new_path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, mode))
        yield new_path
        fsync_path(new_path)
        os.replace(new_path, path)
        fsync_path(path.parent)  # until then a power cut can undo the renaming
    except BaseException as error:
        with suppress(OSError):
            new_path.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def fsync_path(path: Path) -> None:
    """Flush the content of a file, or the list of names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_is_file(path: Path) -> None:
    """Raise ConfigError if a folder, a pipe or a device has this path."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is not a file")


def check_is_folder(path: Path) -> None:
    """Raise ConfigError if this path or a parent of it exists and is not a folder."""
    for folder in (*reversed(path.parents), path):
        if os.path.lexists(folder) and not folder.is_dir():
            raise ConfigError(f"{folder} is not a folder")


def check_no_special_files(folder: Path) -> None:
    """Raise ConfigError if there is a link, a pipe or a device in a folder to be written to.

    Writing through a link changes a file elsewhere, and writing to a pipe can wait forever.
    """
    for path in folder.rglob("*"):
        file_type = stat.S_IFMT(path.lstat().st_mode)
        if file_type not in (stat.S_IFREG, stat.S_IFDIR):
            kind = "a link" if file_type == stat.S_IFLNK else "not a file"
            raise ConfigError(
                f"{path} is {kind}; {folder} is only written to if it has files alone"
            )


def list_complete_names(folder: Path) -> set[str]:
    """Return the names in a folder, except those of incomplete files."""
    return {path.name for path in folder.iterdir() if path.suffix != PARTIAL_SUFFIX}


def remove_partial_files(folder: Path) -> None:
    """Remove the incomplete files in a folder that no other process writes to now."""
    for path in folder.rglob(f"*{PARTIAL_SUFFIX}"):
        if path.is_file():
            path.unlink()


def create_writable_folder(path: Path) -> None:
    """Create a folder if it does not exist, and check that it can be written to."""
    check_is_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "nothing can be written into this folder", str(path))


@contextmanager
def exclusive_lock(folder: Path, activity: str | None = None) -> Iterator[None]:
    """Let one process at a time enter this context for a folder.

    If the lock is taken, wait for it, or raise a ConfigError that names the other's `activity`.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if activity else 0))
        except BlockingIOError:
            raise ConfigError(f"{folder} is in use: another process is {activity}") from None
        yield
    finally:
        os.close(descriptor)


def prepare_output_file(path: Path, overwrite: bool) -> None:
    """Create the folder of an output file, and check that the file may be written."""
    check_is_file(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} is there already; give another name, or overwrite=true")
    create_writable_folder(path.parent)
