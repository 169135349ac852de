"""`poker-rl train`: build game, algorithm, evaluator and loggers from the settings, then train.

The call chain is `train` -> `build_and_train` -> `train_in_folder` -> `Trainer.run`.
"""

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

from poker_rl.algos.algorithm import Algorithm, build_algorithm
from poker_rl.config.build import build_instance_of, convert_fields
from poker_rl.config.compose import RootConfig
from poker_rl.config.option_files import list_user_option_dirs, to_plain_dict
from poker_rl.config.process_setup import MAX_AUTO_THREADS, count_cores
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.config.validation import ConfigError, error_prefix, is_out_of_memory
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import select_first_results
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.nets.precision import set_matmul_precision
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.storage.checkpoint import STATE_FILE
from poker_rl.storage.console import announce_compilation, format_os_error, print_line
from poker_rl.training.device import choose_faster_device, prepare_process
from poker_rl.training.launch_workers import (
    connect_workers,
    count_torchrun_processes,
    find_process_rank,
)
from poker_rl.training.loggers import Logger
from poker_rl.training.open_run import create_run, resume_run
from poker_rl.training.read_run_config import GROUPS, REQUIRED_PARTS, read_run_config
from poker_rl.training.resumed_config import compose_resumed_config
from poker_rl.training.run_checkpoints import Checkpoints, DivergedError
from poker_rl.training.run_opponents import (
    bundle_opponents,
    create_player_loader,
    list_opponents,
    load_opponents,
)
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.run_record import RunInUseError, RunRecord
from poker_rl.training.signals import RunInterruptedError
from poker_rl.training.trainer import Trainer
from poker_rl.training.warm_start import warm_start_from_run

if TYPE_CHECKING:
    from poker_rl.config.compose import ComposedConfig

# Groups whose chosen option is recorded in the part `names` of a run's config.
NAMED_GROUPS = ("game", "algo", "net", "experiment")
NON_ROOT_KEYS = (*REQUIRED_PARTS, "net")


def train(
    request: ComposedConfig, option_dirs: Sequence[Path], loggers: Sequence[Logger] = ()
) -> RunOutcome:
    """Train one run, and return its outcome, even after an error.

    Args:
        request: the settings, composed from conf/ and the command line.
        loggers: loggers in addition to those of the config.

    Raises:
        KeyboardInterrupt, BrokenPipeError: the only errors that are not returned as an outcome.
    """
    sys.argv = shlex.split(format_train_command(request, option_dirs))
    folder = str(request.config["resume"] or "")

    def create_failed_outcome(status: str, code: int, message: str) -> RunOutcome:
        return RunOutcome(status=status, exit_code=code, message=message, folder=folder)

    try:
        with announce_compilation():
            record = build_and_train(request, option_dirs, loggers)
        if record is None:
            return RunOutcome(status="finished")
        units = {tag: one["unit"] for tag, one in record.manifest["measurements"].items()}
        return RunOutcome(
            status="finished", folder=str(record.folder), metrics=record.last_row, units=units
        )
    except ConfigError as error:
        statuses = {DivergedError: "diverged", RunInUseError: "in use"}
        return create_failed_outcome(statuses.get(type(error), "refused"), 2, str(error))
    except RunInterruptedError as error:
        return create_failed_outcome("interrupted", error.exit_code, str(error))
    except BrokenPipeError:
        raise  # a program that reads the output, such as `head`, has ended
    except OSError as error:
        return create_failed_outcome("failed", 1, format_os_error(error))
    except Exception as error:
        if is_out_of_memory(error):
            message = "out of memory while training; less at once (tables, hands, batch) needs less"
            return create_failed_outcome("failed", 1, message)
        traceback.print_exc()
        return create_failed_outcome("failed", 1, f"{type(error).__name__}: {error}")


def build_and_train(
    request: ComposedConfig, option_dirs: Sequence[Path], loggers: Sequence[Logger]
) -> RunRecord | None:
    """Build the algorithm and all that it needs, and train; return the record on rank 0."""
    settings, resume, opponents = collect_settings(request, option_dirs)
    root = build_root_config(settings)
    config = convert_horizons_to_steps(settings | asdict(root))
    worker = find_process_rank(root.workers)
    device = prepare_process(root.device, root.threads, root.seed, worker)
    game: Game = build_instance_of(Game, config["game"], "game")
    if root.device == "auto" and device.type == "cuda":
        device, reason = choose_faster_device(config, game)
        if worker.rank == 0:
            print_line(f"device: {device}, {reason}")
    set_matmul_precision(root.precision, device)
    load = create_player_loader(game, device, option_dirs, opponents)
    training_opponents = load_opponents(root, load)
    evaluator: PlayerEvaluator = build_instance_of(
        PlayerEvaluator, config["evaluation"], "evaluation", game=game, load=load, seed=root.seed
    )
    own_loggers = [
        build_instance_of(Logger, node, f"logger.{name}") for name, node in config["logger"].items()
    ]
    algorithm = build_algorithm(
        config, game, device, root.seed, training_opponents, worker.count, worker.rank
    )
    # A warm start applies to new runs; a resumed run with a checkpoint loads its own weights later.
    if root.warm_start is not None and (resume is None or not (resume / STATE_FILE).exists()):
        with error_prefix("warm_start"):
            config["warm_start"] = warm_start_from_run(root.warm_start, config, algorithm, game)
    if evaluator.exact_every is not None:
        with error_prefix("evaluation.exact_every"):
            costs = evaluator.describe_exact_costs(algorithm.players())
        for cost in costs if worker.rank == 0 else ():
            print_line(cost)
    with connect_workers(worker, device, partial(train, request, option_dirs)):
        return train_in_folder(
            config,
            algorithm,
            game,
            evaluator,
            device,
            [*own_loggers, *loggers],
            resume=resume,
            files=opponents.files_to_copy,
            overrides=request.overrides,
        )


