"""`poker-rl sweep`: how far the jobs of a sweep are."""

from __future__ import annotations

from pathlib import Path

from poker_rl.cli.arguments import Arguments
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import say

HELP = """\
poker-rl sweep FOLDER

Prints a line for each job of a sweep: how far it is, its last measurements, its run's folder. It
writes the same as a CSV file, and works at any time and on any machine that sees the folders. The
folder is outputs/sweeps/NAME, which `poker-rl train -m` prints when it begins.

"running or killed" is the run of a job that has begun and not told of its end. To go on with what
is not finished, give the command of the sweep once more."""


def run(arguments: list[str]) -> int:
    """Print the table; the exit code."""
    parser = Arguments()
    parser.add_argument("folders", nargs="*")
    given = parser.parse_intermixed_args(arguments)
    if given.help:
        say(HELP)
        return 0
    if len(given.folders) != 1:
        raise Refused("FOLDER: give the folder of one sweep, outputs/sweeps/NAME")

    from poker_rl.sweeps.summary import Summary

    summary = Summary(Path(given.folders[0]))
    say(f"{summary.table()}\n\n{summary.counts()}")
    if summary.has_runs:
        summary.write_csv()
    return 0
