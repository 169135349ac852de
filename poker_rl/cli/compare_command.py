"""`poker-rl compare`: figures and curves of several runs, the mean over their seeds."""

from __future__ import annotations

from poker_rl.cli.arguments import asked_of_runs

HELP = """\
poker-rl compare RUN … [key=value …]

Runs that differ in their seed alone are one row: the mean of each figure with its 95 % interval
(Student), how far the runs came and how long they took. A RUN is

  outputs/leduc/ppo/first            a run folder
  outputs/leduc                      all run folders below a folder
  'outputs/leduc/*/*seed*'           all that match a pattern
  outputs/sweeps/SWEEP.csv           all runs of a sweep, by its summary

  poker-rl compare outputs/leduc                               the final figures
  poker-rl compare outputs/leduc at=1e6 x=hands                those after a million hands
  poker-rl compare outputs/leduc tags=[exploitability,policy/entropy]
  poker-rl compare outputs/leduc x=seconds out=curves.png      curves over the time, too"""


def run(arguments: list[str]) -> int:
    """Compare and print; the exit code."""
    read = asked_of_runs("compare", HELP, arguments, "poker_rl.reports.compare.Compare")
    if read is not None:
        from poker_rl.reports.compare import compare

        words, settings, _ = read
        compare(words, settings)
    return 0