def train_in_folder(
    config: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    evaluator: PlayerEvaluator,
    device: torch.device,
    loggers: Sequence[Logger] = (),
    resume: Path | None = None,
    files: Mapping[str, Path] = MappingProxyType({}),
    overrides: Sequence[str] = (),
) -> RunRecord | None:
    """Train in a new run folder, or in the folder `resume`; return the record, or None if rank > 0.

    Args:
        config: the settings; its key `names` has the names of the options of game and algorithm.
        files: source of each file to copy, by its path in the run folder.
        overrides: the user's overrides, from which a new folder gets its name.

    Raises:
        OSError: if the machine fails, or another process of the run has ended.
        ConfigError: if the run can't be created or resumed.
        DivergedError: if a metric or a weight is not finite.
        RunInterruptedError: at a stop signal, after a checkpoint.
    """
    config = {**config, "resume": None}
    checkpoints = Checkpoints(Path(), config, game, algorithm)
    record = None
    if not collectives.is_main_process():
        checkpoints.synchronize()
    elif resume is None:
        record = create_run(config, checkpoints, device, loggers, files, overrides)
    else:
        record = resume_run(resume, config, checkpoints, device, loggers, files)
    trainer = Trainer(config, algorithm, evaluator, checkpoints, record)
    try:
        with record or nullcontext():
            if record is not None:
                print_line(f"run folder: {record.folder}")
            trainer.run()
    except RunInterruptedError as error:
        # If a logger raised the error and then a signal came, the signal decides the exit code.
        if trainer.signals.number:
            raise RunInterruptedError(trainer.signals.number, str(error)) from None
        raise
    if record is not None:
        for index, result in enumerate(select_first_results(record.results)):
            headline = " (headline player)" if index == 0 else ""
            print_line(f"{result.tag}{headline}: {result.format_after_tag()}")
        if number := trainer.signals.number:
            raise RunInterruptedError(number, f"{record.folder} had finished before the stop")
    return record


def collect_settings(
    request: ComposedConfig, option_dirs: Sequence[Path]
) -> tuple[dict[str, Any], Path | None, OpponentFiles]:
    """Return the settings of a run, the run folder to resume or None, and the opponents to copy."""
    if request.config["resume"] is not None:
        folder = Path(str(request.config["resume"]))
        old = read_run_config(folder, "resume")
        opponents = OpponentFiles(folder, list_opponents(old))
        settings = compose_resumed_config(old, request)
        return bundle_opponents(settings, opponents, option_dirs), folder, opponents
    options = request.option_by_group
    names = {group: options[group] for group in NAMED_GROUPS if options.get(group)}
    for part in GROUPS:
        if part not in request.config:
            raise ConfigError(f"{part}: missing; give {part}=…")
    for group in ("game", "algo"):
        if group not in names:
            raise ConfigError(f"{group}: give the name of one option")
    settings = {"logger": {}} | to_plain_dict(request.config) | {"names": names}
    if settings.get("workers") == 1:
        settings["workers"] = count_torchrun_processes()
    opponents = OpponentFiles()
    return bundle_opponents(settings, opponents, option_dirs), None, opponents


def build_root_config(settings: Mapping[str, Any]) -> RootConfig:
    """Build the root settings, those outside all groups, with `threads: auto` as a number."""
    root = {key: value for key, value in settings.items() if key not in NON_ROOT_KEYS}
    if root.get("threads") == "auto":
        root["threads"] = min(count_cores(), MAX_AUTO_THREADS)
    return RootConfig(**convert_fields(RootConfig, root, "", {}))


def format_train_command(request: ComposedConfig, option_dirs: Sequence[Path]) -> str:
    """Return a command that trains this run; for a job of a sweep, it trains only this job."""
    flags = [f"--config-dir={folder}" for folder in list_user_option_dirs(option_dirs)]
    return shlex.join(["poker-rl", "train", *request.overrides, *flags])
