"""Option files, the YAML files in conf/ and in the folders of users and plug-ins.

This module finds, reads and lists them. Settings that were read are plain nested dictionaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, OmegaConfBaseException

from poker_rl.config.input_checks import ConfigError, error_prefix, read_yaml_text, suggest_allowed
from poker_rl.config.plugins import list_plugins

# The installed package contains the folder conf; in a checkout, conf is beside it.
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
SHIPPED_OPTION_DIR = next(
    path for path in (PACKAGE_FOLDER / "conf", PACKAGE_FOLDER.parent / "conf") if path.is_dir()
)
# Regex for a YAML line: groups 1 to 3 are its indentation, key and comment.
KEY_LINE_PATTERN = re.compile(r"^((?:\s|- )*)([\w/]+):(?:\s.*?)??(?:\s#\s*(.*))?$")
GLOBAL_PACKAGE_LINE = "# @package _global_"

MISSING = object()


def to_plain_dict(config: Any) -> dict[str, Any]:
    """Return settings as dictionaries, lists and scalars, with references (`${key}`) resolved."""
    try:
        plain_values: Any = OmegaConf.to_container(OmegaConf.create(config), resolve=True)
    except InterpolationToMissingValueError as error:
        # `error.full_key` is the setting with the reference; only the message has the missing key.
        missing_key = str(error).splitlines()[0].rpartition(" ")[2]
        raise ConfigError(f"{missing_key}: missing; give {missing_key}=…") from None
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    return dict(plain_values)


def extract_override_key(override: str) -> str:
    """Return the key of an override, such as `algo.lr` of `algo.lr=1` or `~algo.lr`."""
    return override.partition("=")[0].lstrip("+~")


def read_plain_yaml(path: Path) -> dict[str, Any]:
    """Return the settings of a YAML file as plain values."""
    try:
        config = OmegaConf.load(StringIO(read_yaml_text(path)))
    except (
        *(OSError, yaml.YAMLError, OmegaConfBaseException),
        *(ValueError, AttributeError, RecursionError),
    ) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ConfigError(f"{path}: can't be read: {reason}") from None
    with error_prefix(str(path)):
        if not isinstance(config, DictConfig):
            raise ConfigError("is not a file of settings, key: value")
        return to_plain_dict(config)


def list_option_dirs(user_dir: str | None) -> list[Path]:
    """Return the option folders by precedence: the user's, the shipped one, those of plug-ins.

    Plug-ins come last, so that a new plug-in never replaces a shipped option.
    """
    if user_dir is not None and not (user_dir and Path(user_dir).is_dir()):
        raise ConfigError(f"--config-dir: {user_dir or 'an empty name'} is not a folder")
    user_dirs = [] if user_dir is None else [Path(user_dir)]
    plugin_dirs = [plugin.folder / "conf" for plugin in list_plugins()]
    return [*user_dirs, SHIPPED_OPTION_DIR, *filter(Path.is_dir, plugin_dirs)]


def list_option_files(folder: Path, group: str = "*") -> list[Path]:
    """Return the option files of one group or of all groups in a folder, without hidden files."""
    yaml_paths = folder.glob(f"{group}/*.yaml")
    return sorted(path for path in yaml_paths if path.is_file() and not path.name.startswith("."))


def list_user_option_dirs(option_dirs: Sequence[Path]) -> list[Path]:
    """Select from all option folders those that the user gave by --config-dir."""
    return list(option_dirs[: option_dirs.index(SHIPPED_OPTION_DIR)])


def convert_whole_floats_to_ints(value: Any) -> Any:
    """Return plain values with whole floats as integers, so that 1e6 equals 1000000."""
    if isinstance(value, dict):
        return {key: convert_whole_floats_to_ints(item) for key, item in value.items()}
    if isinstance(value, list):
        return [convert_whole_floats_to_ints(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def list_options_by_group(option_dirs: Sequence[Path]) -> dict[str, dict[str, Path]]:
    """Return {group: {option name: file}}; each option is from the first folder that has it."""
    path_by_option: dict[str, dict[str, Path]] = {}
    for folder in option_dirs:
        for path in list_option_files(folder):
            path_by_option.setdefault(path.parent.name, {}).setdefault(path.stem, path)
    return {group: dict(sorted(path_by_option[group].items())) for group in sorted(path_by_option)}


def find_option_file(group: str, option_name: str, option_dirs: Sequence[Path]) -> Path:
    """Return the file of an option such as player=uniform; raise ConfigError if there is none."""
    paths = [path for folder in reversed(option_dirs) for path in list_option_files(folder, group)]
    options = {path.stem: path for path in paths}
    if option_name not in options:
        hint = suggest_option(group, option_name, options)
        raise ConfigError(f"no {group} is called {option_name}; {hint}")
    return options[option_name]


def suggest_option(group: str, option_name: str, options: Iterable[str]) -> str:
    """Return a hint for a wrong name of an option."""
    hint = suggest_allowed(option_name, options)
    return f"{hint}; --config-dir FOLDER adds those in FOLDER/{group}"


def load_option(
    group: str, option_name: str, option_dirs: Sequence[Path] = (SHIPPED_OPTION_DIR,)
) -> dict[str, Any]:
    """Return the settings of an option; raise ConfigError if it does not exist."""
    settings = read_plain_yaml(find_option_file(group, option_name, option_dirs))
    # In a file with settings of several groups, each group has a section, such as `algo:`.
    option_config: dict[str, Any] = settings.get(group, settings)
    return option_config


def flatten_dict(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Convert nested dictionaries to one dictionary with dotted keys, such as `algo.lr`."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        key = f"{prefix}{name}"
        is_nested = isinstance(value, Mapping) and value
        values |= flatten_dict(value, f"{key}.") if is_nested else {key: value}
    return values


def find_differing_key(one: Any, other: Any, key: str = "") -> str | None:
    """Return the dotted key of the first difference between nested dictionaries; None if equal."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return None if one == other else key
    for name in sorted(one.keys() | other.keys(), key=str):
        path = f"{key}.{name}" if key else str(name)
        if found := find_differing_key(one.get(name), other.get(name), path):
            return found
    return None


