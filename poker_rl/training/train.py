"""`poker-rl train`: build everything that a run needs, and only then train."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from numba.core.event import install_listener

from poker_rl.algos.algorithm import Algorithm
from poker_rl.algos.load import build_algorithm
from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.horizons import resolved
from poker_rl.config.options import key_of, of_the_user, plain
from poker_rl.config.root import Root
from poker_rl.config.settings import Refused, about, ran_out
from poker_rl.evaluation.measurement import Evaluator, first_of_each
from poker_rl.games.game import Game
from poker_rl.learning import processes
from poker_rl.learning.arithmetic import compute_in
from poker_rl.players.opponents import Opponents
from poker_rl.storage.checkpoint import STATE
from poker_rl.storage.disk import error_line, say
from poker_rl.storage.folder import Taken
from poker_rl.storage.progress import CompilationNotice
from poker_rl.training.checkpoints import Checkpoints, DivergedError
from poker_rl.training.device import prepare_device
from poker_rl.training.launch_workers import connect_workers, this_worker, torchrun_count
from poker_rl.training.loggers import Logger
from poker_rl.training.opponents import bundle_opponents, opponent_names, player_loader
from poker_rl.training.outcome import Outcome
from poker_rl.training.record import RunInUseError, RunRecord
from poker_rl.training.run_config import (
    GROUPS,
    REQUIRED,
    read_config,
    resumed_config,
    resumed_evaluation,
)
from poker_rl.training.run_folder import create_run, resume_run, warn_of_early_ends
from poker_rl.training.signals import Interrupted
from poker_rl.training.trainer import Trainer
from poker_rl.training.warm_start import begin_with

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

NAMED_GROUPS = ("game", "algo", "net", "experiment")  # whose option a run is known by
PARTS = (*REQUIRED, "net")  # all that is no root setting


def train(
    request: Composed, option_dirs: Sequence[Path], loggers: Sequence[Logger] = ()
) -> Outcome:
    """Train one run and return how it ended; only KeyboardInterrupt and its kind are raised.

    Args:
        option_dirs: the folders of the options.
        loggers: in addition to those of the config; the run ends early by what they raise.
    """
    sys.argv = shlex.split(command_of(request, option_dirs))
    folder = str(request.settings["resume"] or "")

    def ended(status: str, code: int, message: str) -> Outcome:
        return Outcome(status=status, exit_code=code, message=message, folder=folder)

    try:
        with install_listener("numba:compile", CompilationNotice()):
            record = build_and_train(request, option_dirs, loggers)
        if record is None:
            return Outcome(status="finished")
        units = {tag: one["unit"] for tag, one in record.manifest["measurements"].items()}
        return Outcome(
            status="finished", folder=str(record.folder), metrics=record.last_row, units=units
        )
    except Taken as error:
        if "name" in map(key_of, request.overrides):
            return ended("refused", 2, str(error))
        folder = str(error.folder)
        return ended("in use", 2, f"{folder} is in use: another process has just begun it")
    except Refused as error:
        statuses = {DivergedError: "diverged", RunInUseError: "in use"}
        message = f"{error}{_experiment_hint(error, request)}"
        return ended(statuses.get(type(error), "refused"), 2, message)
    except Interrupted as error:
        return ended("interrupted", error.exit_code, str(error))
    except BrokenPipeError:
        raise  # the reader of our output has gone
    except OSError as error:
        return ended("failed", 1, error_line(error))
    except Exception as error:
        if ran_out(error):
            message = "out of memory while training; less at once (tables, hands, batch) needs less"
            return ended("failed", 1, message)
        traceback.print_exc()
        return ended("failed", 1, f"{type(error).__name__}: {error}")


def build_and_train(
    request: Composed, option_dirs: Sequence[Path], loggers: Sequence[Logger]
) -> RunRecord | None:
    """Build everything and train; return the run's record on rank 0, None in other processes.

    Raises:
        Refused: if any setting can't be accepted.
    """
    settings, resume, opponents = collect_settings(request, option_dirs)
    root = root_settings(settings)
    config = resolved(settings | asdict(root))
    worker = this_worker(root.workers)
    device = prepare_device(root.device, root.threads, root.seed, worker)
    compute_in(root.precision, device)
    game: Game = build_as(Game, config["game"], "game")
    load = player_loader(game, device, option_dirs, opponents)
    with about("opponent"):
        opponent = None if root.opponent is None else load(root.opponent)
    evaluator: Evaluator = build_as(
        Evaluator, config["evaluation"], "evaluation", game=game, load=load, seed=root.seed
    )
    built = [build_as(Logger, node, f"logger.{name}") for name, node in config["logger"].items()]
    algorithm = build_algorithm(
        config, game, device, root.seed, opponent, worker.count, worker.rank
    )
    # A resumed run has weights of its own, unless it was killed before its first checkpoint.
    if root.warm_start is not None and (resume is None or not (resume / STATE).exists()):
        with about("warm_start"):
            config["warm_start"] = begin_with(root.warm_start, config, algorithm, game)
    if evaluator.exact_every is not None:
        with about("evaluation.exact_every"):
            costs = evaluator.exact_costs(algorithm.players())
        for cost in costs if worker.rank == 0 else ():
            say(cost)
    with connect_workers(worker, device, partial(train, request, option_dirs)):
        return train_in_folder(
            config,
            algorithm,
            game,
            evaluator,
            device,
            [*built, *loggers],
            resume=resume,
            files=opponents.files,
            overrides=request.overrides,
        )


def train_in_folder(
    config: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    evaluator: Evaluator,
    device: torch.device,
    loggers: Sequence[Logger] = (),
    resume: Path | None = None,
    files: Mapping[str, Path] = MappingProxyType({}),
    overrides: Sequence[str] = (),
) -> RunRecord | None:
    """Train in a new run folder, or resume in an old one.

    Args:
        config: the resolved settings, whose "names" hold the options of game and algorithm.
        resume: the run folder to resume.
        files: copied into the run folder: path in it, and where the file is now.
        overrides: what the user set, which names a new folder.

    Returns:
        the run's record on rank 0, None in other processes of the run.

    Raises:
        OSError: if the machine fails, or another process of the run has ended.
        Refused: if there is nothing to resume, or the run can't be resumed.
        DivergedError: if a metric or a weight is not finite.
        Interrupted: at a signal to stop, after a checkpoint.
    """
    config = {**config, "resume": None}
    checkpoints = Checkpoints(Path(), config, game, algorithm)
    record = None
    if not processes.first():
        checkpoints.join()
    elif resume is None:
        record = create_run(config, checkpoints, device, loggers, files, overrides)
    else:
        record = resume_run(resume, config, checkpoints, device, loggers, files)
    trainer = Trainer(config, algorithm, evaluator, checkpoints, record)
    try:
        with record or nullcontext():
            if record is not None:
                say(f"run folder: {record.folder}")
                if resume is None:
                    warn_of_early_ends(checkpoints, config)
            trainer.run()
    except Interrupted as error:
        if trainer.signals.number:  # whatever else ended it
            raise Interrupted(trainer.signals.number, str(error)) from None
        raise
    if record is not None:
        for index, (tag, one) in enumerate(first_of_each(record.measurements).items()):
            say(f"{tag}{' (headline player)' if index == 0 else ''}: {one.under(tag)}")
        if number := trainer.signals.number:
            raise Interrupted(number, f"stopped; {record.folder} was finished all the same")
    return record


def collect_settings(
    request: Composed, option_dirs: Sequence[Path]
) -> tuple[dict[str, Any], Path | None, Opponents]:
    """Return all settings of the run, the folder to resume and the players it keeps copies of.

    Raises:
        Refused: if a group is missing or a setting may not change.
    """
    names = {group: request.choices[group] for group in NAMED_GROUPS if request.choices.get(group)}
    for part in GROUPS:
        if part not in request.settings:
            raise Refused(f"{part}: missing; give {part}=…")
    for group in ("game", "algo"):
        if group not in names:
            raise Refused(f"{group}: give the name of one option")
    if "names" in request.settings:
        raise Refused("names: no such setting; a run makes it of its options")
    settings = {"logger": {}} | plain(request.settings) | {"names": names}
    if settings["resume"] is None:
        if settings.get("workers") == 1:
            settings["workers"] = torchrun_count()
        opponents = Opponents()
        return bundle_opponents(settings, opponents, option_dirs), None, opponents
    if "evaluation" in settings:
        settings["evaluation"] = resumed_evaluation(request)
    folder = Path(str(settings["resume"]))
    opponents = Opponents(folder, opponent_names(read_config(folder, "resume")))
    settings = resumed_config(folder, settings, request.overrides)
    return bundle_opponents(settings, opponents, option_dirs), folder, opponents


def root_settings(settings: Mapping[str, Any]) -> Root:
    """Return the root settings among all of them.

    Raises:
        Refused: if one is missing or can't be accepted.
    """
    root = {key: value for key, value in settings.items() if key not in PARTS}
    return Root(**convert_fields(Root, root, "", {}))


def command_of(request: Composed, option_dirs: Sequence[Path]) -> str:
    """Return the command for this run alone, be it a job of a sweep."""
    flags = [f"--config-dir={folder}" for folder in of_the_user(option_dirs)]
    return shlex.join(["poker-rl", "train", *request.overrides, *flags])


def _experiment_hint(error: Refused, request: Composed) -> str:
    """Return a hint where the wrong setting may belong to an experiment's own algorithm."""
    given = dict(word.split("=", 1) for word in request.overrides if "=" in word)
    if not str(error).startswith("algo.") or not {"algo", "experiment"} <= given.keys():
        return ""
    return (
        f"; experiment={given['experiment']} brings settings of its own algo,"
        f" which algo={given['algo']} may not have"
    )
