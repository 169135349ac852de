"""`poker-rl train -m`: every job of a sweep that is not finished, run by a Hydra launcher."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from poker_rl.config.compose import compose, place
from poker_rl.config.files import read_text
from poker_rl.config.options import option_files
from poker_rl.config.settings import Refused, about
from poker_rl.config.sweeps import demand_installed, launch
from poker_rl.storage.disk import error_line, lacking, remove_made, say, tell
from poker_rl.storage.folder import PLACE, label_of
from poker_rl.sweeps.job import digest_of, run_job
from poker_rl.sweeps.stop_sweep import halt, halted_by, halting
from poker_rl.sweeps.summary import Summary, count_jobs, create_sweep
from poker_rl.training.launch_workers import torchrun_count


def run_sweep(
    overrides: Sequence[str],
    jobs: list[list[str]],
    launcher: Sequence[str],
    option_dirs: list[Path],
) -> int:
    """Run every job of a sweep that is not finished; return the exit code.

    Args:
        overrides: as the user gave them, which name the sweep.
        jobs: the overrides of each job, the first of which composes.
        launcher: the overrides of Hydra's launcher.
        option_dirs: the folders of the options.

    Raises:
        Refused: if the sweep can't be started.
    """
    if torchrun_count() > 1:
        raise Refused("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    demand_installed(launcher, option_dirs)
    outputs, name, _ = place(compose(jobs[0]))
    if name is not None:
        check_names(jobs)
    label = label_of([one for one in overrides if one not in launcher], PLACE)
    # Where an option file was edited, the same words ask for something else.
    files = [path for folder in option_dirs for path in option_files(folder)]
    digest = digest_of([jobs, [read_text(path, errors="replace") for path in files]])
    sweep = Path(outputs, "sweeps", f"{label}_{digest}".lstrip("_"))
    created = lacking(sweep)
    with about("outputs"):
        create_sweep(sweep, jobs)
    summary = Summary(sweep)
    left = [n for n, job in enumerate(summary.jobs) if job.status != "finished"]
    finished = len(jobs) - len(left)
    already = f", of which {finished:,} finished already" if finished else ""
    say(f"{count_jobs(len(jobs))}{already}\nhow far they are: poker-rl sweep {sweep}")
    with TemporaryDirectory(prefix="poker-rl-") as scratch:
        stop_folder = Path(scratch)
        task = partial(run_job, Path.cwd(), sweep, stop_folder, option_dirs)
        with halting(stop_folder):
            try:
                if left:
                    launch(left, task, launcher, sweep)
            except (KeyboardInterrupt, BrokenPipeError):
                halt(stop_folder, signal.SIGINT)
            except OSError as error:
                tell(error_line(error))
            except Exception as error:  # a process that was lost, a queue that takes no jobs
                if halted_by(stop_folder) is None:
                    what = str(error).strip().partition("\n")[0]
                    tell(f"hydra/launcher: has ended: {type(error).__name__}: {what}")
        stopped_by = halted_by(stop_folder)
    return report(sweep, stopped_by, created)


def check_names(jobs: Sequence[list[str]]) -> None:
    """Check that no two jobs have the same run folder.

    Raises:
        Refused: naming the folder.
    """
    seen: set[Path] = set()
    for job in jobs:
        try:
            _, name, folder = place(compose(job))
        except Refused:  # reported when its turn comes
            continue
        if name is None:
            continue
        if folder in seen:
            hint = f"tell them apart by what differs, as 'name={name}_${{seed}}' does"
            raise Refused(f"name: several jobs would be {folder}; {hint}")
        seen.add(folder)


def report(sweep: Path, stopped_by: int | None, created: Path | None) -> int:
    """Print how the jobs ended and write the summary; return the exit code.

    A new sweep in which no run could start leaves nothing behind.

    Args:
        stopped_by: the number of the signal that stopped the sweep.
        created: the highest folder that was created for the sweep; None if it existed before.
    """
    summary = Summary(sweep)
    if summary.has_runs:
        say(f"\n{summary.table()}\n")
    codes = []
    for overrides, job in zip(summary.overrides, summary.jobs, strict=True):
        code = job.exit_code
        if not code and job.status in ("not run", "running or killed"):
            code = 1 if stopped_by is None else 128 + stopped_by
        codes.append(code)
        if code:
            what = f"{job.status}: {job.message}" if job.message else job.status
            tell(f"{' '.join(overrides)}: {what}")
    is_refused = all(job.status == "refused" for job in summary.jobs)
    if summary.has_runs or (is_refused and created is None):
        summary.write_csv()
    elif is_refused and created is not None:
        shutil.rmtree(sweep, ignore_errors=True)  # another process may use it too
        remove_made(sweep.parent, created)
    # The most severe: a signal, then a failure of the machine or a bug, then a refusal.
    return max(codes, key=lambda code: (code > 2, code == 1, code))
