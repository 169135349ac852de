"""`poker-rl train`: build game, algorithm, evaluator and loggers from the settings, then train.

The call chain is `run_training_job` -> `build_and_train` -> `train_in_folder` -> `Trainer.run`.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm, build_algorithm
from poker_rl.config.build import build
from poker_rl.config.compose import ComposedConfig, UngroupedConfig
from poker_rl.config.input_checks import ConfigError, error_prefix, is_out_of_memory
from poker_rl.config.option_files import list_user_option_dirs
from poker_rl.config.schedules import convert_horizons_to_steps, find_exhausted_learning_rate
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import select_summary_results
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.learning.opponents import SELF, OpponentSettings
from poker_rl.nets.precision import set_matmul_precision
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player
from poker_rl.storage import run_files
from poker_rl.storage.checkpoint import STATE_FILE
from poker_rl.storage.disk import atomic_replacement, exclusive_lock, remove_partial_files
from poker_rl.storage.terminal_printing import (
    format_os_error,
    print_line,
    print_notice_if_compiling,
)
from poker_rl.training.distributed_processes import start_and_connect_workers
from poker_rl.training.loggers import Logger
from poker_rl.training.rank_and_device import (
    choose_faster_device,
    count_torchrun_processes,
    find_process_rank,
    prepare_process,
)
from poker_rl.training.run_checkpoints import Checkpoints, warm_start
from poker_rl.training.run_config import (
    CHANGEABLE_SETTINGS,
    build_ungrouped_config,
    compose_new_or_resumed_settings,
)
from poker_rl.training.run_outcome import DivergedError, RunInterruptedError, RunOutcome
from poker_rl.training.run_recorder import RunRecorder
from poker_rl.training.trainer import Trainer


def run_training_job(composed: ComposedConfig, option_dirs: Sequence[Path]) -> RunOutcome:
    """Train one run, and return its outcome, also if it ended with an error."""
    try:
        with print_notice_if_compiling():
            build_and_train(composed, option_dirs)
    except ConfigError as error:
        status = "diverged" if isinstance(error, DivergedError) else "refused"
        return RunOutcome(status, 2, str(error))
    except RunInterruptedError as error:
        return RunOutcome("interrupted", error.exit_code, str(error))
    except BrokenPipeError:
        raise  # a program that reads the output, such as `head`, has ended
    except OSError as error:
        return RunOutcome("failed", 1, format_os_error(error))
    except Exception as error:
        if is_out_of_memory(error):
            message = "out of memory while training; use fewer tables or hands, or smaller batches"
            return RunOutcome("failed", 1, message)
        traceback.print_exc()
        return RunOutcome("failed", 1, f"{type(error).__name__}: {error}")
    return RunOutcome("finished")


def build_and_train(
    composed: ComposedConfig, option_dirs: Sequence[Path], loggers: Sequence[Logger] = ()
) -> None:
    """Build all parts of a run and train, with `loggers` besides those that the settings name."""
    # The manifest records sys.argv. In a job of a sweep or a study this is the command of the whole
    # sweep or study, so replace it by the command that trains this run alone.
    sys.argv = shlex.split(format_train_command(composed.overrides, option_dirs))
    settings, resume, opponents = compose_new_or_resumed_settings(composed, option_dirs)
    if resume is None and settings.get("workers") == 1:
        settings["workers"] = count_torchrun_processes()
    ungrouped = build_ungrouped_config(settings)
    config = convert_horizons_to_steps(settings | asdict(ungrouped))
    worker = find_process_rank(ungrouped.workers)
    device = prepare_process(ungrouped.device, ungrouped.threads, ungrouped.seed, worker)
    game: Game = build(config["game"], "game", Game)
    if ungrouped.device == "auto" and device.type == "cuda":
        device, reason = choose_faster_device(config, game)
        if worker.rank == 0:
            print_line(f"device: {device}, {reason}")
    set_matmul_precision(ungrouped.precision, device)

    def load(spec: str) -> Player:
        return load_player(opponents.resolve_bundled_path(spec), game, device, option_dirs)

    training_opponents = load_opponent_settings(ungrouped, load)
    evaluator: PlayerEvaluator = build(
        config["evaluation"],
        "evaluation",
        PlayerEvaluator,
        game=game,
        load=load,
        seed=ungrouped.seed,
    )
    own_loggers = [build(node, f"logger.{name}", Logger) for name, node in config["logger"].items()]
    algorithm = build_algorithm(
        config, game, device, ungrouped.seed, training_opponents, worker.count, worker.rank
    )
    if evaluator.exact_every is not None:
        with error_prefix("evaluation.exact_every"):
            evaluator.check_exact_possible(algorithm.players().values())
    # A warm start applies to new runs; a resumed run with a checkpoint loads its own weights later.
    if ungrouped.warm_start is not None and (resume is None or not (resume / STATE_FILE).exists()):
        with error_prefix("warm_start"):
            config["warm_start"] = warm_start(ungrouped.warm_start, config, algorithm, game, load)
    # Rank 0 starts the processes of the other ranks, which repeat all steps of this function.
    train_as_rank = partial(run_training_job, composed, option_dirs)
    with (
        start_and_connect_workers(worker, device, train_as_rank)
        if worker.count > 1
        else nullcontext()
    ):
        train_in_folder(
            config,
            algorithm,
            game=game,
            evaluator=evaluator,
            device=device,
            loggers=[*own_loggers, *loggers],
            resume=resume,
            files_to_copy=opponents.files_to_copy,
            overrides=composed.overrides,
        )


def load_opponent_settings(
    ungrouped: UngroupedConfig, load: Callable[[str], Player]
) -> OpponentSettings | None:
    """Return the opponents that a run trains against, or None for self-play."""
    names, weights = ungrouped.opponents, ungrouped.opponent_weights
    if weights is not None and len(weights) != len(names):
        raise ConfigError(f"opponent_weights: {len(weights)} for {len(names)} opponents")
    if not names:
        return None
    with error_prefix("opponents"):
        if len(set(names)) < len(names):
            raise ConfigError("a player is named twice; opponent_weights sets frequencies")
        players = {name: None if name == SELF else load(name) for name in names}
    return OpponentSettings(players=players, weights=weights, self_interval=ungrouped.self_interval)


def train_in_folder(
    config: Mapping[str, Any],
    algorithm: Algorithm,
    *,
    game: Game,
    evaluator: PlayerEvaluator,
    device: torch.device,
    loggers: Sequence[Logger],
    resume: Path | None,
    files_to_copy: Mapping[str, Path],
    overrides: Sequence[str],
) -> None:
    """Train in a new run folder, or in the folder `resume`.

    `files_to_copy` maps paths in the run folder to the files that are copied there. A new folder
    gets its name from the user's `overrides`.
    """
    config = {**config, "resume": None}
    if not collectives.is_main_process():
        checkpoints = Checkpoints(Path(), config, game, algorithm)
        checkpoints.load_state_on_all_ranks()
        Trainer(config, algorithm, evaluator, checkpoints).run()
        return
    names = config["names"]
    # The folder's name contains no settings that may change when the run is resumed.
    omitted = CHANGEABLE_SETTINGS | run_files.LOCATION_SETTINGS
    label = run_files.format_overrides_label(overrides, omitted)
    folder = resume or run_files.create_run_folder(
        Path(config["outputs"]), names["game"], names["algo"], config["name"], label
    )
    with exclusive_lock(folder, "training it"):
        recorder = RunRecorder(folder, config, loggers)
        checkpoints = Checkpoints(folder, config, game, algorithm, recorder)
        prepare_run_folder(recorder, checkpoints, device, files_to_copy, is_new=resume is None)
        trainer = Trainer(config, algorithm, evaluator, checkpoints)
        with recorder:
            trainer.run()
    for result in select_summary_results(recorder.results):
        label = " (headline player)" if result.player == recorder.results[0].player else ""
        print_line(f"{result.tag}{label}: {result}")
    if number := trainer.signals.number:
        raise RunInterruptedError(number, f"{folder} had finished before the stop")


def prepare_run_folder(
    recorder: RunRecorder,
    checkpoints: Checkpoints,
    device: torch.device,
    files_to_copy: Mapping[str, Path],
    is_new: bool,
) -> None:
    """Write config, manifest and copies of files; first load the checkpoint of a resumed run.

    No file of a resumed run changes before all checks have passed.
    """
    folder, config = recorder.folder, recorder.config
    try:
        if is_new:
            recorder.manifest = run_files.build_manifest(config["seed"], device)
        else:
            old, recorder.manifest = run_files.read_config_and_manifest(folder)
            checkpoints.restore(recorder)
            if checkpoints.last_progress is not None:
                check_resuming_is_useful(recorder, checkpoints.last_progress, int(old["budget"]))
            session = {"threads": config["threads"], "from": checkpoints.last_progress}
            recorder.manifest["resumed"].append(run_files.build_process_manifest(device) | session)
            recorder.manifest.pop("error", None)
        remove_partial_files(folder)  # while the other processes wait in `load_state_on_all_ranks`
        checkpoints.load_state_on_all_ranks()
        for relative_path, source in files_to_copy.items():
            (folder / relative_path).parent.mkdir(exist_ok=True)
            with atomic_replacement(folder / relative_path) as new_path:
                shutil.copyfile(source, new_path)
        run_files.write_config(folder, config)
        recorder.update_manifest(status="running", end=None)
        recorder.truncate()
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)  # an incomplete folder can't be resumed
        raise


def check_resuming_is_useful(
    recorder: RunRecorder, progress: Mapping[str, int], old_budget: int
) -> None:
    """Raise ConfigError if resuming is useless: no budget is left, or the learning rate is 0."""
    unit, budget, algo = recorder.unit, recorder.budget, recorder.config["algo"]
    is_done = recorder.manifest["status"] == "finished" and progress[unit] >= budget
    if not is_done and budget <= old_budget:
        return
    key = find_exhausted_learning_rate(algo, "algo", old_budget, unit)
    done = f"budget: the run has already done {progress[unit]:,} of {budget:,} {unit}; "
    if key is not None:
        raise ConfigError(
            f"{done if is_done else 'budget: '}{key} falls to 0 within {old_budget:,} {unit}, so a"
            " larger budget would teach it nothing; start a new run with warm_start=FOLDER"
        )
    if is_done:
        raise ConfigError(f"{done}give a larger budget to resume")


def format_train_command(overrides: Sequence[str], option_dirs: Sequence[Path]) -> str:
    """Return a command that trains with these overrides and the user's option folders."""
    flags = [f"--config-dir={folder}" for folder in list_user_option_dirs(option_dirs)]
    return shlex.join(["poker-rl", "train", *overrides, *flags])
