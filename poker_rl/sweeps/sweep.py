"""`poker-rl train -m`: run all unfinished jobs of a sweep with a Hydra launcher.

The name of a job's run contains its overrides and a digest of all its settings. By this name, a job
finds an earlier run with equal settings. At a stop signal, the sweep's process writes the signal's
number into a temporary file. Its jobs on this machine look for this file, and stop. Jobs in the
queue of a cluster are not stopped.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import torch

from poker_rl.config import option_files
from poker_rl.config.compose import ComposedConfig, compose_config, get_outputs_and_run_folder
from poker_rl.config.input_checks import ConfigError, error_prefix, read_yaml_text
from poker_rl.players.opponent_file_copies import OpponentFileCopies
from poker_rl.storage.disk import create_writable_folder, write_text_atomically
from poker_rl.storage.run_files import LOCATION_SETTINGS, format_overrides_label, read_manifest
from poker_rl.storage.terminal_printing import print_error, print_line
from poker_rl.sweeps import job_outcomes
from poker_rl.sweeps.job_launcher import find_launcher_name, run_jobs_with_hydra_launcher
from poker_rl.training.rank_and_device import count_torchrun_processes
from poker_rl.training.run_config import CHANGEABLE_SETTINGS, replace_opponents_by_copies
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import list_stop_signals
from poker_rl.training.start_run import run_training_job

MAX_RUN_NAME_CHARACTERS = 60
WATCH_INTERVAL_S = 0.5


def run_sweep(
    overrides: Sequence[str],
    jobs: list[list[str]],
    first_job: ComposedConfig,
    launcher_overrides: Sequence[str],
    option_dirs: list[Path],
) -> int:
    """Run every job of a sweep that is not finished; return the exit code.

    `overrides` are from the command line, `jobs` has the overrides of each job, and `first_job` has
    the composed settings of job 0.
    """
    if count_torchrun_processes() > 1:
        raise ConfigError("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    launcher = find_launcher_name(launcher_overrides, option_dirs)
    words = [override for override in overrides if override not in launcher_overrides]
    # The digest depends on all option files, since their contents change what the overrides mean.
    files = [path for folder in option_dirs for path in option_files.list_option_files(folder)]
    label = format_overrides_label(words, LOCATION_SETTINGS)
    digest = compute_digest([jobs, [read_yaml_text(path) for path in files]])
    outputs, _ = get_outputs_and_run_folder(first_job)
    sweep = Path(outputs, "sweeps", f"{label}_{digest}".lstrip("_"))
    with error_prefix("outputs"):
        create_writable_folder(sweep)
    write_text_atomically(sweep / job_outcomes.JOBS_FILE, json.dumps(jobs))
    outcomes = job_outcomes.read_job_outcomes(sweep)
    # A finished job whose run folder was deleted has no `folder`, and is run again.
    unfinished = [n for n, job in enumerate(outcomes) if job.status != "finished" or not job.folder]
    finished, count = len(jobs) - len(unfinished), job_outcomes.format_job_count(len(jobs))
    print_line(f"{count}, of which {finished:,} finished already" if finished else count)
    print_line(f"progress: poker-rl sweep {sweep}")
    with TemporaryDirectory(prefix="poker-rl-") as temporary_folder:
        stop_file = Path(temporary_folder, "stopped_by")
        task = partial(run_job_and_save_outcome, Path.cwd(), sweep, stop_file, option_dirs)
        with stop_sweep_on_signal(stop_file, waits_for_jobs=launcher != "basic"):
            try:
                if unfinished:
                    run_jobs_with_hydra_launcher(unfinished, task, launcher_overrides, sweep)
            except (KeyboardInterrupt, BrokenPipeError):
                record_stop_signal(stop_file, signal.SIGINT)
            except Exception as error:  # Hydra's launchers may raise any error
                if read_stop_signal(stop_file) is None:
                    reason = str(error).strip().partition("\n")[0]
                    print_error(f"hydra/launcher: failed: {type(error).__name__}: {reason}")
        stopped_by = read_stop_signal(stop_file)
    code = report_job_outcomes(sweep)
    return code if stopped_by is None else 128 + stopped_by


def record_stop_signal(stop_file: Path, number: int) -> None:
    """Record the first stop signal, so that no further job starts; ignore later signals."""
    with suppress(FileExistsError), stop_file.open("x") as file:
        file.write(str(number))


def read_stop_signal(stop_file: Path) -> int | None:
    """Return the number of the signal that stopped the sweep; None if no signal has stopped it."""
    try:
        return int(stop_file.read_text() or signal.SIGINT)
    except FileNotFoundError:  # no signal so far; on other machines, the file never exists
        return None


@contextmanager
def stop_sweep_on_signal(stop_file: Path, waits_for_jobs: bool) -> Iterator[None]:
    """Stop the sweep in this context at the first stop signal; let a second one end the process.

    A job in this process handles a signal first: it saves its run and raises the signal again. If
    jobs run in other processes and `waits_for_jobs` is true, the sweep ends after these jobs.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        record_stop_signal(stop_file, number)
        old_handlers.close()
        if not (waits_for_jobs and multiprocessing.active_children()):
            raise KeyboardInterrupt

    with ExitStack() as old_handlers:
        for number in list_stop_signals():
            old_handlers.callback(signal.signal, number, signal.signal(number, stop))
        yield


