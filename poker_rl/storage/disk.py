"""Operations on files that may fail.

For a failure of the machine, such as a full disk, they raise an OSError with a path; the command
line prints it in one line and exits with code 1. For a path of the wrong kind, such as a folder
instead of a file, they raise a ConfigError.
"""

from __future__ import annotations

import csv
import errno
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from secrets import token_hex
from typing import Any

from poker_rl.config.input_checks import ConfigError, error_prefix

PARTIAL_SUFFIX = ".part"  # suffix of a file that is not yet complete


@contextmanager
def name_path_in_errors(path: Path | str) -> Iterator[None]:
    """Add `path` to an OSError raised in this context, unless the error has a path already."""
    try:
        yield
    except OSError as error:
        if not isinstance(error.filename, str):
            error.filename = str(path)
        raise


@contextmanager
def atomic_replacement(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new, empty file to write; on exit, replace the file `path` with it.

    The new file is flushed to the disk before it replaces the old one. So at any moment, `path` is
    either the complete old file or the complete new file. After an error the old file stays, and
    the new one is removed. The new file has the permissions `mode` less the user's umask.
    """
    # The name is random, so that no attacker can put a link to another file at this path before.
    new_path = path.with_name(f"{path.name}.{token_hex(4)}{PARTIAL_SUFFIX}")
    try:
        os.close(os.open(new_path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, mode))
        yield new_path
        fsync_path(new_path)
        os.replace(new_path, path)
        fsync_path(path.parent)  # without this flush, a power cut could undo the renaming
    except BaseException as error:
        with suppress(OSError):
            new_path.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def write_text_atomically(path: Path, text: str) -> None:
    """Write or replace a text file; it is never incomplete, even after a crash.

    Characters that can't be encoded in UTF-8, as in some file names, are written as escapes.
    """
    with atomic_replacement(path) as new_path:
        new_path.write_text(text, encoding="utf-8", errors="backslashreplace")


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; the first line has the names of the columns."""
    file = StringIO()
    columns = dict.fromkeys(key for row in rows for key in row)
    # This writer ends lines by CR LF, and therefore quotes cells that contain CR or LF.
    writer = csv.DictWriter(file, columns)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().replace("\r\n", "\n")


def fsync_path(path: Path) -> None:
    """Wait until a file's contents, or a folder's list of names, are flushed to the disk."""
    with name_path_in_errors(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_file_path(path: Path) -> None:
    """Raise ConfigError if the path exists and is a folder, a pipe or a device."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is not a file")


def check_folder_path(path: Path) -> None:
    """Raise ConfigError if the path or one of its parents exists and is not a folder."""
    for folder in (*reversed(path.parents), path):
        if os.path.lexists(folder) and not folder.is_dir():
            raise ConfigError(f"{folder} is not a folder")


def list_complete_files(folder: Path) -> set[str]:
    """Return the names of the files and folders in a folder, without incomplete files."""
    return {path.name for path in folder.iterdir() if path.suffix != PARTIAL_SUFFIX}


def remove_partial_files(folder: Path) -> None:
    """Remove incomplete files in a folder and below; no other process may be writing there."""
    for path in folder.rglob(f"*{PARTIAL_SUFFIX}"):
        if path.is_file():
            path.unlink()


def create_writable_folder(path: Path) -> None:
    """Create a folder if it does not exist; raise ConfigError if it can't be written into."""
    check_folder_path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        if error.errno == errno.ENOSPC:  # no space left, which is no mistake of the user
            raise
        problem = f"nothing can be written into the folder {path}: {error.strerror}"
        raise ConfigError(problem) from None


@contextmanager
def exclusive_lock(folder: Path, activity: str | None = None) -> Iterator[None]:
    """Lock a folder while in this context; only one process at a time can hold the lock.

    If another process holds the lock, wait until it is free. But with `activity`, such as "training
    it", raise a ConfigError at once, which says that another process is doing this.
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


def prepare_output_file(key: str, path: Path, overwrite: bool) -> None:
    """Create the folder of the file that the setting `key` names.

    Raise ConfigError if the file exists, unless `overwrite`, or if the path is of the wrong kind.
    """
    with error_prefix(key):
        check_file_path(path)
        if path.exists() and not overwrite:
            raise ConfigError(f"{path} is there already; give another name, or overwrite=true")
        create_writable_folder(path.parent)