def get_dotted_value(tree: Any, key: str) -> Any:
    """Return the value at a dotted key of nested dictionaries; MISSING if there is none."""
    for part in key.split("."):
        tree = tree.get(part, MISSING) if isinstance(tree, dict) else MISSING
    return tree


def set_dotted_value(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value at a dotted key of nested dictionaries."""
    *parents, last = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[last] = value


def describe_options(options: Mapping[str, Path]) -> str:
    """Return a line for each option: name, comment and, if not shipped, its plug-in or file."""
    width = max(map(len, options))
    lines = []
    for name, path in options.items():
        line = f"  {name:{width}}  {read_first_comment(path)}"
        if not path.is_relative_to(SHIPPED_OPTION_DIR):
            packages = (p.package for p in list_plugins() if path.is_relative_to(p.folder))
            line += f"  [{next(packages, path)}]"
        lines.append(line.rstrip())
    return "\n".join(lines)


def read_first_comment(path: Path) -> str:
    """Return the first line of the comment at the top of a file, without its `#`."""
    comment = takewhile(lambda line: line.startswith("#"), read_yaml_text(path).splitlines())
    return next((line.lstrip("# ") for line in comment if line != GLOBAL_PACKAGE_LINE), "")


class FlowListDumper(yaml.SafeDumper):  # type: ignore[misc]
    """YAML dumper that writes each list on one line, and repeats a value instead of an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True


FlowListDumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, True)
)


def dump_with_comments(config: object, comments: Mapping[str, str]) -> str:
    """Return settings as YAML text with `comments`, a dictionary of comments by dotted key."""
    text = yaml.dump(config, Dumper=FlowListDumper, sort_keys=False, allow_unicode=True, width=1000)
    lines = text.removesuffix("\n").split("\n")  # splitlines would also split at U+2028
    for line_number, key, _ in iterate_yaml_keys(text):
        if key in comments:
            lines[line_number] += f"  # {comments[key]}"
    return "\n".join(lines)


def read_comments(path: Path, package: str) -> dict[str, str]:
    """Return the comments in a YAML file by dotted key; `package` is put before each key."""
    prefix = f"{package}." if package else ""
    keys = iterate_yaml_keys(read_yaml_text(path))
    return {f"{prefix}{key}": comment for _, key, comment in keys if comment}


def iterate_yaml_keys(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line number, the dotted key and the comment of each key in a YAML text."""
    parents: list[tuple[int, str]] = []
    for line_number, line in enumerate(text.split("\n")):
        if match := KEY_LINE_PATTERN.match(line):
            indent = len(match[1])
            while parents and parents[-1][0] >= indent:
                parents.pop()
            key = f"{parents[-1][1]}.{match[2]}" if parents else match[2]
            parents.append((indent, key))
            yield line_number, key, match[3]
