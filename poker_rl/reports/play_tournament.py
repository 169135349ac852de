"""`poker-rl tournament`: play the tables of a tournament, and print and save the results.

A table is a line-up of players, who play all deals of the tournament.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, PositiveInt, Range, Seed, error_prefix
from poker_rl.evaluation.matches.duplicate_match import MIN_DEALS
from poker_rl.evaluation.matches.tournament import (
    TableKind,
    TournamentResults,
    compute_tournament_results,
)
from poker_rl.players.player_loader import load_bot_config, parse_bot_name, resolve_specs
from poker_rl.reports.text_tables import TextTable, format_text, results_to_csv
from poker_rl.reports.tournament_folder import (
    Tournament,
    TournamentPlan,
    check_folder_matches,
    open_tournament_folder,
    read_plan,
)
from poker_rl.storage.disk import print_line
from poker_rl.storage.progress_bar import create_progress_bar
from poker_rl.storage.run_folder import write_text_atomically
from poker_rl.training.signals import interrupt_at_once
from poker_rl.training.task_pool import run_tasks

# Settings that may change when a tournament is resumed.
CHANGEABLE_SETTINGS = ("workers", "figure", "device")
MAX_DEALS = 1_000_000  # the results of more deals might not fit into memory


@dataclass(kw_only=True, frozen=True)
class TournamentConfig:
    """Settings of `poker-rl tournament`."""

    players: list[str]
    table_kind: TableKind
    rounds: PositiveInt
    deals: Annotated[int, Range(MIN_DEALS, MAX_DEALS)]
    seed: Seed
    workers: PositiveInt
    figure: bool
    out: str | None
    resume: str | None
    device: Literal["auto", "cpu", "cuda"]


def play_tournament(
    settings: dict[str, Any],
    group_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
    user_settings: Collection[str],
) -> None:
    """Play a tournament, or the missing tables of a resumed one, and print and save the results.

    Args:
        group_config: the settings of `game`; None to use those of a resumed tournament.
        user_settings: keys of the settings that the command line gives.
    """
    config = TournamentConfig(**convert_fields(TournamentConfig, settings, "", {}))
    if config.resume is not None:
        for key in user_settings:
            if key not in ("resume", *CHANGEABLE_SETTINGS):
                raise ConfigError(
                    f"{key}: is that of the tournament in {config.resume}; leave it out"
                )
        folder = Path(config.resume)
        with error_prefix("resume"):
            plan = TournamentPlan(**read_plan(folder))
            keys = ("table_kind", "rounds", "deals", "seed")
            changes = {key: getattr(plan, key) for key in keys}
            convert_fields(TournamentConfig, settings | changes, "", {})
    else:
        plan = create_plan(config, group_config, option_dirs)
        game_name = re.sub(r"[^\w.+-]", "_", str(plan.game.get("name")))
        default_folder = f"outputs/tournaments/{game_name}/{datetime.now():%Y-%m-%d_%H-%M-%S.%f}"
        folder = Path(config.out or default_folder)
        check_folder_matches(plan, folder)
    tournament = Tournament(plan, folder, config.device)
    for name in plan.players:
        with error_prefix("players"):
            tournament.load_player(name)
    with open_tournament_folder(tournament), interrupt_at_once():
        play_missing_tables(tournament, config.workers)
        save_results(tournament, config.figure)


def create_plan(
    config: TournamentConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> TournamentPlan:
    """Return the plan of a new tournament, with the chosen snapshot of each trained player."""
    if group_config is None:
        raise ConfigError("game: missing; give game=NAME players=[…], or resume=FOLDER")
    players: dict[str, Mapping[str, Any] | None] = {}
    with error_prefix("players"):
        for name in resolve_specs(config.players):
            bot_name = parse_bot_name(name)
            players[name] = None if bot_name is None else load_bot_config(bot_name, option_dirs)
        if len(players) < 2:
            raise ConfigError(f"a tournament takes at least two, {len(players)} given")
    return TournamentPlan(
        group_config["game"], players, config.table_kind, config.rounds, config.deals, config.seed
    )


def play_missing_tables(tournament: Tournament, workers: int) -> None:
    """Play the tables that are not finished, in this process or in `workers` processes."""
    missing, count = tournament.list_missing_tables(), len(tournament.seat_orders)
    print_line(f"tournament folder: {tournament.folder}")
    if missing:
        command = f"poker-rl tournament resume={shlex.quote(str(tournament.folder))}"
        print_line(
            f"{len(missing):,} of {count:,} tables to play; to resume after a stop: {command}"
        )
    played: Iterable[object] = map(tournament.play_table, missing)
    if workers > 1:
        parts = tournament.plan, tournament.folder, tournament.device.type
        played = run_tasks(partial(_create_play_table, *parts), missing, workers)
    finished = count - len(missing)
    with create_progress_bar(count, "tables", initial=finished, disable=not missing) as bar:
        for _ in played:
            bar.update()


def _create_play_table(plan: TournamentPlan, folder: Path, device: str) -> Any:
    """Load the players in a worker process, and return the function that plays a table."""
    return Tournament(plan, folder, device).play_table


def save_results(tournament: Tournament, draws_figure: bool) -> None:
    """Print and save the results of a tournament whose tables are all finished."""
    plan, folder = tournament.plan, tournament.folder
    results = compute_tournament_results(
        tournament.game,
        tournament.names,
        tournament.seat_orders,
        [tournament.read_table_results(table) for table in range(len(tournament.seat_orders))],
        plan.table_kind,
        plan.rounds,
    )
    print_line(f"\n{format_tournament(results)}\n")
    data = {
        "time": datetime.now().isoformat(sep=" ", timespec="seconds"),
        "command": shlex.join(["poker-rl", *sys.argv[1:]]),
        "game": tournament.game.name,
        "table_kind": plan.table_kind,
        "rounds": plan.rounds,
        "deals": plan.deals,
        "seed": plan.seed,
        "results": [asdict(row) for row in results.results],
        "explained_variance": results.explained_variance,
        "cycle": results.cycle,
    }
    write_text_atomically(folder / "results.json", json.dumps(data, indent=2) + "\n")
    write_text_atomically(folder / "results.csv", results_to_csv(results.results))
    figure_text = ""
    if draws_figure:
        from poker_rl.evaluation.plots.cross_table_figure import draw_cross_table
        from poker_rl.evaluation.plots.plotting import save_png

        save_png(draw_cross_table(results), folder / "cross_table.png", f"seed {plan.seed}")
        figure_text = ", cross_table.png"
    print_line(f"saved: {folder / 'results.json'}, .csv{figure_text}")


def format_tournament(results: TournamentResults) -> str:
    """Format the ranking and the cross table for the screen."""
    names, cell = results.player_names, results.format_cell
    measures = {"won": "won", "behind": "behind the one above"}
    if results.game.seats == 2:
        measures["elo"] = "Elo"
    ranking = [["rank", "player", *measures.values()]]
    for rank, name in enumerate(names, start=1):
        ranking.append([str(rank), name, *(cell(name, measure) for measure in measures)])
    cross_table = [["", *names]]
    cross_table += [[name, *(cell(name, f"won/{other}") for other in names)] for name in names]
    parts: list[str | TextTable] = [
        results.description,
        TextTable(ranking, key_columns=2),
        TextTable(cross_table, results.cell_meaning),
        "\n".join(results.remarks),
    ]
    return format_text(parts, names)
