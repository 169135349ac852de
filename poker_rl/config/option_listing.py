"""Lists of options and settings, explained by the comments in their YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    list_option_files,
)
from poker_rl.config.plugins import list_plugins
from poker_rl.config.untrusted_files import read_yaml_text

# Regex for a YAML line: groups 1 to 3 are its indentation, key and comment.
KEY_LINE_PATTERN = re.compile(r"^((?:\s|- )*)([\w/]+):(?:\s.*?)??(?:\s#\s*(.*))?$")
DEFAULT_OPTION_PATTERN = re.compile(r"^\s+- (\w+)$", re.MULTILINE)
GLOBAL_PACKAGE_LINE = "# @package _global_"
# The options of these groups override those of other groups, so their comments are merged last.
GROUPS_MERGED_LAST = ("experiment", "hardware")


def list_options_by_group(option_dirs: Sequence[Path]) -> dict[str, dict[str, Path]]:
    """Return the file of each option by group and name; the first folder that has it counts."""
    path_by_option: dict[str, dict[str, Path]] = {}
    for folder in option_dirs:
        for path in list_option_files(folder):
            path_by_option.setdefault(path.parent.name, {}).setdefault(path.stem, path)
    return {group: dict(sorted(path_by_option[group].items())) for group in sorted(path_by_option)}


def describe_options(options: Mapping[str, Path]) -> str:
    """Return a line for each option: name, first comment, and origin if it is not shipped."""
    return format_two_columns(
        {name: read_first_comment(path) + describe_origin(path) for name, path in options.items()}
    )


def describe_origin(path: Path) -> str:
    """Return an option's plug-in, or the user's file with it, in brackets; "" if it is shipped."""
    if path.is_relative_to(SHIPPED_OPTION_DIR):
        return ""
    packages = (p.package for p in list_plugins() if path.is_relative_to(p.option_dir))
    return f"  [{next(packages, path)}]"


def read_first_comment(path: Path) -> str:
    """Return the first line of the comment at the top of a file, without its `#`."""
    for line in read_yaml_text(path, decode_errors="replace").splitlines():
        if not line.startswith("#"):
            break
        if line != GLOBAL_PACKAGE_LINE:
            return line.lstrip("# ")
    return ""


def format_two_columns(rows: Mapping[str, str]) -> str:
    """Return a line for each name and its description, in two aligned columns."""
    width = max(map(len, rows), default=0)
    return "\n".join(f"  {name:{width}}  {text}".rstrip() for name, text in rows.items())


class FlowListDumper(yaml.SafeDumper):  # type: ignore[misc]
    """YAML dumper that writes each list on one line."""


FlowListDumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, True)
)


def dump_with_comments(
    config: object, option_dirs: Sequence[Path], option_by_group: Mapping[str, str | None]
) -> str:
    """Return settings as YAML text, with the comments of the option files that set them."""
    comment_by_key = read_comments(SHIPPED_OPTION_DIR / "config.yaml", "")
    # The comments are merged in the same order as Hydra merges the settings.
    first_groups = [group for group in option_by_group if group not in GROUPS_MERGED_LAST]
    for group in (*first_groups, *GROUPS_MERGED_LAST):
        for path in iterate_defining_files(option_dirs, group, option_by_group.get(group)):
            package = "" if GLOBAL_PACKAGE_LINE in read_yaml_text(path) else group
            comment_by_key |= read_comments(path, package)
    text = yaml.dump(config, Dumper=FlowListDumper, sort_keys=False, allow_unicode=True, width=1000)
    lines = text.splitlines()
    for line_number, key, _ in iterate_keys(text):
        if key in comment_by_key:
            lines[line_number] += f"  # {comment_by_key[key]}"
    return "\n".join(lines)


def iterate_defining_files(
    option_dirs: Sequence[Path], group: str, name: str | None
) -> Iterator[Path]:
    """Yield an option's own file after the files of the options that it extends."""
    paths = (folder / group / f"{name}.yaml" for folder in option_dirs)
    if path := next(filter(Path.is_file, paths), None):
        for base in DEFAULT_OPTION_PATTERN.findall(read_yaml_text(path)):
            if base != "_self_":
                yield from iterate_defining_files(option_dirs, group, base)
        yield path


def read_comments(path: Path, package: str) -> dict[str, str]:
    """Return the comments of a YAML file by dotted key; `package` is the prefix of the keys."""
    prefix = f"{package}." if package else ""
    keys = iterate_keys(read_yaml_text(path))
    return {f"{prefix}{key}": comment for _, key, comment in keys if comment}


def iterate_keys(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line number, the dotted key and the comment of each key in a YAML text."""
    parents: list[tuple[int, str]] = []
    for line_number, line in enumerate(text.splitlines()):
        if match := KEY_LINE_PATTERN.match(line):
            indent = len(match[1])
            while parents and parents[-1][0] >= indent:
                parents.pop()
            key = f"{parents[-1][1]}.{match[2]}" if parents else match[2]
            parents.append((indent, key))
            yield line_number, key, match[3]
