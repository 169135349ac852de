"""Reading of files that a stranger may have written.

Opening a pipe can wait forever, a device never ends, and a few lines of YAML can stand for billions
of values. A file is therefore checked before it is read. SECURITY.md lists all such checks.
"""

from __future__ import annotations

import json
import stat
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import yaml  # type: ignore[import-untyped]

from poker_rl.config.validation import ConfigError

MIB = 1 << 20
MAX_YAML_BYTES = MIB  # PyYAML reads a mebibyte in two seconds
MAX_JSON_BYTES = 16 * MIB  # the 5,000 jobs of a sweep; Python needs a second and 400 MB for it

MAX_DEPTH = 50  # levels of nested collections; the settings of a run have four
MAX_VALUES = 10_000  # the settings of a run are about a hundred
MAX_TEXT_LENGTH = 5_000  # a path has up to 4,096; PyYAML takes a minute for long numbers


def open_regular_file(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file for reading, unless it is a folder, a pipe or a device, or is too large.

    Raises:
        ConfigError: if it is one of these.
        OSError: if it does not exist or can't be read.
    """
    file_status = path.stat()
    if not stat.S_ISREG(file_status.st_mode):
        raise ConfigError(f"{path} is not a file")
    if file_status.st_size > max_bytes:
        raise ConfigError(f"{path} has {file_status.st_size:,} bytes; allowed: up to {max_bytes:,}")
    return path.open("rb")


def read_yaml_text(path: Path, decode_errors: str = "strict") -> str:
    """Return the text of a YAML file without checks; raise the errors of `open_regular_file`."""
    with open_regular_file(path, MAX_YAML_BYTES) as file:
        try:
            return file.read(MAX_YAML_BYTES).decode(errors=decode_errors)
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: is not text") from None


def read_checked_yaml_text(path: Path) -> str:
    """Return the text of a YAML file that is safe to load.

    Raises:
        ConfigError: if it is not YAML, or nests too deep, refers to itself, or stands for too many
            or too long values.
        OSError: if it does not exist or can't be read.
    """
    text = read_yaml_text(path)
    try:
        check_yaml_nodes(yaml.compose(text, yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested over {MAX_DEPTH} deep") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return text


def check_yaml_nodes(root: yaml.Node | None) -> None:
    """Check nesting depth, number and length of values; each use of a YAML alias counts."""
    pending, value_count = [(root, 0)], 0
    while pending:
        node, depth = pending.pop()
        value_count += 1
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            children = list(chain.from_iterable(node.value))
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        elif node is not None and len(node.value) > MAX_TEXT_LENGTH:
            raise ConfigError(f"has a text of over {MAX_TEXT_LENGTH:,} characters")
        if depth > MAX_DEPTH:
            raise ConfigError(f"is nested over {MAX_DEPTH} deep, or refers to itself")
        if value_count > MAX_VALUES:
            raise ConfigError(f"stands for more than {MAX_VALUES:,} values")
        pending += [(child, depth + 1) for child in children]


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the content of a JSON file.

    Raises:
        ConfigError, OSError: in the cases that `open_regular_file` lists.
        ValueError: if it is not JSON, or is nested too deep.
    """
    with open_regular_file(path, max_bytes) as file:
        try:
            return json.loads(file.read(max_bytes))
        except RecursionError:
            raise ValueError(f"{path} is nested too deep") from None
