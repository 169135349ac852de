"""`poker-rl train`: a run, or a sweep of them."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from poker_rl.cli.arguments import Arguments, options, tell
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import say, told

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

HELP = """\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value            a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun       a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by side
  -c, --cfg job        print all settings instead of training
  --config-dir FOLDER  options of your own, in files such as FOLDER/game/mine.yaml; of two with
                       the same name yours counts"""


def run(arguments: list[str]) -> int:
    """Train, once or for every job of a sweep; the exit code."""
    parser = Arguments()
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(arguments)

    from poker_rl.config.compose import compose, opened
    from poker_rl.config.sweeps import split

    conf = options(given.config_dir)
    with opened(conf):
        launcher, jobs = split(given.overrides) if given.multirun else ([], [given.overrides])
        asked = compose(jobs[0], launcher)  # before anything is begun
        if given.help or given.cfg:
            if given.multirun:
                from poker_rl.runs.sweep import jobs_in_words

                say(f"# the first of {jobs_in_words(len(jobs))}: {' '.join(jobs[0])}")
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
    from poker_rl.config.horizons import resolved
    from poker_rl.config.listing import annotated, groups, table
    from poker_rl.config.options import plain

    algo = {name: part for name, part in resolved(plain(asked.settings)).items() if name == "algo"}
    if explain:
        options = {group: " ".join(names) for group, names in groups(conf).items()}
        say("\n\n".join([HELP, f"Groups\n{table(options)}", "All settings\n"]))
    say(annotated(asked.settings | algo, conf, asked.choices))


def sweep(jobs: list[list[str]], launcher: list[str], conf: list[Path]) -> int:
    """Run every job of a sweep, and tell in the end how each went."""
    from poker_rl.config.compose import compose, place
    from poker_rl.config.sweeps import launch
    from poker_rl.runs.launch import started
    from poker_rl.runs.sweep import Summary, halt, halted, halting, jobs_in_words

    if started() > 1:
        raise Refused("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    outputs, name, _ = place(compose(jobs[0]))
    if name is not None:
        demand_names(jobs)
    say(jobs_in_words(len(jobs)))
    with TemporaryDirectory(prefix="poker-rl-") as scratch:
        folder = Path(scratch)
        with Summary(folder, jobs, Path(outputs)) as summary, halting(folder):
            try:
                launch(jobs, partial(job_of_sweep, folder, jobs, conf), launcher, folder)
            except (KeyboardInterrupt, BrokenPipeError):
                halt(folder, signal.SIGINT)
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
        halt(folder, outcome.exit_code - 128)
