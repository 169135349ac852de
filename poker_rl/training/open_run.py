"""Create the folder of a new run, or open the folder of a run that is resumed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.schedule_horizons import find_exhausted_learning_rate
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import remove_partial_files
from poker_rl.storage.provenance import create_manifest, describe_process
from poker_rl.storage.run_folder import (
    LOCATION_SETTINGS,
    copy_files,
    create_folder_label,
    create_manifest,
    create_run_folder,
    describe_process,
    read_run_folder,
    write_config,
)
from poker_rl.training.loggers import Logger
from poker_rl.training.run_checkpoints import Checkpoints
from poker_rl.training.run_config import CHANGEABLE_SETTINGS
from poker_rl.training.run_record import RunRecord


def create_run(
    config: Mapping[str, Any],
    checkpoints: Checkpoints,
    device: torch.device,
    loggers: Sequence[Logger],
    files: Mapping[str, Path],
    overrides: Sequence[str],
) -> RunRecord:
    """Create the folder of a new run with its config and manifest; return its open record."""
    names = config["names"]
    # The folder's name contains no settings that may change when the run is resumed.
    label = create_folder_label(overrides, CHANGEABLE_SETTINGS | LOCATION_SETTINGS)
    manifest = create_manifest(config["seed"], device)
    outputs = Path(config["outputs"])
    folder = create_run_folder(outputs, names["game"], names["algo"], config["name"], label)
    try:
        record = RunRecord(folder, config, loggers)
        copy_files(folder, files)
        write_config(folder, config)
        record.write_manifest(**manifest)
        checkpoints.folder = folder
        checkpoints.synchronize()
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # an incomplete folder could not be resumed
        raise
    return record


def resume_run(
    folder: Path,
    config: Mapping[str, Any],
    checkpoints: Checkpoints,
    device: torch.device,
    loggers: Sequence[Logger],
    files: Mapping[str, Path],
) -> RunRecord:
    """Open a run folder and load its last checkpoint; write nothing before all checks have passed.

    Raises:
        ConfigError: if a file is damaged or from another run, or the budget is spent.
    """
    record = RunRecord(folder, config, loggers)
    try:
        old, manifest = read_run_folder(folder)
        record.manifest = manifest
        checkpoints.folder = folder
        checkpoints.restore(record)
        if checkpoints.last_progress is not None:
            check_resumed_budget(
                config, checkpoints.last_progress, str(manifest["status"]), int(old["budget"])
            )
        checkpoints.synchronize()
        session = {"threads": config["threads"], "from": checkpoints.last_progress}
        manifest["resumed"].append(describe_process(device) | session)
        manifest.pop("error", None)
        remove_partial_files(folder)
        copy_files(folder, files)
        write_config(folder, config)
        record.write_manifest(status="running", end=None)
        record.truncate()
    except BaseException:
        with suppress(OSError):
            record.file.close()
        raise
    return record


def check_resumed_budget(
    config: Mapping[str, Any], progress: Mapping[str, int], status: str, old_budget: int
) -> None:
    """Raise a ConfigError if a resumed run has no budget left, or if its learning rate would be 0.

    `progress` and `status` are those at the end of the run so far.
    """
    unit, budget = str(config["budget_unit"]), int(config["budget"])
    is_done = status == "finished" and progress[unit] >= budget
    if not is_done and budget <= old_budget:
        return
    if key := find_exhausted_learning_rate(config["algo"], "algo", old_budget):
        raise ConfigError(
            f"budget: {key} of this run falls to 0 within its {old_budget:,} {unit}, so a larger"
            " budget would teach it nothing; start a new run with warm_start=FOLDER"
        )
    if is_done:
        raise ConfigError(
            f"budget: the run has already done {progress[unit]:,} of {budget:,} {unit}; give a"
            " larger budget to resume"
        )
