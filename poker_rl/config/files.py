"""Files that a stranger may have written, opened by one function.

Opening a pipe can wait for ever, a device never ends, and a large text takes minutes to parse: so a
file is looked at before a byte of it is read. SECURITY.md says what else is checked.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, BinaryIO

from poker_rl.config.settings import Refused

MIB = 1 << 20
# PyYAML reads a mebibyte in two seconds. Settings may have 10,000 values, see `yaml_text`: each may
# take 100 characters.
LARGEST_YAML = MIB
# The largest one lists the 5,000 jobs of a sweep. Python takes a second and 400 MB for so much.
LARGEST_JSON = 16 * MIB


def open_file(path: Path, most: int) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        most: bytes that it may have.

    Raises:
        Refused: if it is a folder, a pipe or a device, or has more bytes.
        OSError: if it is not there or can't be read.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a file")
    if found.st_size > most:
        raise Refused(f"{path} has {found.st_size:,} bytes; allowed: up to {most:,}")
    return path.open("rb")


def read_text(path: Path, errors: str = "strict") -> str:
    """Return the text of a YAML file.

    Args:
        errors: as of `bytes.decode`.

    Raises:
        Refused: as `open_file`, or if it is not text in UTF-8.
        OSError: if it is not there or can't be read.
    """
    with open_file(path, LARGEST_YAML) as file:
        try:
            return file.read(LARGEST_YAML).decode(errors=errors)
        except UnicodeDecodeError:
            raise Refused(f"{path}: is not text") from None


def read_json(path: Path, most: int = LARGEST_JSON) -> Any:
    """Return what a JSON file holds.

    Raises:
        Refused: as `open_file`.
        OSError: if it is not there or can't be read.
        ValueError: if it is not JSON, or nests too deep.
    """
    with open_file(path, most) as file:
        try:
            return json.loads(file.read(most))
        except RecursionError:
            raise ValueError(f"{path} nests too deep") from None
