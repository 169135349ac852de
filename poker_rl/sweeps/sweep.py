"""`poker-rl train -m`: run all unfinished jobs of a sweep with a Hydra launcher.

At a stop signal, the sweep's process writes the number of the signal into a file in a temporary
folder, for which its jobs look. Jobs in the queue of a cluster are not stopped.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from poker_rl.config.compose import ComposedConfig, compose_run_folder
from poker_rl.config.hydra_launchers import find_launcher, launch_jobs
from poker_rl.config.option_files import list_option_files
from poker_rl.config.validation import ConfigError, error_prefix, read_yaml_text
from poker_rl.storage.console import format_os_error, print_error, print_line
from poker_rl.storage.run_folder import LOCATION_SETTINGS, create_folder_label
from poker_rl.sweeps.job_outcomes import RUNNING, JobOutcomes, create_sweep_folder, format_job_count
from poker_rl.sweeps.sweep_job import STOP_FILE, compute_digest, read_stop_signal, run_job
from poker_rl.training.signals import list_stop_signals
from poker_rl.training.worker_processes import count_torchrun_processes


def run_sweep(
    overrides: Sequence[str],
    jobs: list[list[str]],
    first: ComposedConfig,
    launcher_overrides: Sequence[str],
    option_dirs: list[Path],
) -> int:
    """Run every job of a sweep that is not finished; return the exit code.

    `jobs` has the overrides of each job, and `first` the composed settings of the first one.
    """
    if count_torchrun_processes() > 1:
        raise ConfigError("-m: torchrun starts the processes of one run; in a sweep give workers=K")
    launcher = find_launcher(launcher_overrides, option_dirs)
    words = [override for override in overrides if override not in launcher_overrides]
    # The folder's name depends on all option files, because after an edit the same overrides mean
    # other settings.
    files = [path for folder in option_dirs for path in list_option_files(folder)]
    texts = [read_yaml_text(path) for path in files]
    label, digest = create_folder_label(words, LOCATION_SETTINGS), compute_digest([jobs, texts])
    sweep = Path(compose_run_folder(first)[0], "sweeps", f"{label}_{digest}".lstrip("_"))
    with error_prefix("outputs"):
        create_sweep_folder(sweep, jobs)
    unfinished = [n for n, job in enumerate(JobOutcomes(sweep).jobs) if job.status != "finished"]
    finished = len(jobs) - len(unfinished)
    finished_text = f", of which {finished:,} finished already" if finished else ""
    print_line(f"{format_job_count(len(jobs))}{finished_text}\nprogress: poker-rl sweep {sweep}")
    with TemporaryDirectory(prefix="poker-rl-") as temporary_folder:
        stop_folder = Path(temporary_folder)
        task = partial(run_job, Path.cwd(), sweep, stop_folder, option_dirs)
        with handle_stop_signals(stop_folder, is_parallel=launcher != "basic"):
            try:
                if unfinished:
                    launch_jobs(unfinished, task, launcher_overrides, sweep)
            except (KeyboardInterrupt, BrokenPipeError):
                record_stop_signal(stop_folder, signal.SIGINT)
            except OSError as error:
                print_error(format_os_error(error))
            except Exception as error:  # Hydra's launchers may raise any error
                if read_stop_signal(stop_folder) is None:
                    reason = str(error).strip().partition("\n")[0]
                    print_error(f"hydra/launcher: failed: {type(error).__name__}: {reason}")
        stopped_by = read_stop_signal(stop_folder)
    code = report_outcomes(sweep)
    return code if stopped_by is None else 128 + stopped_by


def record_stop_signal(folder: Path, number: int) -> None:
    """Record the first stop signal, so that no further job starts; ignore later signals."""
    with suppress(FileExistsError), (folder / STOP_FILE).open("x") as file:
        file.write(str(number))


@contextmanager
def handle_stop_signals(folder: Path, is_parallel: bool) -> Iterator[None]:
    """Stop the sweep in this context at a stop signal; at a second signal, end at once.

    A job in this process handles a signal first: it saves its work and raises the signal again. If
    `is_parallel`, jobs run in other processes, and this process waits until they have ended.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        record_stop_signal(folder, number)
        old_handlers.close()
        if not (is_parallel and multiprocessing.active_children()):
            raise KeyboardInterrupt

    with ExitStack() as old_handlers:
        for number in list_stop_signals():
            old_handlers.callback(signal.signal, number, signal.signal(number, stop))
        yield


def report_outcomes(sweep: Path) -> int:
    """Print the outcomes of the jobs and write the summary; return the most severe exit code."""
    summary = JobOutcomes(sweep)
    print_line(f"\n{summary.format_table()}\n")
    codes = []
    for overrides, job in zip(summary.overrides, summary.jobs, strict=True):
        codes.append(job.exit_code or int(job.status in ("not run", RUNNING)))
        if codes[-1]:
            text = f"{job.status}: {job.message}" if job.message else job.status
            print_error(f"{' '.join(overrides)}: {text}")
    summary.write_csv()
    # Above 2 is a signal, 1 is a failure, 2 is bad input.
    return max(codes, key=lambda code: (code > 2, code == 1, code))
