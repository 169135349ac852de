"""Command line `poker-rl COMMAND …`; cli/commands.py has the table of commands.

Settings are given as Hydra overrides, key=value. Mistakes of the user are a `ConfigError`, printed
in one line with exit code 2; failures of the machine are an OSError, printed in one line with exit
code 1; any other exception is a bug. Imports are late so that `--help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import NoReturn

from poker_rl import __version__
from poker_rl.cli.commands import COMMANDS, SettingsCommand, run_settings_command
from poker_rl.cli.help_texts import PROGRAM_HELP
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import format_os_error, naming_path, print_error, print_line


def main() -> NoReturn:
    """Run the command line and exit; the entry point of the console script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, TextIOWrapper):  # its encoding may lack some characters
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = run_command(sys.argv[1:])
        with naming_path("standard output"):
            sys.stdout.flush()
    except ConfigError as error:
        print_error(str(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        code = 128 + signal.SIGPIPE
    except OSError as error:  # a full disk, a folder that was removed
        print_error(format_os_error(error))
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would flush it again at exit, and print a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run the command that the arguments begin with; return its exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        print_line(f"poker-rl {__version__}" if name == "--version" else PROGRAM_HELP)
        return 0
    command = COMMANDS.get(name)
    if command is None:
        raise ConfigError(f"{name}: no such command; {suggest_allowed(name, COMMANDS)}")
    if isinstance(command, SettingsCommand):
        return run_settings_command(name, command, arguments[1:])
    return command(arguments[1:])
