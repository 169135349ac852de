"""Command line `poker-rl COMMAND …`; cli/commands.py has the table of commands.

Settings are given as Hydra overrides, key=value. A mistake of the user raises a `ConfigError`,
which is printed in one line, with exit code 2. A failure of the machine raises an OSError, which is
printed in one line, with exit code 1. Any other exception is a bug. Slow imports are inside
functions, so that `--help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import NoReturn

from poker_rl import __version__
from poker_rl.cli.commands import COMMANDS, SettingsCommand, run_or_print_help
from poker_rl.cli.help_texts import PROGRAM_HELP
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import format_os_error, name_path_in_errors, print_error, print_line


def main() -> NoReturn:
    """Run `poker-rl` with the arguments of the process, and exit with its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell has closed the stream
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, TextIOWrapper):  # escape characters that the encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = run_command(sys.argv[1:])
        with name_path_in_errors("standard output"):
            sys.stdout.flush()
    except ConfigError as error:
        print_error(str(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        code = 128 + signal.SIGPIPE
    except OSError as error:  # a failure of the machine, such as a full disk
        print_error(format_os_error(error))
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # redirect, so that Python's flush at exit can't fail
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run the command that the first argument names, and return its exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        print_line(f"poker-rl {__version__}" if name == "--version" else PROGRAM_HELP)
        return 0
    command = COMMANDS.get(name)
    if command is None:
        raise ConfigError(f"{name}: no such command; {suggest_allowed(name, COMMANDS)}")
    if isinstance(command, SettingsCommand):
        return run_or_print_help(name, command, arguments[1:])
    return command(arguments[1:])
