"""The command line: `poker-rl train`, `evaluate` and `list`.

Settings are given as Hydra's overrides. Whatever the user got wrong is a `Refused`, told in a line
or two with exit code 2; any other exception is a bug. Imports are late so that `--help` is quick.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NoReturn

from poker_rl import __version__
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import at, say, told

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<run>
  poker-rl evaluate run=FOLDER [key=value …]    measure what a run has learnt, play matches
  poker-rl evaluate game=NAME player=NAME …     the same of any player of any game
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

GAME = ("game", "evaluation")  # groups that `evaluate` composes where there is no run

TRAIN_HELP = """\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value            a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun       a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by side
  -c, --cfg job        print all settings instead of training
  --config-dir FOLDER  options of your own, in files such as FOLDER/game/mine.yaml; of two with
                       the same name yours counts"""

EVALUATE_HELP = """\
poker-rl evaluate run=FOLDER [key=value …]               what a run has learnt
poker-rl evaluate game=NAME player=PLAYER [key=value …]  any player of any game

Exact exploitability and value where the game can be enumerated, duplicate matches, and in Kuhn
poker the policies beside the equilibrium. All of it is kept in FOLDER/evaluations under the time.
A PLAYER is a name in conf/player, a file like those, a run folder (its newest snapshot, its
headline player) or what is named of it:

  poker-rl evaluate run=outputs/kuhn/ppo/TIME against=[uniform,equilibrium]
  poker-rl evaluate run=outputs/kuhn/ppo/TIME show=true      all evaluations of the run, a table
  poker-rl evaluate game=leduc player=call against=[raise,outputs/leduc/ppo/TIME]
  poker-rl evaluate game=leduc player=outputs/leduc/ppo/TIME@DECISIONS:current against=[call]

  game=NAME, evaluation.KEY=VALUE  as `poker-rl train` takes them, if there is no run
  --config-dir FOLDER              options of your own, in files such as FOLDER/player/mine.yaml;
                                   of two with the same name yours counts"""

LIST_HELP = """\
poker-rl list [GROUP …] [--config-dir FOLDER]

  GROUP                only the options of this group: game, algo, net, player, experiment, …
  --config-dir FOLDER  with the options in files such as FOLDER/game/mine.yaml"""


def main() -> NoReturn:
    """The console script."""
    if sys.stderr is None:  # closed: nobody wants to hear
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        tell("standard output is closed; for none use >/dev/null")
        sys.exit(1)
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
        tell(told(error))
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # Python would flush it once more at the end, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def tell(what: str) -> None:
    with suppress(OSError):  # a terminal that was closed, or an error log that is full
        print(f"poker-rl: {what}", file=sys.stderr, flush=True)


def run(arguments: list[str]) -> int:
    """Run the command that the arguments begin with; its exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        say(f"poker-rl {__version__}" if name == "--version" else HELP)
        return 0
    if name not in COMMANDS:
        from poker_rl.config.build import allowed

        raise Refused(f"{name}: no such command; {allowed(name, COMMANDS)}")
    return COMMANDS[name](arguments[1:])


class Arguments(argparse.ArgumentParser):
    """A parser of what all commands take, whose errors are one line like all others."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_true")
        self.add_argument("--config-dir")

    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def options(own: str | None) -> list[Path]:
    """The folders of options, that of the user among them; tells of plug-ins that can't be used."""
    from poker_rl.config.build import folders
    from poker_rl.config.plugins import broken

    for complaint in broken():
        tell(complaint)
    return folders(own)


def train(arguments: list[str]) -> int:
    """`poker-rl train`: a run, or a sweep of them."""
    parser = Arguments()
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(arguments)

    from poker_rl.config.compose import compose, opened, split

    conf = options(given.config_dir)
    with opened(conf):
        launcher, jobs = split(given.overrides) if given.multirun else ([], [given.overrides])
        asked = compose(jobs[0], launcher)  # before anything is begun
        if given.help or given.cfg:
            if given.multirun:
                say(f"# the first of {len(jobs):,} jobs: {' '.join(jobs[0])}")
            print_settings(asked, conf, given.help)
            return 0
        if given.multirun:
            return sweep(jobs, launcher, conf)
    from poker_rl.runs.job import attempt

    outcome = attempt(asked, conf)
    if outcome.message:
        tell(outcome.message)
    return outcome.exit_code


