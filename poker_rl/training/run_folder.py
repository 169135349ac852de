"""Creating the folder of a new run, and opening that of a run to resume."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.horizons import used_up
from poker_rl.config.settings import Refused
from poker_rl.storage.checkpoint import PLAYERS, STATE
from poker_rl.storage.disk import demand_file, demand_folder, demand_own, remove_parts, say
from poker_rl.storage.folder import (
    CONFIG,
    FIGURES,
    MANIFEST,
    METRICS,
    PLACE,
    copy_files,
    label_of,
    new_folder,
    read_folder,
    write_config,
)
from poker_rl.storage.ran_on import changes, describe, session
from poker_rl.training.checkpoints import Checkpoints
from poker_rl.training.loggers import Logger
from poker_rl.training.record import RunRecord
from poker_rl.training.run_config import (
    CHANGEABLE,
    RESUME_RULE,
    first_difference,
    fixed_settings,
)


def create_run(
    config: Mapping[str, Any],
    checkpoints: Checkpoints,
    device: torch.device,
    loggers: Sequence[Logger],
    files: Mapping[str, Path],
    overrides: Sequence[str],
) -> RunRecord:
    """Create the folder of a new run and write its config and manifest.

    Args:
        files: copied into the folder: path in it, and where the file is now.
        overrides: what the user set, which names the folder.

    Raises:
        Refused: if the folder can't be created or exists.
    """
    names = config["names"]
    # A resumed run may change some settings, and the name would no longer be true.
    label = label_of(overrides, CHANGEABLE | PLACE)
    # The config's budget may grow when the run is resumed; the manifest keeps the first.
    manifest = describe(config["seed"], device) | {"budget": config["budget"]}
    outputs = Path(config["outputs"])
    folder = new_folder(outputs, names["game"], names["algo"], config["name"], label)
    try:
        # First of all, since it keeps out another run of the same name.
        record = RunRecord(folder, config, manifest, loggers)
        copy_files(folder, files)
        write_config(folder, config)
        record.write_manifest()
        checkpoints.folder = folder
        checkpoints.join()
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # no run could be resumed in it
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
    """Open a run folder at its last checkpoint. Nothing is written before all is accepted.

    Raises:
        Refused: if a file is damaged or of another run, or nothing is left to do or to learn.
    """
    old, manifest = read_folder(folder)
    if key := first_difference(fixed_settings(config), fixed_settings(old)):
        raise Refused(f"{key}: {RESUME_RULE}")
    check_kinds_of_files(folder)
    record = RunRecord(folder, config, manifest, loggers)
    try:
        # Read again: from now on no other process writes there.
        record.manifest = manifest = read_folder(folder)[1]
        checkpoints.folder = folder
        checkpoints.restore(record, manifest["checkpoint"] is not None)
        if checkpoints.saved is not None:
            check_budget(config, checkpoints, manifest, int(old["budget"]))
        checkpoints.join()
        here = session(device)
        if changed := changes(manifest, old, here, config):
            say(
                f"not as it was: {'; '.join(changed)}. The last bits of what is learnt may differ"
                " from those of a run that was never stopped"
            )
        manifest["resumed"].append(
            {**here, "threads": config["threads"], "from": checkpoints.saved}
        )
        manifest.pop("error", None)
        remove_parts(folder)
        copy_files(folder, files)
        write_config(folder, config)
        record.write_manifest(status="running", end=None)
        record.truncate()
    except BaseException:
        with suppress(OSError):
            record.file.close()
        raise
    return record


def check_kinds_of_files(folder: Path) -> None:
    """Check that the files of a run folder are files, and its folders folders.

    Raises:
        Refused: naming the first that is not.
    """
    for name in (CONFIG, MANIFEST, METRICS, STATE):
        demand_file(folder / name)
    for name in (PLAYERS, FIGURES):
        demand_folder(folder / name)
    demand_own(folder)
    if (folder / STATE).exists() and not (folder / METRICS).exists():
        raise Refused(f"{folder / METRICS}: no such file, and there is a checkpoint")


def check_budget(
    config: Mapping[str, Any],
    checkpoints: Checkpoints,
    manifest: Mapping[str, Any],
    earlier_budget: int,
) -> None:
    """Check that a restored run has something left to do, and can still learn.

    Raises:
        Refused: if not.
    """
    folder, algorithm = checkpoints.folder, checkpoints.algorithm
    unit, budget = str(config["budget_unit"]), int(config["budget"])
    step = int(getattr(algorithm.progress, unit))
    ended = next(used_up(algorithm, earlier_budget, unit), None)
    why = (
        f"the step size algo.{ended} of {folder} falls to 0 within its"
        f" {earlier_budget:,} {unit}, so that nothing would be learnt in more"
    )
    new_run = f"start a new run with warm_start={shlex.quote(str(folder))}"
    if manifest["status"] == "finished" and step >= budget:
        hint = "give a larger budget to resume" if ended is None else f"{why}; {new_run}"
        raise Refused(f"budget: {folder} has already done {step:,} of {budget:,} {unit}; {hint}")
    if budget > earlier_budget and ended is not None:
        raise Refused(f"budget: {why}; start again with budget={budget}, or {new_run}")


def warn_of_early_ends(checkpoints: Checkpoints, config: Mapping[str, Any]) -> None:
    """Print which step sizes are 0 for more than the last tenth of the budget."""
    budget = int(config["budget"]) * 9 // 10
    for name in used_up(checkpoints.algorithm, budget, str(config["budget_unit"])):
        say(
            f"algo.{name}: this step size reaches 0 before nine tenths of the budget are spent,"
            f" and then nothing more is learnt; with algo.{name}.horizon=null it takes all of it"
        )
