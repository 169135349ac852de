"""Measurements of `poker-rl evaluate`, of single players or of a table with several players."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.agreement_with_records import (
    allow_all_amounts,
    measure_recorded_decisions,
    to_full_game_player,
)
from poker_rl.evaluation.best_response.exploitability_bounds import (
    compute_lbr_bound,
    compute_trained_bound,
)
from poker_rl.evaluation.matches.duplicate_match import check_seat_count, play_mixed_table
from poker_rl.evaluation.matches.match_results import measure_match
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.poker.phh_reader import read_decisions
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.tree import check_heads_up
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    get_snapshot_opponent_name,
    list_earlier_snapshots,
    resolve_spec,
    resolve_specs,
)
from poker_rl.reports.evaluation_report import Evaluation, EvaluationReport, ResultTable
from poker_rl.storage.disk import print_line
from poker_rl.storage.run_folder import METRICS_FILE, read_metrics_rows, read_run_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STEM_LENGTH = 100
RUN_PLAYER = "self"  # in the setting `seats`, `self` is the run's headline player
PROTOCOLS = {  # how a match is played, by method of variance reduction
    "none": "deals, each played in every seat",
    "aivat": "deals, each played in every seat, with the variance reduced by aivat",
    "control_variate": "hands in every seat, each with its own cards, with the variance reduced by"
    " a control player",
}


def measure_mixed_table(evaluation: Evaluation) -> EvaluationReport:
    """Measure the players of one table, with each deal played in every rotation of the players."""
    game, evaluator, config = evaluation.game, evaluation.evaluator, evaluation.config
    seats = config.seats
    if config.run is not None:
        seats = [evaluation.snapshot_spec if spec == RUN_PLAYER else spec for spec in seats]
    with error_prefix("seats"):
        check_seat_count(game, len(seats))
        seat_order = [resolve_spec(spec) for spec in seats]
        players = {name: evaluation.load_player(name) for name in dict.fromkeys(seat_order)}
    evaluation.create_output_folder()
    start_time, deals = datetime.now(), evaluator.deals
    results = play_mixed_table(game, evaluator.tree, seat_order, players, deals, config.seed)
    heading = (
        f"{deals:,} deals, each played in every rotation of the players over the seats;"
        f" {results[1].unit}, 95 % interval"
    )
    tables = [ResultTable(results, heading, is_wide=True)]
    changes = {"variance_reduction": "none", "control_player": None}
    report = EvaluationReport(evaluation, start_time, tables, config_changes=changes)
    report.print_and_save()
    return report


def measure_players(
    evaluation: Evaluation, players: Mapping[str, Player], snapshot: Path | None = None
) -> EvaluationReport:
    """Check the settings, measure players, and print and save the report.

    Args:
        snapshot: file of the players; None if they are not from a run.
    """
    game, evaluator, config = evaluation.game, evaluation.evaluator, evaluation.config
    deals, seed = evaluator.deals, config.seed
    opponents = _load_players(evaluation, "against", config.against)
    best_responses = _load_players(evaluation, "best_responses", config.best_responses)
    if opponents or best_responses or config.earlier_snapshots or config.lbr or config.hands:
        for name, player in players.items():
            if player.instance_count > 1:
                raise ConfigError(
                    f"player: matches, bounds and hands are of one instance, choose {name}.0 to"
                    f" {name}.{player.instance_count - 1}"
                )
    pairings = [(name, *opponent) for name in players for opponent in opponents.items()]
    if config.earlier_snapshots and snapshot is not None:
        earlier_snapshots = list_earlier_snapshots(snapshot.parents[1], int(snapshot.stem))
        with error_prefix("earlier_snapshots"):
            pairings += [
                (name, get_snapshot_opponent_name(path), evaluation.load_player(f"{path}:{name}"))
                for path in select_evenly_spaced(earlier_snapshots, config.earlier_snapshots)
                for name in players
            ]
    metrics_path = None if snapshot is None else snapshot.parents[1] / METRICS_FILE
    _check_measurements(evaluation, players, metrics_path)
    hand_tables = [] if config.hands is None else [_measure_agreement(evaluation, players)]

    start_time = datetime.now()
    measures = [
        result
        for name, player in players.items()
        for result in evaluator.evaluate_player(name, player, config.exact)
    ]
    bounds, options = [], (deals, seed, evaluator.reducer_factory)
    for name, player in players.items():
        if config.lbr:
            bounds.append(compute_lbr_bound(game, player, name, deals, seed))
        if best_responses:
            bounds.append(compute_trained_bound(game, player, name, best_responses, *options))
    matches = [
        measure_match(game, evaluator.tree, name, players[name], other_name, other, *options)
        for name, other_name, other in pairings
    ]
    winnings = [result for match in matches for result in match.results]
    returns = [result for match in matches for result in match.distribution.list_quantile_results()]
    styles = [result for match in matches for result in match.styles]
    protocol = PROTOCOLS[evaluator.variance_reduction]
    protocol += ", all other seats taken by the same opponent" * (game.seats > 2)
    returns_heading = f"what a {game.hand_noun} won: minimum, percentiles and maximum"
    tables = [
        ResultTable(measures),
        ResultTable(bounds, "lower bounds on exploitability; 95 % interval"),
        ResultTable(winnings, f"{deals:,} {protocol}; 95 % interval", is_wide=True),
        ResultTable(returns, returns_heading, is_wide=True),
        ResultTable(styles, "playing style", is_wide=True),
        *hand_tables,
    ]
    note = "" if bounds else _describe_missing_exploitability(game, measures)
    report = EvaluationReport(evaluation, start_time, tables, note, snapshot)
    report.print_and_save()
    if config.figures and evaluation.output_folder is not None:
        figures = evaluator.build_figures(players, metrics_path)
        if matches:
            from poker_rl.evaluation.plots.run_figures import draw_return_distributions

            distributions = [match.distribution for match in matches]
            figures["outcomes"] = draw_return_distributions(distributions)
        save_figures(figures, report, evaluation.output_folder / report.file_stem)
    return report


def _measure_agreement(evaluation: Evaluation, players: Mapping[str, Player]) -> ResultTable:
    """Return how likely the players are to act as in the recorded hands of the file `hands`."""
    game, config = evaluation.game, evaluation.config
    assert config.hands is not None
    with error_prefix("hands"):
        full_game, options = allow_all_amounts(game), (config.hands_seat, config.round_amounts)
        decisions = read_decisions(Path(config.hands), full_game, *options)
        kind = f"hands of {config.hands_seat or 'all players'}"
        results = [
            result
            for name, player in players.items()
            for result in measure_recorded_decisions(
                full_game, to_full_game_player(game, player), name, decisions, kind
            )
        ]
    left_out = sum(map(len, decisions.left_out.values()))
    heading = f"{len(decisions.hands):,} recorded hands, {left_out:,} more left out; 95 % interval"
    return ResultTable(results, heading, is_wide=True)


def _load_players(evaluation: Evaluation, key: str, specs: Sequence[str]) -> dict[str, Player]:
    with error_prefix(key):
        return {name: evaluation.load_player(name) for name in resolve_specs(specs)}


def _check_measurements(
    evaluation: Evaluation, players: Mapping[str, Player], metrics_path: Path | None
) -> None:
    """Check that all measurements are possible, create the output folder, and print their costs."""
    game, config = evaluation.game, evaluation.config
    if config.lbr:
        with error_prefix("lbr"):
            check_heads_up(game)
    if config.best_responses and game.seats != 2:
        raise ConfigError(f"best_responses: {game.name} is not for two players, which it has to be")
    if config.figures and metrics_path is not None:
        with error_prefix("figures"):
            read_metrics_rows(metrics_path)  # report a damaged metrics.jsonl before the matches
    cost_lines = []
    if config.exact:
        with error_prefix("exact"):
            cost_lines = evaluation.evaluator.describe_exact_costs(players)
    evaluation.create_output_folder()
    for cost_line in cost_lines:
        print_line(cost_line)


def _describe_missing_exploitability(game: Game, measures: Sequence[Result]) -> str:
    """Return a line that says why exploitability was not computed; "" if it was."""
    if any(result.measure == "exploitability" for result in measures):
        return ""
    note = "distance to Nash: not computed, the game is too large to enumerate"
    if isinstance(game, PokerGame) and game.seats == 2:
        note += "; lbr=true bounds it, exact=true computes it where that can be done"
    return note


def select_evenly_spaced(snapshots: Sequence[Path], count: int) -> list[Path]:
    """Return at most `count` snapshots, evenly spaced, with the first and the last."""
    indices = np.linspace(0, len(snapshots) - 1, min(count, len(snapshots)))
    return [snapshots[round(index)] for index in indices]


def save_figures(figures: Mapping[str, Figure], report: EvaluationReport, folder: Path) -> None:
    """Save figures as PNG files in a folder, with a footnote on the game, snapshot and seeds."""
    from poker_rl.evaluation.plots import plotting

    if not figures:
        print_line(
            "no figures: the game is too large for a policy to be drawn, and there is no match"
        )
        return
    origin = f"{report.evaluation.game.name}; evaluated with seed {report.evaluation.config.seed}"
    if report.snapshot is not None:
        training_seed = read_run_folder(report.snapshot.parents[1])[1]["seed"]
        origin = f"{report.snapshot}, trained with seed {training_seed}, {origin}"
    folder.mkdir(exist_ok=True)
    used_stems: set[str] = set()
    for name, figure in figures.items():
        stem = re.sub(r"[^\w.+-]+", "_", name)[-MAX_STEM_LENGTH:]
        while stem in used_stems:
            stem += "_"
        used_stems.add(stem)
        plotting.save_png(figure, folder / f"{stem}.png", origin)
    print_line(f"figures: {folder}")