def print_settings(asked: Composed, conf: list[Path], explain: bool) -> None:
    """Print all settings with their comments, and what else there is to choose from."""
    from poker_rl.config.build import plain
    from poker_rl.config.horizons import resolved
    from poker_rl.config.listing import annotated, groups, table

    algo = {name: part for name, part in resolved(plain(asked.settings)).items() if name == "algo"}
    if explain:
        options = {group: " ".join(names) for group, names in groups(conf).items()}
        say("\n\n".join([TRAIN_HELP, f"Groups\n{table(options)}", "All settings\n"]))
    say(annotated(asked.settings | algo, conf, asked.choices))


def sweep(jobs: list[list[str]], launcher: list[str], conf: list[Path]) -> int:
    """Run every job of a sweep, and tell in the end how each went."""
    from poker_rl.config.compose import compose, launch, place
    from poker_rl.runs.sweep import Summary, halt, halted, halting

    outputs, name, _ = place(compose(jobs[0]))
    if name is not None:
        demand_names(jobs)
    say(f"{len(jobs):,} jobs")
    with TemporaryDirectory(prefix="poker-rl-") as scratch:
        folder = Path(scratch)
        with Summary(folder, jobs, Path(outputs)) as summary, halting(folder):
            try:
                launch(jobs, partial(job_of_sweep, folder, jobs, conf), launcher, folder)
            except (KeyboardInterrupt, BrokenPipeError):
                halt(folder)
            except OSError as error:
                tell(told(error))
            except Exception:  # a process that was lost
                if not halted(folder):
                    traceback.print_exc()
        return summary.report()


def demand_names(jobs: list[list[str]]) -> None:
    """Refuse a sweep whose runs would be in one folder."""
    from poker_rl.config.compose import compose, place

    taken: set[Path] = set()
    for job in jobs:
        try:
            _, name, path = place(compose(job))
        except Refused:  # which is told at its turn
            continue
        if name is None:
            continue
        if path in taken:
            differ = f"tell them apart by what differs, as 'name={name}_${{seed}}' does"
            raise Refused(f"name: several jobs would be {path}; {differ}")
        taken.add(path)


def job_of_sweep(folder: Path, jobs: list[list[str]], conf: list[Path], number: int) -> None:
    """One job of a sweep, perhaps in a process of its own; what became of it is left in a file."""
    from poker_rl.config.compose import compose
    from poker_rl.runs.job import attempt
    from poker_rl.runs.sweep import Outcome, halt, halted

    if halted(folder):
        # A launcher composes each job that it begins, which takes minutes for thousands of them. In
        # a process of its own a job only returns: others beside it are still saving their work.
        if multiprocessing.parent_process() is None:
            raise KeyboardInterrupt
        return
    say(f"job {number + 1} of {len(jobs):,}: {' '.join(jobs[number])}")
    try:
        asked = compose(jobs[number])
    except Refused as error:
        outcome = Outcome(status="refused", exit_code=2, message=str(error))
    else:
        outcome = attempt(asked, conf, lambda outcome: outcome.leave(folder, number))
    outcome.leave(folder, number)
    if outcome.status == "interrupted":
        halt(folder)


def evaluate(arguments: list[str]) -> int:
    """`poker-rl evaluate`: measure what a run has learnt."""
    parser = Arguments()
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(arguments)

    from poker_rl.config.build import CONF, overridden

    path = CONF / "evaluate.yaml"
    if given.help:
        say(f"{EVALUATE_HELP}\n\n{path.read_text().strip()}")
        return 0
    conf = options(given.config_dir)
    of_game = [o for o in given.overrides if o.partition("=")[0].partition(".")[0] in GAME]
    settings = overridden(path, [o for o in given.overrides if o not in of_game])
    chosen = None
    if of_game:
        from poker_rl.config.compose import composed

        chosen = composed(of_game, conf)

    from poker_rl.runs import evaluate as evaluate_job

    evaluate_job.evaluate(settings, chosen, conf)
    return 0


def show(arguments: list[str]) -> int:
    """`poker-rl list`: the options of all groups or of some."""
    parser = Arguments()
    parser.add_argument("groups", nargs="*")
    given = parser.parse_intermixed_args(arguments)
    if given.help:
        say(LIST_HELP)
        return 0

    from poker_rl.config.build import allowed
    from poker_rl.config.listing import described, groups, origins

    conf = options(given.config_dir)
    found = groups(conf)
    for group in given.groups:
        if group not in found:
            raise Refused(f"{group}: no such group; {allowed(group, found)}")
    for group in given.groups or found:
        say(f"{group}=\n{described(found[group])}\n")
    for line in origins(conf):
        say(line)
    return 0


COMMANDS = {"train": train, "evaluate": evaluate, "list": show}
