"""Reading of files that may be damaged or malicious: type and size are checked before.

Opening a pipe could block forever, and reading a device might never end.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, BinaryIO

from poker_rl.config.validation import ConfigError

MIB = 1 << 20
MAX_YAML_BYTES = MIB // 8  # PyYAML needs a few seconds for a file of this size
MAX_JSON_BYTES = 16 * MIB  # enough for the list of jobs of a sweep with 5,000 jobs


def open_regular_file(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file; raise ConfigError if it is too large, or a folder, a pipe or a device."""
    file_status = path.stat()
    if not stat.S_ISREG(file_status.st_mode):
        raise ConfigError(f"{path} is not a file")
    if file_status.st_size > max_bytes:
        raise ConfigError(f"{path} has {file_status.st_size:,} bytes; allowed: up to {max_bytes:,}")
    return path.open("rb")


def read_yaml_text(path: Path, decode_errors: str = "strict") -> str:
    """Return the text of a YAML file without parsing it."""
    with open_regular_file(path, MAX_YAML_BYTES) as file:
        try:
            return file.read(MAX_YAML_BYTES).decode(errors=decode_errors)
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: is not text") from None


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the content of a JSON file; raise ValueError if it can't be parsed."""
    with open_regular_file(path, max_bytes) as file:
        try:
            return json.loads(file.read(max_bytes))
        except RecursionError:
            raise ValueError(f"{path} is nested too deep") from None
