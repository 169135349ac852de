"""One job of a sweep: start its run, resume it if it was interrupted, or skip it if it is finished.

The name of a run contains its overrides and a digest of all its settings, by which a sweep finds an
earlier run with equal settings.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import torch

from poker_rl.config.compose import ComposedConfig, compose_config, compose_run_folder
from poker_rl.config.option_files import (
    find_differing_key,
    normalize_numbers,
    read_plain_yaml,
    to_plain_dict,
)
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.config.validation import ConfigError
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.storage.console import print_line
from poker_rl.storage.run_folder import (
    LOCATION_SETTINGS,
    create_folder_label,
    read_manifest,
    read_run_folder,
)
from poker_rl.sweeps.job_outcomes import read_job_overrides, save_outcome
from poker_rl.training.run_config import CHANGEABLE_SETTINGS, bundle_opponents
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import forward_signal
from poker_rl.training.start_run import format_train_command, train

MAX_NAME_CHARACTERS = 60
STOP_FILE = "stopped_by"  # file that contains the number of the first stop signal
WATCH_INTERVAL_S = 0.5
COMPARED_KEYS = ("game", "algo", "net", "seed", "budget_unit")


def run_job(
    cwd: Path, sweep: Path, stop_folder: Path, option_dirs: list[Path], number: int
) -> None:
    """Run one job, perhaps in another process, and save its outcome in the sweep's folder.

    Relative paths refer to `cwd`. The folder of the sweep's stop signal, `stop_folder`, may be
    missing on other machines.
    """
    os.chdir(cwd)
    if read_stop_signal(stop_folder) is not None:
        return
    with stop_job_with_sweep(stop_folder):
        jobs = read_job_overrides(sweep)
        print_line(f"job {number + 1} of {len(jobs):,}: {' '.join(jobs[number])}")
        folder, outcome = None, RunOutcome("finished")
        try:
            request, folder, is_finished = find_run(compose_config(jobs[number]), option_dirs)
        except ConfigError as error:
            outcome = RunOutcome("refused", 2, str(error))
        else:
            if not is_finished:
                # Job n in a process that sees all GPUs uses GPU n modulo their number.
                if request.config["device"] != "cpu" and torch.cuda.device_count() > 1:
                    torch.cuda.set_device(number % torch.cuda.device_count())
                save_outcome(sweep, number, RunOutcome("running"), folder)
                outcome = train(request, option_dirs)
        save_outcome(sweep, number, outcome, folder)
        if outcome.status == "interrupted":
            forward_signal(outcome.exit_code - 128)


def find_run(
    request: ComposedConfig, option_dirs: Sequence[Path]
) -> tuple[ComposedConfig, Path, bool]:
    """Find the run folder of a request, which may be that of an earlier run with equal settings.

    Return the request, changed so that it resumes the earlier run if there is one, the run folder,
    and whether the run is finished.
    """
    if request.config["resume"] is not None:
        return request, Path(str(request.config["resume"])), False
    has_own_name = request.config["name"] is not None
    if not has_own_name:
        request = name_run_by_settings(request, option_dirs)
    folder = compose_run_folder(request)[1]
    manifest = read_manifest(folder)
    if not manifest:
        return request, folder, False
    if has_own_name:  # which contains no digest, so the command and the settings are compared
        old, _ = read_run_folder(folder)
        budget = {"budget": old.get("budget")}
        new = convert_horizons_to_steps(to_plain_dict(request.config) | budget)
        old, new = ({key: one.get(key) for key in COMPARED_KEYS} for one in (old, new))
        has_same_command = manifest.get("command") == format_train_command(request, option_dirs)
        if not has_same_command or find_differing_key(old, new):
            return request, folder, False
    resume = {"resume": str(folder)}
    resumed = replace(request, config=request.config | resume, overrides=[f"resume={folder}"])
    return resumed, folder, manifest.get("status") == "finished"


def name_run_by_settings(request: ComposedConfig, option_dirs: Sequence[Path]) -> ComposedConfig:
    """Name the run of a request by its overrides and a digest of all its settings."""
    settings = to_plain_dict(request.config)
    copies = OpponentFiles()
    bundle_opponents(settings, copies, option_dirs)
    bots = [path for path in copies.files_to_copy.values() if path.suffix == ".yaml"]
    content = {key: value for key, value in settings.items() if key not in LOCATION_SETTINGS}
    content["bots"] = [read_plain_yaml(path) for path in bots]
    digest = compute_digest(normalize_numbers(content))
    label = create_folder_label(
        request.overrides, CHANGEABLE_SETTINGS - {"device"} | LOCATION_SETTINGS
    )
    name = f"{label[: MAX_NAME_CHARACTERS - len(digest) - 1]}_{digest}".lstrip("_")
    parent = compose_run_folder(request)[1].parent
    # An earlier run with equal settings may have been named by other overrides.
    names = [path.name for path in parent.glob(f"*{digest}") if read_manifest(path)]
    if names and name not in names:
        name = min(names)
    return replace(request, config=request.config | {"name": name})


def compute_digest(value: object) -> str:
    """Return a hash of plain values as eight hexadecimal digits."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def read_stop_signal(folder: Path) -> int | None:
    """Return the number of the signal that stopped the sweep; None if no signal has stopped it."""
    try:
        return int((folder / STOP_FILE).read_text() or signal.SIGINT)
    except FileNotFoundError:
        return None


@contextmanager
def stop_job_with_sweep(folder: Path) -> Iterator[None]:
    """Stop the job in this context when its sweep is stopped or the sweep's process has ended.

    This applies to jobs in child processes of the sweep. The child process itself does not end,
    because a launcher that loses one process kills all others.
    """
    parent = multiprocessing.parent_process()
    if parent is None:  # the sweep's own process and clusters have other signal handlers
        yield
        return
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.wait(WATCH_INTERVAL_S):
            if read_stop_signal(folder) is not None or os.getppid() != parent.pid:
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
            # The sweep's process has ended, so this process gets no more jobs.
            os._exit(128 + signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
