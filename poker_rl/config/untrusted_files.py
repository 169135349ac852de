"""Reading of files that a stranger may have written.

Opening a pipe can block forever, and reading a device may never end. A file is therefore checked
before it is read.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, BinaryIO

from poker_rl.config.validation import ConfigError

MIB = 1 << 20
MAX_YAML_BYTES = MIB // 8  # PyYAML needs up to some seconds for a file of this size
MAX_JSON_BYTES = 16 * MIB  # enough for a sweep of 5,000 jobs; Python parses it in a second


def open_regular_file(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file; raise ConfigError for a folder, a pipe or a device, and if it is too large."""
    file_status = path.stat()
    if not stat.S_ISREG(file_status.st_mode):
        raise ConfigError(f"{path} is not a file")
    if file_status.st_size > max_bytes:
        raise ConfigError(f"{path} has {file_status.st_size:,} bytes; allowed: up to {max_bytes:,}")
    return path.open("rb")


def read_yaml_text(path: Path, decode_errors: str = "strict") -> str:
    """Return the text of a YAML file; only its type and size are checked."""
    with open_regular_file(path, MAX_YAML_BYTES) as file:
        try:
            return file.read(MAX_YAML_BYTES).decode(errors=decode_errors)
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: is not text") from None


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the content of a JSON file; raise ValueError if it is not JSON or nested too deep."""
    with open_regular_file(path, max_bytes) as file:
        try:
            return json.loads(file.read(max_bytes))
        except RecursionError:
            raise ValueError(f"{path} is nested too deep") from None
