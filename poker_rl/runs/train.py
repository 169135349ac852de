"""Training: a run in a new folder or the run of an old one, from its first line to its last.

A run that is killed at any moment and resumed repeats, to the bit, what it would have done.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.horizons import used_up
from poker_rl.config.settings import Refused
from poker_rl.evaluation.measurement import Evaluator
from poker_rl.games.game import Game
from poker_rl.learning import processes
from poker_rl.runs.follower import Follower
from poker_rl.runs.record import first_of_each
from poker_rl.runs.resume import KEEPS, MAY_CHANGE, demand_run, differing, kept
from poker_rl.runs.run import Run
from poker_rl.runs.stop import Interrupted, Stop
from poker_rl.runs.together import lead
from poker_rl.storage.disk import remove_parts, say
from poker_rl.storage.folder import (
    PLACE,
    copy_files,
    label_of,
    new_folder,
    read_folder,
    write_config,
    write_manifest,
)
from poker_rl.storage.ran_on import changes, describe, session


def begin(
    cfg: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    evaluation: Evaluator,
    device: torch.device,
    files: Mapping[str, Path],
    overrides: Sequence[str],
) -> Run:
    """A run in a new folder."""
    names = cfg["names"]
    # A resumed run may change some settings, and the name would no longer be true.
    label = label_of(overrides, MAY_CHANGE | PLACE)
    manifest = describe(cfg["seed"], device) | {"budget": cfg["budget"]}  # it may be given more
    folder = new_folder(Path(cfg["outputs"]), names["game"], names["algo"], cfg["name"], label)
    try:
        # first of all, as it keeps out another run that was started with the same name just now
        run = Run(cfg, algorithm, game, evaluation, folder, manifest)
        copy_files(folder, files)
        write_config(folder, cfg)
        write_manifest(folder, manifest)
        lead(algorithm, folder, None)
        return run
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # no run could go on in it
        raise


def go_on(
    cfg: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    evaluation: Evaluator,
    folder: Path,
    device: torch.device,
    files: Mapping[str, Path],
) -> Run:
    """The run of a folder at its last checkpoint. Nothing is written before all is accepted."""
    old, manifest = read_folder(folder)
    if key := differing(kept(cfg), kept(old)):
        raise Refused(f"{key}: {KEEPS}")
    demand_run(folder)
    run = Run(cfg, algorithm, game, evaluation, folder, manifest)
    try:
        manifest = run.manifest = read_folder(folder)[1]  # nobody else writes there from now on
        run.restore(int(old["budget"]))
        lead(algorithm, folder, run.saved)
        here = session(device)
        if changed := changes(manifest, old, here, cfg):
            say(
                f"not as it was: {'; '.join(changed)}. The last bits of what is learnt may differ"
                " from those of a run that was never stopped"
            )
        manifest["resumed"].append({**here, "threads": cfg["threads"], "from": run.saved})
        manifest |= {"status": "running", "end": None}
        manifest.pop("error", None)
        remove_parts(folder)
        copy_files(folder, files)
        write_config(folder, cfg)
        write_manifest(folder, manifest)
        run.recorder.drop_the_rest()
    except BaseException:
        with suppress(OSError):
            run.recorder.close()
        raise
    return run


def tell_of_early_ends(run: Run) -> None:
    """Say which step sizes are 0 for more than the last tenth of the budget."""
    for name in used_up(run.algorithm, run.budget * 9 // 10, run.unit):
        say(
            f"algo.{name}: this step size comes to 0 before nine tenths of the budget are spent,"
            f" and then nothing more is learnt; with algo.{name}.horizon=null it takes all of it"
        )


def train(
    cfg: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    evaluation: Evaluator,
    device: torch.device,
    resume: Path | None = None,
    files: Mapping[str, Path] = MappingProxyType({}),
    overrides: Sequence[str] = (),
    begun: Callable[[Path], None] = lambda folder: None,
    watch: Callable[[Mapping[str, float]], None] = lambda row: None,
) -> tuple[dict[str, float], dict[str, dict[str, str]]]:
    """Train in a new run folder, or go on in an old one; the last row and the manifest's
    "measurements", the unit and kind of each number by tag. In a process of the run other than the
    first one, only learn with that one, and return nothing.

    `cfg` is the resolved root config as plain values, with "names": {"game": ..., "algo": ...},
    which name the folder, with its `outputs` and `name` and with `overrides`, what the user gave.
    `files` are copied into it: where to, and where they lie. `begun` is told the folder before
    anything is learnt, `watch` each row that is recorded; the run ends early by what it raises.

    Raises:
        OSError: if the machine fails, see `disk`, or another process of the run has ended.
        Refused: if there is nothing to resume, or the run can't go on.
        Diverged: if a metric or a weight is no longer a number.
        Interrupted: at a signal of those that `stop.caught` names, after a checkpoint.
    """
    cfg = {**cfg, "resume": None}
    if not processes.first():
        with Stop() as stop:
            Follower(cfg, algorithm).loop(stop)
        return {}, {}
    if resume is None:
        run = begin(cfg, algorithm, game, evaluation, device, files, overrides)
    else:
        run = go_on(cfg, algorithm, game, evaluation, resume, device, files)
    run.watch = watch
    stop = Stop()
    try:
        say(f"run folder: {run.folder}")
        if resume is None:
            tell_of_early_ends(run)
        begun(run.folder)
        with stop:
            run.loop(stop)
            if run.step < run.budget:
                run.save(run.recorder.state_dict())
                again = f"poker-rl train resume={shlex.quote(str(run.folder))}"
                raise Interrupted(stop.number, f"stopped; to go on: {again}")
            run.finish()
            run.close("finished")
    except BaseException as error:
        # Its output broke off: `poker-rl train … | head`.
        stopped = isinstance(error, Interrupted | KeyboardInterrupt | BrokenPipeError)
        with suppress(OSError):  # what failed may fail again, and the first error is told
            run.close("interrupted" if stopped else "failed", None if stopped else error)
        if isinstance(error, Interrupted) and stop.number:  # whatever else ended it
            raise Interrupted(stop.number, str(error)) from None
        raise
    for place, (tag, one) in enumerate(first_of_each(run.recorder.measurements).items()):
        say(f"{tag}{' (headline player)' if place == 0 else ''}: {one.under(tag)}")
    if stop.number:
        raise Interrupted(stop.number, f"stopped; {run.folder} was finished all the same")
    return run.last_row, run.manifest["measurements"]
