"""One job of a sweep: it finds its run, skips it if finished and resumes it if begun.

A run's name describes its settings: the overrides, and a digest of all settings. So every sweep
that asks for the same settings, in whatever words, finds the same run; where an option file has
changed, be it that of a bot, the same words ask for other settings and start another run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from poker_rl.config.horizons import resolved
from poker_rl.config.options import alike, plain, read
from poker_rl.config.settings import Refused
from poker_rl.players.load import bot_of
from poker_rl.storage.disk import say
from poker_rl.storage.folder import PLACE, label_of, read_folder, read_manifest
from poker_rl.sweeps.stop_sweep import halted_by, stoppable
from poker_rl.sweeps.summary import read_jobs, save_outcome
from poker_rl.training.loggers import Row
from poker_rl.training.opponents import opponent_names, user_bots
from poker_rl.training.outcome import Outcome
from poker_rl.training.run_config import CHANGEABLE, first_difference
from poker_rl.training.signals import forward_signal
from poker_rl.training.train import command_of, train

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

MAX_NAME = 60  # characters of a run's name
COMPARED = ("game", "algo", "net", "seed", "budget_unit")  # of runs by the same command


def run_job(
    cwd: Path, sweep: Path, stop_folder: Path, option_dirs: list[Path], number: int
) -> None:
    """Run one job, perhaps in a process of its own, and save its outcome in the sweep's folder.

    Args:
        cwd: the folder that the sweep was started in, which paths are relative to.
        stop_folder: where the sweep says that it is stopped; not seen on other machines.
    """
    os.chdir(cwd)

    from poker_rl.config.compose import compose

    with stoppable(stop_folder):
        if halted_by(stop_folder) is not None:
            return  # jobs beside it are still saving their work
        jobs = read_jobs(sweep)
        say(f"job {number + 1} of {len(jobs):,}: {' '.join(jobs[number])}")
        try:
            request, is_finished = find_run(compose(jobs[number]), option_dirs)
        except Refused as error:
            outcome = Outcome(status="refused", exit_code=2, message=str(error))
        else:
            if is_finished:
                outcome = Outcome(status="finished", folder=str(request.settings["resume"]))
            else:
                choose_gpu(request, number)
                started = JobLogger(sweep, number)
                outcome = train(request, option_dirs, [started])
                outcome = replace(outcome, folder=outcome.folder or started.folder)
        save_outcome(sweep, number, outcome)
        if outcome.status == "interrupted":
            forward_signal(outcome.exit_code - 128)


@dataclass
class JobLogger:
    """Save where the run of a job is as soon as it has started."""

    sweep: Path
    number: int
    folder: str = ""

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Save the run's folder."""
        self.folder = str(folder)
        save_outcome(self.sweep, self.number, Outcome(status="running", folder=self.folder))

    def log(self, row: Row, step: int) -> None:
        """Leave rows to the run's own record."""

    def figure(self, name: str, path: Path, step: int) -> None:
        """Leave figures to the run's own record."""

    def close(self, status: str) -> None:
        """Leave the end to the job's outcome."""


def find_run(request: Composed, option_dirs: Sequence[Path]) -> tuple[Composed, bool]:
    """Return the request with the run that is the job's own, and whether that is finished.

    A run that has started is resumed.

    Raises:
        Refused: if an interpolation leads nowhere.
    """
    from poker_rl.config.compose import place

    name = request.settings["name"]
    if request.settings["resume"] is not None:
        return request, False
    if name is None:
        request = with_digest_name(request, option_dirs)
    _, _, folder = place(request)
    manifest = read_manifest(folder)
    # A name that the user chose says nothing of the settings; the command that started the run
    # does, as long as no option file has changed.
    if not manifest or (name and not is_same_run(request, option_dirs, folder, manifest)):
        return request, False
    resume = {"resume": str(folder)}
    resumed = replace(request, settings=request.settings | resume, overrides=[f"resume={folder}"])
    return resumed, manifest.get("status") == "finished"


def is_same_run(
    request: Composed, option_dirs: Sequence[Path], folder: Path, manifest: Mapping[str, Any]
) -> bool:
    """Return whether a run was started by the same command with the same settings."""
    if manifest.get("command") != command_of(request, option_dirs):
        return False
    theirs, _ = read_folder(folder)
    ours = resolved(plain(request.settings) | {"budget": theirs.get("budget")})
    return all(first_difference(ours.get(key), theirs.get(key)) is None for key in COMPARED)


def with_digest_name(request: Composed, option_dirs: Sequence[Path]) -> Composed:
    """Return the request with the name of its run: its overrides and a digest of all settings.

    Raises:
        Refused: if a bot's file does not exist.
    """
    from poker_rl.config.compose import place

    settings = plain(request.settings)
    content = alike({key: value for key, value in settings.items() if key not in PLACE})
    if bots := bot_settings(settings, option_dirs):
        content |= {"bots": bots}
    digest = digest_of(content)
    label = label_of(request.overrides, CHANGEABLE - {"device"} | PLACE)
    name = f"{label[: MAX_NAME - len(digest) - 1]}_{digest}".lstrip("_")
    named = replace(request, settings=request.settings | {"name": name})
    _, _, folder = place(named)
    # The same settings in other words have the same digest behind another label.
    started = sorted(path for path in folder.parent.glob(f"*{digest}") if read_manifest(path))
    if folder in started or not started:
        return named
    return replace(request, settings=request.settings | {"name": started[0].name})


def digest_of(value: object) -> str:
    """Return eight hexadecimal digits for plain values."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def bot_settings(settings: dict[str, Any], option_dirs: Sequence[Path]) -> dict[str, Any]:
    """Return the settings of the bots that a run meets and that come from the user's files.

    Raises:
        Refused: if a file does not exist.
    """
    own = user_bots(option_dirs)
    names = opponent_names(settings)
    files = {spec: own.get(name, name) for spec in names if (name := bot_of(spec))}
    return {spec: read(Path(file)) for spec, file in files.items() if file.endswith(".yaml")}


def choose_gpu(request: Composed, number: int) -> None:
    """Let a job compute on a GPU by its number, where its process sees several."""
    if request.settings["device"] != "cpu" and torch.cuda.device_count() > 1:
        torch.cuda.set_device(number % torch.cuda.device_count())  # which "cuda" means from now on
