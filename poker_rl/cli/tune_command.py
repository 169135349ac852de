"""`poker-rl tune`: a search for settings, whose trials are runs of `poker-rl train`."""

from __future__ import annotations

from importlib.util import find_spec

from poker_rl.cli.arguments import asked, keys_of
from poker_rl.config.settings import Refused

HELP = """\
poker-rl tune tune=NAME [key=value …]

A search for the settings that make a metric best, by Optuna. Each trial is a run of `poker-rl
train` for every seed; trials that look bad are ended early. The study is kept in its folder, with
pictures and all runs. The same command goes on with it, and given in a second terminal it shares
the trials out:

  poker-rl tune tune=vpg_kuhn                          some minutes
  poker-rl tune tune=vpg_kuhn trials=60                the same study, three times as long
  poker-rl tune tune=mine --config-dir FOLDER          of FOLDER/tune/mine.yaml

In the end it prints the command that trains with the best settings. docs/tune.md tells how to write
a study of your own.

  --config-dir FOLDER  options of your own, in files such as FOLDER/tune/mine.yaml"""


def run(arguments: list[str]) -> int:
    """Search; the exit code."""
    read = asked("tune", HELP, arguments, (), "poker_rl.sweeps.tune.Tune")
    if read is None:
        return 0
    if find_spec("optuna") is None:
        raise Refused("tune needs more packages: pip install 'poker-rl[tune]'")
    from poker_rl.sweeps.tune import tune

    settings, _, conf = read
    return tune(settings, keys_of(arguments), conf)
