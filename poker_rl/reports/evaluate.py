"""`poker-rl evaluate`: measure a run's players, any other player, or the players of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.evaluation.agreement_with_recorded_hands import (
    allow_all_amounts,
    measure_recorded_decisions,
    to_full_game_player,
)
from poker_rl.evaluation.best_response.exploitability_lower_bounds import (
    compute_best_response_bound,
    compute_lbr_bound,
)
from poker_rl.evaluation.matches.duplicate_match import check_seat_count, play_mixed_table
from poker_rl.evaluation.matches.winnings_and_playing_style import measure_winnings_and_style
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.poker.phh_reader import read_recorded_decisions
from poker_rl.games.public.tree import check_heads_up_poker
from poker_rl.players.opponent_file_copies import OpponentFileCopies
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    PLAYER_PATTERN,
    format_own_snapshot_name,
    load_player,
    load_players_of_snapshot,
    resolve_spec,
)
from poker_rl.reports.evaluation_reports import EvaluateConfig, Evaluation, print_reports
from poker_rl.reports.table_formats import build_long_rows
from poker_rl.storage.checkpoint import list_snapshots
from poker_rl.storage.run_files import METRICS_FILE, read_metrics_rows
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import read_run_config
from poker_rl.training.signals import let_ctrl_c_kill_process

SETTINGS_EXCLUDED_BY_SEATS = (  # settings that can't be combined with the setting `seats`
    *("player", "against", "earlier_snapshots", "figures", "exact", "lbr", "best_responses"),
    *("hands", "hands_seat", "round_amounts", "variance_reduction"),
)


def evaluate(
    config: EvaluateConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Measure the players of a run, any other player, or a table with a player for each seat.

    `group_config` has the sections `game` and `evaluation`; it is None if no override names a game.
    """
    if config.run is not None and group_config is not None:
        raise ConfigError(
            "game, evaluation: a run has its own; leave them out, or give game=NAME without run"
        )
    if config.show:
        print_reports(config)
        return
    if config.run is not None:
        group_config = read_run_config(Path(config.run), "run")
    if group_config is None:
        raise ConfigError(
            "run: missing; give run=FOLDER, or game=NAME and player=NAME or seats=[…]"
        )
    check_settings(config)
    device = prepare_process(config.device, config.threads, config.seed)
    evaluation = create_evaluation(config, group_config, option_dirs, device)
    with let_ctrl_c_kill_process():
        if config.seats:
            measure_and_report_mixed_table(evaluation)
        else:
            measure_and_report_players(evaluation, load_measured_players(evaluation, device))


def check_settings(config: EvaluateConfig) -> None:
    """Raise ConfigError if settings contradict each other, or a necessary one is missing."""
    for key in SETTINGS_EXCLUDED_BY_SEATS if config.seats else ():
        if getattr(config, key):
            raise ConfigError(
                f"{key}: can't be used with seats, which name the player of every seat"
            )
    if config.run is None:
        for key in ("checkpoint", "earlier_snapshots"):
            if getattr(config, key):
                raise ConfigError(f"{key}: needs run=FOLDER")
        if config.figures and config.out is None:
            raise ConfigError("figures: needs out=FOLDER, or run=FOLDER")
        if config.player is None and not config.seats:
            raise ConfigError("player: missing; give player=NAME or player=FOLDER")


def create_evaluation(
    config: EvaluateConfig,
    group_config: Mapping[str, Any],
    option_dirs: Sequence[Path],
    device: torch.device,
) -> Evaluation:
    """Return an evaluation with the game and evaluator of the run or of the command line."""
    keys = ("deals", "variance_reduction")
    changes = {key: getattr(config, key) for key in keys if getattr(config, key) is not None}
    if config.seats:
        changes |= {"variance_reduction": "none"}
    if config.against is not None:
        changes |= {"opponents": []}
    game: Game = build(group_config["game"], "game", Game)
    load = partial(load_player, game=game, device=device, option_folders=option_dirs)
    opponent_files = OpponentFileCopies(None if config.run is None else Path(config.run))
    evaluator: PlayerEvaluator = build(
        group_config["evaluation"] | changes,
        "evaluation",
        PlayerEvaluator,
        game=game,
        load=lambda spec: load(opponent_files.resolve_bundled_path(spec)),
        seed=config.seed,
    )
    return Evaluation(config, game, evaluator, load)


def load_measured_players(evaluation: Evaluation, device: torch.device) -> dict[str, Player]:
    """Return {name: player} to measure: the setting `player`, or else all of the snapshot."""
    spec, snapshot = evaluation.config.player, evaluation.snapshot
    if snapshot is not None and spec is None:
        with error_prefix("run"):
            return load_players_of_snapshot(snapshot, evaluation.game, device)
    with error_prefix("player"):
        assert spec is not None
        if snapshot is None:
            return {resolve_spec(spec): evaluation.load_player(spec)}
        if (match := PLAYER_PATTERN.fullmatch(spec)) is None:
            raise ConfigError(f"{spec} is not a name, as in current, current.2 or current:greedy")
        if match[1] == spec:  # the name has neither an instance nor `:greedy`
            return load_players_of_snapshot(snapshot, evaluation.game, device, spec)
        return {spec: evaluation.load_player(f"{snapshot}:{spec}")}


