"""`poker-rl evaluate`: load the selected players and measure them, or list earlier reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.build import build_instance_of, convert_fields
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.games.game import Game
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.players.player import Player
from poker_rl.players.player_loader import PLAYER_PATTERN, load_players, parse_spec, resolve_spec
from poker_rl.reports.evaluation_report import (
    EVALUATIONS_FOLDER,
    EvaluateConfig,
    Evaluation,
    format_report_tables,
)
from poker_rl.reports.measure_players import measure_mixed_table, measure_players
from poker_rl.storage.disk import print_line
from poker_rl.training.device import prepare_process
from poker_rl.training.read_run_config import read_run_config
from poker_rl.training.run_opponents import create_player_loader
from poker_rl.training.signals import interrupt_at_once

SETTINGS_WITHOUT_SEATS = (  # settings that can't be combined with the setting `seats`
    *("player", "against", "earlier_snapshots", "figures", "exact", "lbr", "best_responses"),
    *("hands", "hands_seat", "round_amounts"),
    *("variance_reduction", "control_player"),
)


def evaluate(
    settings: dict[str, Any], group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Measure the players of a run, any other player, or a table with a player for each seat.

    Args:
        group_config: settings of `game` and `evaluation`; None to use those of the run.
    """
    config = EvaluateConfig(**convert_fields(EvaluateConfig, settings, "", {}))
    if config.run is not None and group_config is not None:
        raise ConfigError(
            "game, evaluation: a run has its own; leave them out, or give game=NAME without run"
        )
    if config.show:
        print_reports(config)
        return
    if config.run is None and group_config is None:
        raise ConfigError(
            "run: missing; give run=FOLDER, or game=NAME and player=NAME or seats=[…]"
        )
    check_evaluate_settings(config)
    device = prepare_process(config.device, config.threads, config.seed)
    evaluation = create_evaluation(config, group_config, option_dirs, device)
    with interrupt_at_once():
        if config.seats:
            measure_mixed_table(evaluation)
        else:
            snapshot, players = load_measured_players(evaluation, device)
            measure_players(evaluation, players, snapshot)
    if evaluation.output_folder is None:
        print_line("\nnothing was written; out=FOLDER saves it as JSON and CSV")


def check_evaluate_settings(config: EvaluateConfig) -> None:
    """Raise `ConfigError` if settings contradict each other."""
    if config.seats:
        for key in SETTINGS_WITHOUT_SEATS:
            if getattr(config, key):
                raise ConfigError(
                    f"{key}: can't be used with seats, which name the player of every seat"
                )
    if config.run is not None:
        return
    if config.checkpoint is not None:
        raise ConfigError("checkpoint: needs run=FOLDER; a player is named as FOLDER@DECISIONS")
    if config.earlier_snapshots:
        raise ConfigError("earlier_snapshots: needs run=FOLDER")
    if config.figures and config.out is None:
        raise ConfigError("figures: needs out=FOLDER, or run=FOLDER")
    if config.player is None and not config.seats:
        raise ConfigError("player: missing; give player=NAME or player=FOLDER")


def create_evaluation(
    config: EvaluateConfig,
    group_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
    device: torch.device,
) -> Evaluation:
    """Build the game and the evaluator from the settings of the run or of the command line."""
    run = None if config.run is None else Path(config.run)
    game_config = group_config if run is None else read_run_config(run, "run")
    assert game_config is not None
    keys = ("deals", "variance_reduction", "control_player")
    changes = {key: getattr(config, key) for key in keys if getattr(config, key) is not None}
    game: Game = build_instance_of(Game, game_config["game"], "game")
    opponent_files = None if run is None else OpponentFiles(run)
    evaluator: PlayerEvaluator = build_instance_of(
        PlayerEvaluator,
        game_config["evaluation"] | changes,
        "evaluation",
        game=game,
        load=create_player_loader(game, device, option_dirs, opponent_files),
        seed=config.seed,
    )
    return Evaluation(config, game, evaluator, create_player_loader(game, device, option_dirs))


def load_measured_players(
    evaluation: Evaluation, device: torch.device
) -> tuple[Path | None, dict[str, Player]]:
    """Return the players to measure by name, and their snapshot file if they are from a run."""
    config, spec = evaluation.config, evaluation.config.player
    if config.run is None:
        assert spec is not None
        with error_prefix("player"):
            return None, {resolve_spec(spec): evaluation.load_player(spec)}
    if spec is not None and not PLAYER_PATTERN.fullmatch(spec):
        raise ConfigError(
            f"player: {spec} is not a name, as in current, current.2 or current:greedy"
        )
    with error_prefix("checkpoint"):
        suffix = "" if spec is None else f":{spec}"
        snapshot, name, instance, is_greedy = parse_spec(evaluation.snapshot_spec + suffix)
    with error_prefix("run" if spec is None else "player"):
        if instance is None and not is_greedy:
            return snapshot, load_players(snapshot, evaluation.game, device, name)
        assert spec is not None
        return snapshot, {spec: evaluation.load_player(f"{snapshot}:{spec}")}


def print_reports(config: EvaluateConfig) -> None:
    """Print a table of all reports of a run, or of those in the folder `out`."""
    if config.out is not None:
        folder = Path(config.out)
    elif config.run is not None:
        folder = Path(config.run) / EVALUATIONS_FOLDER
        read_run_config(Path(config.run), "run")
    else:
        raise ConfigError("show: give run=FOLDER or out=FOLDER")
    with error_prefix("show"):
        print_line(format_report_tables(folder))
