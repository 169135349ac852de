"""Command line `poker-rl COMMAND …`, with the table of the commands.

Settings are given as Hydra overrides, key=value. A mistake of the user raises a `ConfigError`,
which is printed in one line, with exit code 2. A failure of the machine raises an OSError, which is
printed in one line, with exit code 1. Any other exception is a bug. Slow imports are inside
functions, so that `--help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from io import TextIOWrapper
from typing import NoReturn

from poker_rl import __version__
from poker_rl.cli.commands import run_command_with_settings, run_folder_command, run_list, run_train
from poker_rl.config.input_checks import ConfigError, suggest_allowed
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.storage.terminal_printing import format_os_error, print_error, print_line

PROGRAM_HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<run>
  poker-rl evaluate run=FOLDER [key=value …]    measure the players of a run, play matches
  poker-rl evaluate game=NAME player=NAME …     measure any player of any game
  poker-rl play [key=value …]                   play yourself, in a browser or in a terminal
  poker-rl compare RUN… [key=value …]           results and curves of runs, means over seeds
  poker-rl sweep FOLDER                         progress of the jobs of a sweep, at any time
  poker-rl watch RUN                            progress of a run while it trains
  poker-rl report RUN… [key=value …]            a report on runs, as one HTML file
  poker-rl advise game=NAME player=PLAYER hand=CARDS …   the policy of a player in a position
  poker-rl review hands=FILE run=FOLDER …                grades of the decisions in recorded hands
  poker-rl export run=FOLDER hands=1000 out=FILE …       hands, policies and weights as files
  poker-rl tournament game=NAME players=[…]     matches of players with each other, and a ranking
  poker-rl tune tune=NAME [key=value …]         a search for the best settings, many runs
  poker-rl list [GROUP …]                       games, algorithms, networks, players, experiments

First: `poker-rl train game=kuhn name=first`, then `poker-rl evaluate run=outputs/kuhn/ppo/first`.
`poker-rl COMMAND --help` explains a command and its main settings, --help=all has all of them.
`poker-rl --version` prints the version."""

# Function of each command, or its dotted name. A function that is given by name has settings in
# conf/<command>.yaml, and is imported only when the command runs.
COMMANDS: dict[str, Callable[[list[str]], int] | str] = {
    "train": run_train,
    "evaluate": "poker_rl.reports.evaluate.evaluate",
    "tournament": "poker_rl.reports.play_tournament.play_tournament",
    "play": "poker_rl.play.play_launcher.start_play",
    "advise": "poker_rl.play.advise_position.print_advice",
    "review": "poker_rl.play.review_recorded_hands.print_and_save_review",
    "compare": "poker_rl.reports.compare_runs.compare_runs",
    "sweep": partial(
        run_folder_command, "sweep", "poker_rl.sweeps.job_outcomes.print_and_save_progress"
    ),
    "watch": partial(run_folder_command, "watch", "poker_rl.reports.watch_run.watch_run"),
    "report": "poker_rl.reports.html_report.write_report",
    "export": "poker_rl.reports.export_hands_and_players.export_files",
    "tune": "poker_rl.sweeps.tune.tune",
    "list": run_list,
}


def main() -> NoReturn:
    """Run `poker-rl` with the arguments of the process, and exit with its exit code."""
    # A stream is None if its file descriptor is closed. Opening /dev/null takes this descriptor, so
    # that no file of a run gets it.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
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
    """Run the command that `arguments[0]` names, or print help or version; return the exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        print_line(f"poker-rl {__version__}" if name == "--version" else PROGRAM_HELP)
        return 0
    command = COMMANDS.get(name)
    if command is None:
        raise ConfigError(f"{name}: no such command; {suggest_allowed(name, COMMANDS)}")
    if isinstance(command, str):
        return run_command_with_settings(name, command, arguments[1:])
    return command(arguments[1:])