def report_job_outcomes(sweep: Path) -> int:
    """Print the outcomes of all jobs and write the summary; return the most severe exit code."""
    codes = []
    for job in job_outcomes.print_and_save_progress(sweep):
        is_unfinished = job.status in ("not run", job_outcomes.RUNNING_OR_KILLED)
        codes.append(job.exit_code or int(is_unfinished))
        if codes[-1]:
            text = f"{job.status}: {job.message}" if job.message else job.status
            print_error(f"{' '.join(job.overrides)}: {text}")
    # In order of severity: signals (above 2), failures (1), wrong settings (2), success (0).
    return max(codes, key=lambda code: (code > 2, code == 1, code))


def run_job_and_save_outcome(
    cwd: Path, sweep: Path, stop_file: Path, option_dirs: list[Path], number: int
) -> None:
    """Run one job, perhaps in a process of its own, and save its outcome in the sweep's folder.

    Relative paths refer to `cwd`. If the sweep has been stopped, do nothing.
    """
    os.chdir(cwd)
    if read_stop_signal(stop_file) is not None:
        return
    with stop_job_with_sweep(stop_file):
        jobs = job_outcomes.read_overrides_of_jobs(sweep)
        print_line(f"job {number + 1} of {len(jobs):,}: {' '.join(jobs[number])}")
        recorded = job_outcomes.read_job_outcome(sweep, number, jobs[number]).folder
        recorded_folder = Path(recorded) if recorded else None
        folder, outcome = None, RunOutcome("finished")
        try:
            composed = compose_config(jobs[number])
            composed, folder, is_finished = resolve_job_run(composed, recorded_folder, option_dirs)
        except ConfigError as error:
            outcome = RunOutcome("refused", 2, str(error))
        else:
            if not is_finished:
                # If several GPUs are visible, job n uses GPU n modulo their number.
                if composed.config["device"] != "cpu" and torch.cuda.device_count() > 1:
                    torch.cuda.set_device(number % torch.cuda.device_count())
                job_outcomes.save_job_outcome(sweep, number, RunOutcome("running"), folder)
                outcome = run_training_job(composed, option_dirs)
        if outcome.status == "refused":  # `folder` may be missing or another run's
            folder = recorded_folder
        job_outcomes.save_job_outcome(sweep, number, outcome, folder)
        if (signal_number := outcome.exit_code - 128) > 0:  # the run was stopped
            # Call the handler of the sweep or of a launcher; that of submitit queues the job again.
            handler = signal.getsignal(signal_number)
            if callable(handler) and handler is not signal.default_int_handler:
                signal.raise_signal(signal_number)


def resolve_job_run(
    composed: ComposedConfig, recorded_folder: Path | None, option_dirs: Sequence[Path]
) -> tuple[ComposedConfig, Path, bool]:
    """Return the settings that train a job, its run folder, and whether this run is finished.

    If there is an earlier run with equal settings, the returned settings resume it. If the user
    chose the run's name, the folder may have the run of another command: raise ConfigError unless
    this sweep has recorded the folder as that of the job.
    """
    if composed.config["resume"] is not None:
        return composed, Path(str(composed.config["resume"])), False
    has_own_name = composed.config["name"] is not None
    if not has_own_name:
        composed = add_run_name(composed, option_dirs)
    folder = get_outputs_and_run_folder(composed)[1]
    manifest = read_manifest(folder)
    if not manifest:
        return composed, folder, False
    if has_own_name and (recorded_folder or Path()).resolve() != folder.resolve():
        raise ConfigError(f"name: {folder} is there already; give another name")
    resume = {"resume": str(folder)}
    resumed = replace(composed, config=composed.config | resume, overrides=[f"resume={folder}"])
    return resumed, folder, manifest.get("status") == "finished"


def add_run_name(composed: ComposedConfig, option_dirs: Sequence[Path]) -> ComposedConfig:
    """Return the settings with a name for the run: its overrides and a digest of all settings."""
    settings = option_files.to_plain_dict(composed.config)
    copies = OpponentFileCopies()
    replace_opponents_by_copies(settings, copies, option_dirs)
    bots = [path for path in copies.files_to_copy.values() if path.suffix == ".yaml"]
    content = {key: value for key, value in settings.items() if key not in LOCATION_SETTINGS}
    content["bots"] = [option_files.read_plain_yaml(path) for path in bots]
    digest = compute_digest(option_files.convert_whole_floats_to_ints(content))
    omitted = CHANGEABLE_SETTINGS - {"device"} | LOCATION_SETTINGS
    label = format_overrides_label(composed.overrides, omitted)
    name = f"{label[: MAX_RUN_NAME_CHARACTERS - len(digest) - 1]}_{digest}".lstrip("_")
    return replace(composed, config=composed.config | {"name": name})


def compute_digest(value: object) -> str:
    """Return a hash of plain values as eight hexadecimal digits."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


@contextmanager
def stop_job_with_sweep(stop_file: Path) -> Iterator[None]:
    """Stop the job in this context when its sweep is stopped or the sweep's process has ended.

    This applies to jobs in child processes of the sweep. When a sweep is stopped, the child process
    itself does not end, because a launcher that loses one process kills all others.
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # other code handles signals in the sweep's own process and on clusters
        yield
        return
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.wait(WATCH_INTERVAL_S):
            if read_stop_signal(stop_file) is not None or os.getppid() != parent.pid:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    # Ctrl-C reaches all processes; jobs ignore it, because the sweep's process stops them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # raises KeyboardInterrupt
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        has_ended.set()
        watcher.join()
        if os.getppid() != parent.pid:
            # The sweep's process has ended, so end this process too: it would get no more jobs.
            os._exit(128 + signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
