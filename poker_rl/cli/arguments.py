"""Parser of the arguments that all commands take."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn

from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import print_error

DASHED_SETTING_PATTERN = re.compile(r"unrecognized arguments: --([a-z]\w+)(?=[=\s]|$)")


class StoreOnce(argparse.Action):
    """Option that may be given once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Store the value; a second one is an error."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string}: given twice; give it once")
        setattr(namespace, self.dest, values)


class ArgumentParser(argparse.ArgumentParser):
    """Parser for --help, --config-dir and positional words, with one-line error messages."""

    def __init__(self, words_name: str) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_true")
        self.add_argument("--config-dir", action=StoreOnce)
        self.add_argument(words_name, nargs="*")

    def error(self, message: str) -> NoReturn:
        if setting := DASHED_SETTING_PATTERN.match(message):
            message += f"; a setting has no dashes: {setting[1]}=…"
        raise ConfigError(message)


def collect_option_dirs(user_dir: str | None) -> list[Path]:
    """Return the folders of options, and print a line for each plug-in that can't be used."""
    from poker_rl.config.option_files import list_option_dirs
    from poker_rl.config.plugins import list_plugin_problems

    for problem in list_plugin_problems():
        print_error(problem)
    return list_option_dirs(user_dir)