def measure_and_report_mixed_table(evaluation: Evaluation) -> None:
    """Play the players in `seats` in every rotation over the seats; print and save winnings."""
    game, evaluator, config = evaluation.game, evaluation.evaluator, evaluation.config
    own = {} if config.run is None else {"self": evaluation.snapshot_spec}
    with error_prefix("seats"):
        check_seat_count(game, len(config.seats))
        seat_order = [resolve_spec(own.get(spec, spec)) for spec in config.seats]
        players = {name: evaluation.load_player(name) for name in dict.fromkeys(seat_order)}
    evaluation.create_output_folder()
    deals = evaluator.deals
    results = play_mixed_table(game, evaluator.tree, seat_order, players, deals, config.seed)
    heading = f"{deals:,} deals, each played in every rotation of the players over the seats"
    evaluation.add_table(results, f"{heading}; {results[1].unit}, 95 % interval")
    evaluation.print_and_save_results()


def measure_and_report_players(evaluation: Evaluation, players: Mapping[str, Player]) -> None:
    """Check the settings, measure the players, and print and save the report."""
    game, evaluator, config = evaluation.game, evaluation.evaluator, evaluation.config
    snapshot = evaluation.snapshot
    opponents = evaluation.load_players_of_config_key("against")
    best_responses = evaluation.load_players_of_config_key("best_responses")
    if opponents or best_responses or config.earlier_snapshots or config.lbr or config.hands:
        for name, player in players.items():
            if player.instance_count > 1:
                raise ConfigError(
                    f"player: matches, bounds and hands are of one instance, choose {name}.0 to"
                    f" {name}.{player.instance_count - 1}"
                )
    pairings = [(name, *opponent) for name in players for opponent in opponents.items()]
    if config.earlier_snapshots and snapshot is not None:
        snapshots = list_snapshots(snapshot.parents[1])
        paths = [path for path in snapshots if int(path.stem) < int(snapshot.stem)]
        count = min(config.earlier_snapshots, len(paths))
        with error_prefix("earlier_snapshots"):
            pairings += [
                (name, format_own_snapshot_name(path), evaluation.load_player(f"{path}:{name}"))
                for path in (paths[round(index)] for index in np.linspace(0, len(paths) - 1, count))
                for name in players
            ]
    if config.lbr:
        with error_prefix("lbr"):
            check_heads_up_poker(game)
    if best_responses and game.seats != 2:
        raise ConfigError(f"best_responses: {game.name} is not for two players, which it has to be")
    metrics_path = None if snapshot is None else snapshot.parents[1] / METRICS_FILE
    if config.figures and metrics_path is not None:
        with error_prefix("figures"):
            read_metrics_rows(metrics_path)  # report a damaged metrics.jsonl before the matches
    if config.exact:
        with error_prefix("exact"):
            evaluator.check_exact_possible(players.values())
    evaluation.create_output_folder()

    agreement, hands_heading = measure_agreement_with_hands(evaluation, players)
    measures = [
        result
        for name, player in players.items()
        for result in evaluator.evaluate_player(name, player, config.exact)
    ]
    bounds, options = [], (evaluator.deals, config.seed, evaluator.uses_aivat)
    for name, player in players.items():
        if config.lbr:
            bounds.append(compute_lbr_bound(game, player, name, *options[:2]))
        if best_responses:
            bounds.append(compute_best_response_bound(game, player, name, best_responses, *options))
    matches = [
        measure_winnings_and_style(
            game, evaluator.tree, name, players[name], other_name, other, *options
        )
        for name, other_name, other in pairings
    ]
    winnings, styles = ([one for match in matches for one in match[kind]] for kind in (0, 1))
    protocol = f"{evaluator.deals:,} deals, each played in every seat"
    protocol += ", with the variance reduced by aivat" * evaluator.uses_aivat
    protocol += ", all other seats taken by the same opponent" * (game.seats > 2)
    evaluation.add_table(measures, build_rows=build_long_rows)
    evaluation.add_table(bounds, "lower bounds on exploitability; 95 % interval", build_long_rows)
    evaluation.add_table(winnings, f"{protocol}; 95 % interval")
    evaluation.add_table(styles, "playing style")
    evaluation.add_table(agreement, hands_heading)
    evaluation.print_and_save_results()
    if config.figures:
        evaluation.save_figures(evaluator.build_figures(players, metrics_path))


def measure_agreement_with_hands(
    evaluation: Evaluation, players: Mapping[str, Player]
) -> tuple[list[Result], str]:
    """Return how well players predict recorded `hands`, and a heading; both empty without hands."""
    game, config = evaluation.game, evaluation.config
    if config.hands is None:
        return [], ""
    with error_prefix("hands"):
        full_game, options = allow_all_amounts(game), (config.hands_seat, config.round_amounts)
        decisions = read_recorded_decisions(Path(config.hands), full_game, *options)
        kind = f"hands of {config.hands_seat or 'all players'}"
        results = [
            result
            for name, player in players.items()
            for result in measure_recorded_decisions(
                full_game, to_full_game_player(game, player), name, decisions, kind
            )
        ]
    left_out = sum(map(len, decisions.left_out.values()))
    hand_count = len(np.unique(decisions.hand))
    heading = f"{hand_count:,} recorded hands, {left_out:,} more left out; 95 % interval"
    return results, heading
