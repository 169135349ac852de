"""What can be set, as the YAML tells it: the first comment of a file, those behind its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from poker_rl.config.files import read_text
from poker_rl.config.options import CONF, of_the_user, option_files
from poker_rl.config.plugins import plugins

# "- " before a key only indents it further; a value may hold a "#", a comment follows a space.
KEY = re.compile(r"^((?:\s|- )*)([\w/]+):(?:\s.*?)??(?:\s#\s*(.*))?$")
DEFAULT = re.compile(r"^\s+- (\w+)$", re.MULTILINE)
GLOBAL = "# @package _global_"


def groups(conf: Sequence[Path]) -> dict[str, dict[str, Path]]:
    """The file of each option, by group and name.

    Args:
        conf: the folders searched for the options; the first one found counts.
    """
    found: dict[str, dict[str, Path]] = {}
    for folder in conf:
        for path in option_files(folder):
            found.setdefault(path.parent.name, {}).setdefault(path.stem, path)
    return {group: dict(sorted(options.items())) for group, options in sorted(found.items())}


def described(options: Mapping[str, Path]) -> str:
    """The options of a group, each with its comment, and where it comes from if not shipped."""
    return table({name: about(path) + origin(path) for name, path in options.items()})


def origin(path: Path) -> str:
    """What is written behind an option: the plug-in it is of, or its file if it is the user's."""
    if path.is_relative_to(CONF):
        return ""
    of_plugin = (plugin.package for plugin in plugins() if path.is_relative_to(plugin.conf))
    return f"  [{next(of_plugin, path)}]"


def origins(conf: Sequence[Path]) -> Iterator[str]:
    """What stands below a list of options: where they come from, and which can't be had.

    Args:
        conf: the folders searched for the options.
    """
    used = {path for options in groups(conf).values() for path in options.values()}
    for plugin in plugins():
        release = f"{plugin.distribution} {plugin.version}"
        yield f"[{plugin.package}] comes with the plug-in {release}, from {plugin.folder}"
        for path in sorted(set(option_files(plugin.conf)) - used):
            yield f"{path} is not used: another {path.parent.name} of that name comes first"
    if of_the_user(conf):
        yield "[a file] is yours"
    yield f"what has no brackets behind it comes with poker-rl, from {CONF}"


def about(path: Path) -> str:
    """The comment a file begins with."""
    for line in read_text(path, errors="replace").splitlines():
        if not line.startswith("#"):
            break
        if line != GLOBAL:
            return line.lstrip("# ")
    return ""


def table(rows: Mapping[str, str], indent: str = "  ") -> str:
    """Names and what they mean, in two columns."""
    width = max(map(len, rows), default=0)
    return "\n".join(f"{indent}{name:{width}}  {text}".rstrip() for name, text in rows.items())


class Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes lists on one line."""


Dumper.add_representer(
    list, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, True)
)


def annotated(settings: object, conf: Sequence[Path], choices: Mapping[str, str | None]) -> str:
    """Settings as YAML, each key with the comment it has where it was set.

    Args:
        conf: the folders searched for the options, one of which has the root settings.
        choices: the option chosen of each group.
    """
    roots = (path for folder in conf if (path := folder / "config.yaml").is_file())
    notes = comments(next(roots), "")
    # An experiment speaks last, as it does when settings are merged.
    for group in sorted(choices, key=lambda group: group == "experiment"):
        for path in sources(conf, group, choices[group]):
            package = "" if GLOBAL in read_text(path) else group
            notes |= comments(path, package)
    text = yaml.dump(settings, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
    lines = text.splitlines()
    for place, key, _ in keys(text):
        if key in notes:
            lines[place] += f"  # {notes[key]}"
    return "\n".join(lines)


def sources(conf: Sequence[Path], group: str, name: str | None) -> Iterator[Path]:
    """The files an option is made of: those of its group that it starts from, then its own."""
    path = next((p for c in conf if (p := c / group / f"{name}.yaml").is_file()), None)
    if path is not None:
        for base in DEFAULT.findall(read_text(path)):
            if base != "_self_":
                yield from sources(conf, group, base)
        yield path


def comments(path: Path, package: str) -> dict[str, str]:
    """The comments behind the keys of a file, by dotted key."""
    prefix = f"{package}." if package else ""
    return {f"{prefix}{key}": note for _, key, note in keys(read_text(path)) if note}


def keys(text: str) -> Iterator[tuple[int, str, str | None]]:
    """The keys of a YAML text: number of the line, dotted key, the comment behind it."""
    above: list[tuple[int, str]] = []  # indentation and dotted key of the mappings we are in
    for number, line in enumerate(text.splitlines()):
        if match := KEY.match(line):
            indent = len(match[1])
            while above and above[-1][0] >= indent:
                above.pop()
            key = f"{above[-1][1]}.{match[2]}" if above else match[2]
            above.append((indent, key))
            yield number, key, match[3]
