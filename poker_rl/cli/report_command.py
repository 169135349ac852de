"""`poker-rl report`: runs as a page to read, to send and to print."""

from __future__ import annotations

from poker_rl.cli.arguments import asked_of_runs

HELP = """\
poker-rl report RUN … [key=value …] [--config-dir FOLDER]

One HTML file that needs no other and loads nothing: figures, curves, policies of small games, the
evaluations that were kept, a few hands, every setting beside its default, versions and machine.
A RUN is as for `poker-rl compare`; of several runs the page begins with their comparison.

  poker-rl report outputs/kuhn/ppo/first               into report.html of that folder
  poker-rl report 'outputs/leduc/*/*' out=leduc.html"""


def run(arguments: list[str]) -> int:
    """Write the page; the exit code."""
    read = asked_of_runs("report", HELP, arguments, "poker_rl.reports.report.Asked")
    if read is not None:
        from poker_rl.reports.report import report

        report(*read)
    return 0
