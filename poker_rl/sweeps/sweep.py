"""`poker-rl train -m`: run all unfinished jobs of a sweep by a Hydra launcher."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from poker_rl.config.compose import compose_config, resolve_run_path
from poker_rl.config.option_files import list_option_files
from poker_rl.config.sweep_launcher import check_launcher_installed, launch_jobs
from poker_rl.config.untrusted_files import read_yaml_text
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.storage.disk import (
    find_first_missing_folder,
    format_os_error,
    print_error,
    print_line,
    remove_created_folders,
)
from poker_rl.storage.run_folder import LOCATION_SETTINGS, create_label
from poker_rl.sweeps.sweep_job import compute_digest, run_job
from poker_rl.sweeps.sweep_signals import handle_sweep_signals, read_stop_signal, stop_sweep
from poker_rl.sweeps.sweep_summary import RUNNING, Summary, create_sweep, format_job_count
from poker_rl.training.launch_workers import count_torchrun_processes


def run_sweep(
    overrides: Sequence[str],
    jobs: list[list[str]],
    launcher: Sequence[str],
    option_dirs: list[Path],
) -> int:
    """Run every job of a sweep that is not finished; return the exit code.

    Args:
        overrides: the user's overrides, which name the sweep.
        jobs: the overrides of each job; those of the first job have been composed without errors.
        launcher: the overrides of Hydra's launcher.
        option_dirs: the folders of the options.

    Raises:
        ConfigError: if the sweep can't be started.
    """
    if count_torchrun_processes() > 1:
        raise ConfigError("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    check_launcher_installed(launcher, option_dirs)
    outputs, name, _ = resolve_run_path(compose_config(jobs[0]))
    if name is not None:
        check_names(jobs)
    label = create_label([one for one in overrides if one not in launcher], LOCATION_SETTINGS)
    # If an option file was edited, the same overrides mean other settings, and thus another sweep.
    files = [path for folder in option_dirs for path in list_option_files(folder)]
    digest = compute_digest(
        [jobs, [read_yaml_text(path, decode_errors="replace") for path in files]]
    )
    sweep = Path(outputs, "sweeps", f"{label}_{digest}".lstrip("_"))
    created = find_first_missing_folder(sweep)
    with error_prefix("outputs"):
        create_sweep(sweep, jobs)
    unfinished = [n for n, job in enumerate(Summary(sweep).jobs) if job.status != "finished"]
    finished = len(jobs) - len(unfinished)
    finished_text = f", of which {finished:,} finished already" if finished else ""
    print_line(f"{format_job_count(len(jobs))}{finished_text}\nprogress: poker-rl sweep {sweep}")
    with TemporaryDirectory(prefix="poker-rl-") as temporary_folder:
        stop_folder = Path(temporary_folder)
        task = partial(run_job, Path.cwd(), sweep, stop_folder, option_dirs)
        with handle_sweep_signals(stop_folder):
            try:
                if unfinished:
                    launch_jobs(unfinished, task, launcher, sweep)
            except (KeyboardInterrupt, BrokenPipeError):
                stop_sweep(stop_folder, signal.SIGINT)
            except OSError as error:
                print_error(format_os_error(error))
            except Exception as error:  # such as a killed process, or a queue that accepts no jobs
                if read_stop_signal(stop_folder) is None:
                    reason = str(error).strip().partition("\n")[0]
                    print_error(f"hydra/launcher: failed: {type(error).__name__}: {reason}")
        stopped_by = read_stop_signal(stop_folder)
    return report_results(sweep, stopped_by, created)


def check_names(jobs: Sequence[list[str]]) -> None:
    """Check that no two jobs have the same run folder, or raise a ConfigError naming the folder."""
    folders: set[Path] = set()
    for job in jobs:
        try:
            _, name, folder = resolve_run_path(compose_config(job))
        except ConfigError:  # the job itself will report it
            continue
        if name is None:
            continue
        if folder in folders:
            hint = f"name them by a setting that differs, as in 'name={name}_${{seed}}'"
            raise ConfigError(f"name: several jobs would be {folder}; {hint}")
        folders.add(folder)


def report_results(sweep: Path, stopped_by: int | None, created: Path | None) -> int:
    """Print the outcomes of the jobs and write the summary; return the exit code.

    A new sweep that started no run is removed.

    Args:
        stopped_by: the number of the signal that stopped the sweep.
        created: the topmost folder that was created for the sweep; None if all existed before.
    """
    summary = Summary(sweep)
    if summary.has_runs:
        print_line(f"\n{summary.format_table()}\n")
    codes = []
    for overrides, job in zip(summary.overrides, summary.jobs, strict=True):
        code = job.exit_code
        if not code and job.status in ("not run", RUNNING):
            code = 1 if stopped_by is None else 128 + stopped_by
        codes.append(code)
        if code:
            text = f"{job.status}: {job.message}" if job.message else job.status
            print_error(f"{' '.join(overrides)}: {text}")
    is_refused = all(job.status == "refused" for job in summary.jobs)
    if summary.has_runs or (is_refused and created is None):
        summary.write_csv()
    elif is_refused and created is not None:
        shutil.rmtree(sweep, ignore_errors=True)  # another process may be using it
        remove_created_folders(sweep.parent, created)
    # The most severe code is that of a signal, then of a failure or a bug, then of bad input.
    return max(codes, key=lambda code: (code > 2, code == 1, code))
