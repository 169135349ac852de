"""`poker-rl train`: a run, or a sweep of them."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from poker_rl.cli.arguments import Arguments, options
from poker_rl.config.settings import Refused, about
from poker_rl.storage.disk import error_line, say, tell

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

HELP = """\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value            a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun       a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by side,
                       submitit_slurm and ray on many machines; given once more, it goes on with
                       what is not finished
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
    from poker_rl.config.options import demand_once
    from poker_rl.config.sweeps import split

    demand_once(given.overrides)
    conf = options(given.config_dir)
    with opened(conf):
        launcher, jobs = split(given.overrides) if given.multirun else ([], [given.overrides])
        asked = compose(jobs[0])  # before anything is begun
        if given.help or given.cfg:
            if given.multirun:
                from poker_rl.runs.sweep import jobs_in_words

                say(f"# the first of {jobs_in_words(len(jobs))}: {' '.join(jobs[0])}")
            print_settings(asked, conf, given.help)
            return 0
        if given.multirun:
            return sweep(given.overrides, jobs, launcher, conf)
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


def sweep(given: list[str], jobs: list[list[str]], launcher: list[str], conf: list[Path]) -> int:
    """Run every job of a sweep that is not finished, and tell in the end how each went."""
    from poker_rl.config.compose import compose, place
    from poker_rl.config.files import read_text
    from poker_rl.config.options import option_files
    from poker_rl.config.sweeps import demand_installed, launch
    from poker_rl.runs.halt import halt, halted_by, halting
    from poker_rl.runs.launch import started
    from poker_rl.runs.sweep import Summary, begin, jobs_in_words
    from poker_rl.runs.swept import digest_of
    from poker_rl.storage.folder import PLACE, label_of

    if started() > 1:
        raise Refused("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    demand_installed(launcher, conf)
    outputs, name, _ = place(compose(jobs[0]))
    if name is not None:
        demand_names(jobs)
    swept = [one for one in given if one not in launcher]
    # Where a YAML was edited, the same words ask for something else.
    paths = [path for one in conf for path in option_files(one)]
    digest = digest_of([jobs, [read_text(path, errors="replace") for path in paths]])
    folder = Path(outputs, "sweeps", f"{label_of(swept, PLACE)}_{digest}".lstrip("_"))
    with about("outputs"):
        made = begin(folder, jobs)
    with TemporaryDirectory(prefix="poker-rl-") as scratch, Summary(folder) as summary:
        halts = Path(scratch)
        left = sorted(summary.open)
        finished = len(jobs) - len(left)
        already = f", of which {finished:,} finished already" if finished else ""
        say(f"{jobs_in_words(len(jobs))}{already}\nhow far they are: poker-rl sweep {folder}")
        task = partial(job_of_sweep, Path.cwd(), folder, halts, conf)
        with halting(halts):
            try:
                if left:
                    launch(left, task, launcher, folder)
            except (KeyboardInterrupt, BrokenPipeError):
                halt(halts, signal.SIGINT)
            except OSError as error:
                tell(error_line(error))
            except Exception as error:  # a process that was lost, a queue that takes no jobs
                if halted_by(halts) is None:
                    what = str(error).strip().partition("\n")[0]
                    tell(f"hydra/launcher: has ended: {type(error).__name__}: {what}")
        stopped_by = halted_by(halts)
    return summary.report(stopped_by, made)


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


def job_of_sweep(where: Path, folder: Path, halts: Path, conf: list[Path], number: int) -> None:
    """One job of a sweep, perhaps in a process of its own; what became of it is left in a file.

    Args:
        where: the folder that the sweep was begun in, which paths are relative to.
        folder: of the sweep.
        halts: where the sweep says that it is halted; elsewhere than on its machine it can't.
        conf: the folders of the options.
    """
    os.chdir(where)

    from poker_rl.config.compose import compose
    from poker_rl.runs.halt import halted_by, stoppable
    from poker_rl.runs.job import attempt
    from poker_rl.runs.stop import hand_on
    from poker_rl.runs.sweep import Outcome, jobs_of
    from poker_rl.runs.swept import own_run, take_gpu

    with stoppable(halts):
        if halted_by(halts) is not None:
            return  # others beside it are still saving their work
        jobs = jobs_of(folder)
        say(f"job {number + 1} of {len(jobs):,}: {' '.join(jobs[number])}")
        try:
            asked, finished = own_run(compose(jobs[number]), conf)
        except Refused as error:
            outcome = Outcome(status="refused", exit_code=2, message=str(error))
        else:
            if finished:
                outcome = Outcome(status="finished", folder=str(asked.settings["resume"]))
            else:
                take_gpu(asked, number)
                outcome = attempt(asked, conf, lambda outcome: outcome.leave(folder, number))
        outcome.leave(folder, number)
        if outcome.status == "interrupted":
            hand_on(outcome.exit_code - 128)
