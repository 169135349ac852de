"""What the commands have in common: their arguments, the folders of options, complaints."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from poker_rl.config.settings import Refused
from poker_rl.storage.disk import say, tell

SETTING = re.compile(r"\w+=")  # how key=value begins, and a path hardly does
SETTING_AS_OPTION = re.compile(r"unrecognized arguments: --([a-z]\w+)(?=[=\s]|$)")


class Once(argparse.Action):
    """An option with a value that is given once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: object,
        option: str | None = None,
    ) -> None:
        """Take the value, or refuse a second one."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option}: given twice; give it once")
        setattr(namespace, self.dest, value)


class Arguments(argparse.ArgumentParser):
    """A parser of what all commands take, whose errors are one line like all others."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_true")
        self.add_argument("--config-dir", action=Once)

    def error(self, message: str) -> NoReturn:
        if unknown := SETTING_AS_OPTION.match(message):
            message += f"; a setting has no dashes: {unknown[1]}=…"
        raise Refused(message)


def options(own: str | None) -> list[Path]:
    """The folders of options, that of the user among them; tells of plug-ins that can't be used."""
    from poker_rl.config.options import folders
    from poker_rl.config.plugins import broken

    for complaint in broken():
        tell(complaint)
    return folders(own)


def words_of(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line, and all other arguments as `words`.

    Raises:
        Refused: if the arguments can't be read.
    """
    parser = Arguments()
    parser.add_argument("words", nargs="*")
    return parser.parse_intermixed_args(arguments)


def keys_of(arguments: list[str]) -> list[str]:
    """The keys of the settings among the arguments."""
    return [word.partition("=")[0] for word in words_of(arguments).words]


def asked(
    name: str, explained: str, arguments: list[str], groups: Sequence[str], target: str
) -> tuple[dict[str, Any], Mapping[str, Any] | None, list[Path]] | None:
    """The settings of a command whose defaults stand in `conf/<name>.yaml`.

    Args:
        name: of the command.
        explained: what `--help` prints before those defaults.
        groups: of options, such as `game`, that are composed if one of them is given.
        target: the dotted name of the dataclass of the command's own settings.

    Returns:
        the command's own settings, those of the groups or None if none is given, and the folders of
        options; None if only help was asked for, which is printed.

    Raises:
        Refused: if the arguments can't be read or are of nothing that there is.
    """
    given = words_of(arguments)

    from poker_rl.config.options import CONF, demand_once

    demand_once(given.words)

    path = CONF / f"{name}.yaml"
    if given.help:
        say(f"{explained}\n\n{path.read_text().strip()}")
        return None
    conf = options(given.config_dir)
    of_group = [o for o in given.words if o.partition("=")[0].partition(".")[0] in groups]

    from poker_rl.config.classes import class_of
    from poker_rl.config.overrides import overridden

    own = [word for word in given.words if word not in of_group]
    settings = overridden(path, own, class_of(target))
    chosen = None
    if of_group:
        from poker_rl.config.compose import composed

        chosen = composed(of_group, conf)
        for group in groups:
            if chosen.get(group) is None:
                raise Refused(f"{group}: missing; give {group}=…")
    return settings, chosen, conf


def asked_of_runs(
    name: str, explained: str, arguments: list[str], target: str
) -> tuple[list[str], dict[str, Any], list[Path]] | None:
    """The same for a command that takes run folders as plain words among its settings.

    Returns:
        the words, the command's settings and the folders of options; None if only help was asked
        for, which is printed.

    Raises:
        Refused: if the arguments can't be read.
    """
    given = words_of(arguments)
    words = [word for word in given.words if not SETTING.match(word) or os.path.exists(word)]
    others = [word for word in given.words if word not in words]
    flags = ["--help"] * given.help
    if given.config_dir is not None:
        flags.append(f"--config-dir={given.config_dir}")
    read = asked(name, explained, [*others, *flags], (), target)
    return None if read is None else (words, read[0], read[2])
