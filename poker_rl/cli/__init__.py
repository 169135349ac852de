"""The command line, `poker-rl COMMAND …`, with a file for each command.

Imports config, play, reports, storage, sweeps and training.

Settings are given as Hydra's overrides. Whatever the user got wrong is a `Refused`, told in a line
or two with exit code 2; any other exception is a bug. Imports are late so that `--help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

from poker_rl import __version__
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import at, error_line, say, tell

HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<run>
  poker-rl evaluate run=FOLDER [key=value …]    measure what a run has learnt, play matches
  poker-rl evaluate game=NAME player=NAME …     the same of any player of any game
  poker-rl play [key=value …]                   play yourself, in a browser or in a terminal
  poker-rl compare RUN… [key=value …]           figures and curves of several runs, over their seeds
  poker-rl sweep FOLDER                         how far the jobs of a sweep are, at any time
  poker-rl report RUN… [key=value …]            runs as a page to read and print, one HTML file
  poker-rl advise game=NAME player=PLAYER hand=CARDS …   what a player would do in a position
  poker-rl export run=FOLDER hands=1000 out=FILE …       hands and policies for other programs
  poker-rl tournament game=NAME players=[…]     players against each other: a cross table, a ranking
  poker-rl tune tune=NAME [key=value …]         a search for the best settings, many runs
  poker-rl list [GROUP …]                       games, algorithms, networks, players, experiments

The first three things to try:
  poker-rl train game=kuhn name=first           half a minute; the folder is outputs/kuhn/ppo/first
  poker-rl evaluate run=outputs/kuhn/ppo/first against=[uniform,equilibrium]
  tensorboard --logdir outputs                  look at the curves

Then:
  poker-rl train experiment=ppo_leduc           a set-up that the results were made with
  poker-rl train -m algo=vpg,ppo seed=0,1,2     a sweep: one run after another
  poker-rl train resume=FOLDER                  go on with a run that was stopped
  poker-rl train warm_start=FOLDER …            a new run that begins with the networks of another

`poker-rl COMMAND --help` tells more, --version the version."""

# `poker_rl/cli/<command>_command.py` has a `run`.
COMMANDS = (
    "train",
    "evaluate",
    "tournament",
    "play",
    "advise",
    "compare",
    "sweep",
    "report",
    "export",
    "tune",
    "list",
)


def main() -> NoReturn:
    """The console script."""
    if sys.stderr is None:  # closed: nobody wants to hear
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        tell("standard output is closed; for none use >/dev/null")
        sys.exit(1)
    if isinstance(sys.stdout, TextIOWrapper):  # whose encoding may lack a character of ours
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with at("the working folder"):
            os.getcwd()
        code = run(sys.argv[1:])
        with at("standard output"):
            sys.stdout.flush()
    except Refused as error:
        tell(str(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # who read the output, such as `head`, has seen enough
        code = 128 + signal.SIGPIPE
    except OSError as error:  # the machine fails: a full disk, a folder that is gone
        tell(error_line(error))
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python would flush it once more at the end, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command that the arguments begin with; its exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        say(f"poker-rl {__version__}" if name == "--version" else HELP)
        return 0
    if name not in COMMANDS:
        from poker_rl.config.messages import allowed

        raise Refused(f"{name}: no such command; {allowed(name, COMMANDS)}")
    command: int = import_module(f"{__name__}.{name}_command").run(arguments[1:])
    return command
