"""`poker-rl evaluate`: its settings, and the players that they select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from poker_rl.config.build import build_instance_of, convert_fields
from poker_rl.config.validation import ConfigError, NonNegativeInt, PositiveInt, Seed, error_prefix
from poker_rl.evaluation.matches.duplicate_match import DealCount
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.variance_reduction.variance_reducers import VarianceReductionMethod
from poker_rl.games.game import Game
from poker_rl.players.opponent_copies import OpponentCopies
from poker_rl.players.player_loader import (
    PLAYER_PATTERN,
    list_earlier_snapshots,
    load_players,
    parse_spec,
    resolve_spec,
)
from poker_rl.reports.evaluate_players import (
    EvaluationRequest,
    evaluate_mixed_table,
    evaluate_players,
    select_evenly,
)
from poker_rl.reports.evaluation_report import (
    EVALUATIONS_FOLDER,
    EvaluationReport,
    format_report_list,
)
from poker_rl.storage.disk import check_no_special_files, print_line
from poker_rl.storage.run_folder import METRICS_FILE
from poker_rl.training.device import prepare_device
from poker_rl.training.opponents import create_player_loader
from poker_rl.training.run_config import read_config
from poker_rl.training.signals import interrupt_at_once

SETTINGS_WITHOUT_SEATS = (  # settings that can't be used with `seats`
    *("player", "against", "earlier_snapshots", "figures", "exact", "lbr", "best_responses"),
    *("variance_reduction", "control_player"),
)
RUN_PLAYER = "self"  # stands in `seats` for the headline player of the run
NOT_SAVED = "\nnothing was written; out=FOLDER saves it as JSON and CSV"
DEFAULT_EARLIER_SNAPSHOTS = 5  # for the figures of a game too large to enumerate


@dataclass(kw_only=True, frozen=True)
class EvaluateConfig:
    """Settings of `poker-rl evaluate`."""

    run: str | None
    checkpoint: NonNegativeInt | None
    player: str | None
    against: list[str]
    seats: list[str]
    earlier_snapshots: NonNegativeInt | None
    deals: DealCount | None
    variance_reduction: VarianceReductionMethod | None
    control_player: str | None
    figures: bool
    exact: bool
    lbr: bool
    best_responses: list[str]
    out: str | None
    show: bool
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt


def evaluate(
    settings: dict[str, Any], group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Measure the players of a run folder, a player of any game, or a mixed table.

    Args:
        group_config: settings of `game` and `evaluation`; None if they are those of a run.
        option_dirs: the folders of option files.

    Raises:
        ConfigError: if a setting is not allowed.
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
    device = prepare_device(config.device, config.threads, config.seed)
    request = create_request(config, group_config, option_dirs, device)
    if config.run is not None and config.out is None:  # the report goes into the run folder
        with error_prefix("run"):
            check_no_special_files(Path(config.run))
    if config.run is None and config.checkpoint is not None:
        raise ConfigError("checkpoint: needs run=FOLDER; a player is named as FOLDER@DECISIONS")
    if config.seats:
        evaluate_seats(config, request)
    elif config.run is not None:
        with interrupt_at_once():
            evaluate_run(
                Path(config.run),
                request,
                device=device,
                checkpoint=config.checkpoint,
                player=config.player,
                earlier_count=config.earlier_snapshots,
            )
    else:
        evaluate_single_player(config, request)


def create_request(
    config: EvaluateConfig,
    group_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
    device: torch.device,
) -> EvaluationRequest:
    """Build the request, with game and evaluator of the run or of the command line."""
    run = None if config.run is None else Path(config.run)
    game_config = group_config if run is None else read_config(run, "run")
    assert game_config is not None
    changes = {
        "deals": config.deals,
        "variance_reduction": config.variance_reduction,
        "control_player": config.control_player,
    }
    evaluator_config = game_config["evaluation"] | {
        key: value for key, value in changes.items() if value is not None
    }
    game: Game = build_instance_of(Game, game_config["game"], "game")
    opponent_copies = None if run is None else OpponentCopies(run)
    evaluator: PlayerEvaluator = build_instance_of(
        PlayerEvaluator,
        evaluator_config,
        "evaluation",
        game=game,
        load=create_player_loader(game, device, option_dirs, opponent_copies),
        seed=config.seed,
    )
    return EvaluationRequest(
        game=game,
        evaluator=evaluator,
        load_player=create_player_loader(game, device, option_dirs),
        deals=evaluator.deals,
        seed=config.seed,
        opponents=config.against,
        exact=config.exact,
        lbr=config.lbr,
        best_responses=config.best_responses,
        figures=config.figures,
        output_folder=None if config.out is None else Path(config.out),
    )


def evaluate_run(
    run_folder: Path,
    request: EvaluationRequest,
    *,
    device: torch.device,
    checkpoint: int | None = None,
    player: str | None = None,
    earlier_count: int | None = None,
) -> EvaluationReport:
    """Measure the players of a run folder, print the report and save it.

    Args:
        request: uses the run's game; without an output folder the run's `evaluations` is used.
        checkpoint: decisions of the snapshot to evaluate; None for the newest.
        player: a player of the snapshot, such as `average`, or an instance of it, such as
            `average.7`; None for all players.
        earlier_count: number of earlier snapshots, evenly spaced, that each player plays against;
            None for `DEFAULT_EARLIER_SNAPSHOTS` if figures of matches are drawn, else for 0.

    Raises:
        ConfigError: if the run has no such snapshot, or a player can't be loaded.
    """
    if player is not None and not PLAYER_PATTERN.fullmatch(player):
        raise ConfigError(
            f"player: {player} is not a name, as in current, current.2 or current:greedy"
        )
    snapshot_spec = str(run_folder) if checkpoint is None else f"{run_folder}@{checkpoint}"
    with error_prefix("checkpoint"):
        snapshot, player_name, instance, is_greedy = parse_spec(
            snapshot_spec if player is None else f"{snapshot_spec}:{player}"
        )
    with error_prefix("run" if player is None else "player"):
        if player is None or (instance is None and not is_greedy):
            players = load_players(snapshot, request.game, device, player_name)
        else:
            players = {player: request.load_player(f"{snapshot}:{player}")}
    if earlier_count is None:
        draws_matches = request.figures and request.evaluator.tree is None
        has_single_instances = all(one.instances == 1 for one in players.values())
        earlier_count = DEFAULT_EARLIER_SNAPSHOTS if draws_matches and has_single_instances else 0
    if request.output_folder is None:
        request = replace(request, output_folder=run_folder / EVALUATIONS_FOLDER)
    earlier_snapshots = list_earlier_snapshots(run_folder, int(snapshot.stem))
    return evaluate_players(
        players,
        request,
        earlier_snapshots=select_evenly(earlier_snapshots, earlier_count),
        snapshot=snapshot,
        metrics_path=run_folder / METRICS_FILE,
    )


def evaluate_single_player(config: EvaluateConfig, request: EvaluationRequest) -> None:
    """Measure the player of the setting `player` when `run` is not set.

    Raises:
        ConfigError: if `player` is missing, or a setting needs `run`.
    """
    if config.earlier_snapshots:
        raise ConfigError("earlier_snapshots: needs run=FOLDER")
    if config.figures and config.out is None:
        raise ConfigError("figures: needs out=FOLDER, or run=FOLDER")
    if config.player is None:
        raise ConfigError("player: missing; give player=NAME or player=FOLDER")
    with error_prefix("player"):
        players = {resolve_spec(config.player): request.load_player(config.player)}
    with interrupt_at_once():
        evaluate_players(players, request)
    if config.out is None:
        print_line(NOT_SAVED)


def evaluate_seats(config: EvaluateConfig, request: EvaluationRequest) -> None:
    """Measure the players of a mixed table.

    Raises:
        ConfigError: if a setting can't be used with mixed tables.
    """
    for key in SETTINGS_WITHOUT_SEATS:
        if getattr(config, key):
            raise ConfigError(
                f"{key}: can't be used with seats, which name the player of every seat"
            )
    seats, output_folder = config.seats, request.output_folder
    if config.run is not None:
        run = config.run if config.checkpoint is None else f"{config.run}@{config.checkpoint}"
        seats = [run if spec == RUN_PLAYER else spec for spec in seats]
        output_folder = output_folder or Path(config.run) / EVALUATIONS_FOLDER
    with interrupt_at_once():
        evaluate_mixed_table(seats, replace(request, output_folder=output_folder))
    if output_folder is None:
        print_line(NOT_SAVED)


def print_reports(config: EvaluateConfig) -> None:
    """Print a table of all reports of a run, or of those in the folder `out`.

    Raises:
        ConfigError: if there are no reports.
    """
    if config.out is None and config.run is None:
        raise ConfigError("show: give run=FOLDER or out=FOLDER")
    if config.out is not None:
        folder = Path(config.out)
    else:
        folder = Path(str(config.run)) / EVALUATIONS_FOLDER
        read_config(Path(str(config.run)), "run")
    with error_prefix("show"):
        print_line(format_report_list(folder))
