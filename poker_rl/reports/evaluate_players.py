"""Measurements of `poker-rl evaluate`: the players of a run, other players, or a mixed table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.best_response.exploitability_bounds import (
    compute_lbr_bound,
    compute_trained_bound,
)
from poker_rl.evaluation.kuhn_bet_probs import extract_bet_probs, list_bet_prob_results
from poker_rl.evaluation.matches.match_results import MatchResults, measure_match
from poker_rl.evaluation.matches.mixed_table import check_seat_count, play_mixed_table
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.tree import check_heads_up
from poker_rl.players.bots.kuhn_equilibrium_bot import is_kuhn
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    get_headline_player,
    name_earlier_self,
    resolve_spec,
    resolve_specs,
)
from poker_rl.reports.evaluation_figures import build_figures, save_figures
from poker_rl.reports.evaluation_report import EvaluationReport, ResultTable
from poker_rl.reports.result_tables import build_long_rows, build_wide_rows
from poker_rl.storage.disk import create_writable_folder, print_line
from poker_rl.storage.run_folder import read_metrics_rows

PROTOCOLS = {  # how the deals of a match are played, by method of variance reduction
    "none": "deals, each played in every seat",
    "aivat": "deals, each played in every seat, with the variance reduced by aivat",
    "control_variate": "hands in every seat, each with its own cards, with the variance reduced by"
    " a control player",
}


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """Measurements that `poker-rl evaluate` makes, and the folder of the report.

    Attributes:
        load_player: loads a player by its name in `conf/player` or by its run folder.
        deals: number of deals in each match.
        opponents: opponents in duplicate matches, each a name or folder for `load_player`.
        exact: whether to walk the public tree of a game that is too large to enumerate.
        lbr: whether to bound exploitability by the local best response.
        best_responses: players trained to beat the measured one, for another bound; names or
            folders for `load_player`.
        figures: whether to draw figures, into a folder beside the report's files.
        output_folder: folder of the report, created if it does not exist; None to save nothing.
    """

    game: Game
    evaluator: PlayerEvaluator
    load_player: Callable[[str], Player]
    deals: int
    seed: int
    opponents: Sequence[str] = ()
    exact: bool = False
    lbr: bool = False
    best_responses: Sequence[str] = ()
    figures: bool = False
    output_folder: Path | None = None

    def create_report(
        self,
        start_time: datetime,
        results: Sequence[Result],
        tables: Sequence[ResultTable],
        *,
        note: str = "",
        snapshot: Path | None = None,
        config_changes: Mapping[str, Any] | None = None,
    ) -> EvaluationReport:
        """Create the report, print it and save it in the output folder."""
        report = EvaluationReport(
            start_time=start_time,
            command=shlex.join(["poker-rl", *sys.argv[1:]]),
            game_name=self.game.name,
            evaluation_config=asdict(self.evaluator) | dict(config_changes or {}),
            snapshot=snapshot,
            headline_player=None if snapshot is None else get_headline_player(snapshot),
            seed=self.seed,
            deals=self.deals,
            results=results,
            tables=tables,
            note=note,
        )
        print_line(report.format_text())
        if self.output_folder is not None:
            report.save(self.output_folder)
            print_line(f"\nsaved: {self.output_folder / report.file_stem}.json, .csv")
        return report

    def create_output_folder(self) -> None:
        """Create the output folder.

        Raises:
            ConfigError: if the path is not a folder.
            OSError: if nothing can be written into it.
        """
        if self.output_folder is not None:
            with error_prefix("out"):
                create_writable_folder(self.output_folder)


def evaluate_mixed_table(seats: Sequence[str], request: EvaluationRequest) -> EvaluationReport:
    """Measure the players of a mixed table, with each deal played in every rotation of them.

    Args:
        seats: the player of each seat, a name or folder for `load_player`.

    Raises:
        ConfigError: before any deal is played, if a player can't be loaded or the number of players
            is not that of the game's seats.
    """
    game = request.game
    with error_prefix("seats"):
        check_seat_count(game, len(seats))
        seat_order = [resolve_spec(spec) for spec in seats]
        players = {name: request.load_player(name) for name in dict.fromkeys(seat_order)}
    request.create_output_folder()
    start_time = datetime.now()
    tree = request.evaluator.tree
    results = play_mixed_table(game, tree, seat_order, players, request.deals, request.seed)
    heading = (
        f"{request.deals:,} deals, each played in every rotation of the players over the seats;"
        f" {results[1].unit}, 95 % interval"
    )
    return request.create_report(
        start_time,
        results,
        [ResultTable(heading, build_wide_rows(results))],
        config_changes={"variance_reduction": "none", "control_player": None},
    )


def evaluate_players(
    players: Mapping[str, Player],
    request: EvaluationRequest,
    *,
    earlier_snapshots: Sequence[Path] = (),
    snapshot: Path | None = None,
    metrics_path: Path | None = None,
) -> EvaluationReport:
    """Measure players, print the report and save it.

    Args:
        earlier_snapshots: snapshots whose players are opponents of their later selves.
        snapshot: the file that holds the players; None if they are not from a run.
        metrics_path: the metrics.jsonl of their run; None if they are not from a run.

    Raises:
        ConfigError: before anything is computed, if an opponent can't be loaded, a player that
            plays matches has several instances, or a measurement is not possible.
    """
    game, evaluator = request.game, request.evaluator
    with error_prefix("against"):
        opponents = {name: request.load_player(name) for name in resolve_specs(request.opponents)}
    with error_prefix("best_responses"):
        best_responses = {
            name: request.load_player(name) for name in resolve_specs(request.best_responses)
        }
    if opponents or best_responses or earlier_snapshots or request.lbr:
        check_single_instances(players)
    with error_prefix("earlier_snapshots"):
        earlier_selves = [
            (path, name, request.load_player(f"{path}:{name}"))
            for path in earlier_snapshots
            for name in players
        ]
    for cost_line in _check_request(players, request, metrics_path):
        print_line(cost_line)

    start_time = datetime.now()
    headline_player = None if snapshot is None else get_headline_player(snapshot)
    measures = [
        result
        for name, player in players.items()
        for result in evaluator.evaluate_player(name, player, request.exact)
    ]
    bounds = _compute_bounds(players, request, best_responses)

    def measure(name: str, opponent_name: str, opponent: Player) -> MatchResults:
        return measure_match(
            game,
            evaluator.tree,
            name,
            players[name],
            opponent_name,
            opponent,
            request.deals,
            request.seed,
            evaluator.reducer_factory,
        )

    matches = [measure(name, *opponent) for name in players for opponent in opponents.items()]
    self_matches = [
        (int(path.stem), measure(name, name_earlier_self(path), earlier_self))
        for path, name, earlier_self in earlier_selves
    ]
    matches += [match for _, match in self_matches]
    winnings = [result for match in matches for result in match.results]
    returns = [result for match in matches for result in match.distribution.list_results()]
    styles = [style for match in matches for style in match.styles]
    has_varying_seats = any(style.seat_count is not None for style in styles)
    shown_styles = [style for style in styles if not has_varying_seats or style.seat is None]
    bet_probs = _list_kuhn_bet_probs(evaluator, players)

    tables = [ResultTable("", build_long_rows(measures, headline_player))] if measures else []
    for heading, results in (
        ("lower bounds on exploitability; 95 % interval", bounds),
        (_describe_match_protocol(request), winnings),
        (f"what a {game.hand_noun} won: minimum, percentiles and maximum", returns),
        ("playing style", [result for style in shown_styles for result in style.list_results()]),
        ("probability of a bet or a call, and of the equilibrium's", bet_probs),
    ):
        if results:
            build_rows = build_long_rows if results is bounds else build_wide_rows
            tables.append(ResultTable(heading, build_rows(results, headline_player)))
    style_results = [result for style in styles for result in style.list_results()]
    report = request.create_report(
        start_time,
        [*measures, *bounds, *winnings, *returns, *style_results, *bet_probs],
        tables,
        note="" if bounds else _describe_missing_exploitability(game, measures),
        snapshot=snapshot,
    )
    if request.figures and request.output_folder is not None:
        figures = build_figures(evaluator, players, matches, self_matches, metrics_path)
        save_figures(figures, report, metrics_path, request.output_folder / report.file_stem)
    return report


def check_single_instances(players: Mapping[str, Player]) -> None:
    """Raise `ConfigError` if a player has several instances."""
    for name, player in players.items():
        if player.instances > 1:
            raise ConfigError(
                f"player: matches and bounds are of one instance, choose {name}.0 to"
                f" {name}.{player.instances - 1}"
            )


def _check_request(
    players: Mapping[str, Player], request: EvaluationRequest, metrics_path: Path | None
) -> list[str]:
    """Create the output folder and return a line on the cost of each exact value.

    Raises:
        ConfigError: if a requested measurement is not possible for these players.
    """
    if request.lbr:
        with error_prefix("lbr"):
            check_heads_up(request.game)
    if request.best_responses and request.game.seats != 2:
        raise ConfigError(
            f"best_responses: {request.game.name} is not for two players, which it has to be"
        )
    if request.figures and metrics_path is not None:
        with error_prefix("figures"):
            read_metrics_rows(metrics_path)  # an error is reported now, not after the matches
    cost_lines = []
    if request.exact:
        with error_prefix("exact"):
            cost_lines = request.evaluator.describe_exact_costs(players)
    request.create_output_folder()
    return cost_lines


def _compute_bounds(
    players: Mapping[str, Player], request: EvaluationRequest, best_responses: Mapping[str, Player]
) -> list[Result]:
    game, deals, seed = request.game, request.deals, request.seed
    bounds = []
    for name, player in players.items():
        if request.lbr:
            bounds.append(compute_lbr_bound(game, player, name, deals, seed))
        if best_responses:
            reducer_factory = request.evaluator.reducer_factory
            bounds.append(
                compute_trained_bound(
                    game, player, name, best_responses, deals, seed, reducer_factory
                )
            )
    return bounds


def _list_kuhn_bet_probs(evaluator: PlayerEvaluator, players: Mapping[str, Player]) -> list[Result]:
    """Return bet probabilities in Kuhn poker, of the median one of several instances."""
    tree = evaluator.tree
    if tree is None or not is_kuhn(tree):
        return []
    results = []
    for name, player in players.items():
        policies = evaluator.compute_player_policies(tree, player)
        policy = evaluator.select_median_policy(tree, policies)
        results += list_bet_prob_results(name, extract_bet_probs(tree, policy))
    return results


def _describe_missing_exploitability(game: Game, measures: Sequence[Result]) -> str:
    """Return a line that says why exploitability was not computed; "" if it was."""
    if any(result.measure == "exploitability" for result in measures):
        return ""
    note = "distance to Nash: not computed, the game is too large to enumerate"
    if isinstance(game, PokerGame) and game.seats == 2:
        note += "; lbr=true bounds it, exact=true computes it where that can be done"
    return note


def _describe_match_protocol(request: EvaluationRequest) -> str:
    """Return the heading of the table of matches."""
    protocol = PROTOCOLS[request.evaluator.variance_reduction]
    if request.game.seats > 2:
        protocol += ", all other seats taken by the same opponent"
    return f"{request.deals:,} {protocol}; 95 % interval"


def select_evenly(snapshots: Sequence[Path], count: int) -> list[Path]:
    """Return at most `count` snapshots, evenly spaced, with the first and the last."""
    indices = np.linspace(0, len(snapshots) - 1, min(count, len(snapshots)))
    return [snapshots[round(index)] for index in indices]
