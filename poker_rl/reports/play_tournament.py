"""`poker-rl tournament`: play the tables of a tournament, and print and save the results.

A table is a line-up with a player for each seat; all tables play the same deals. The folder of a
tournament has its plan, tournament.yaml, and the winnings at each finished table, tables/*.npy.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml  # type: ignore[import-untyped]

from poker_rl.config.build import build, convert_fields
from poker_rl.config.input_checks import (
    MIB,
    ConfigError,
    PositiveInt,
    Range,
    Seed,
    error_prefix,
    open_regular_file,
)
from poker_rl.config.option_files import find_differing_key, read_plain_yaml
from poker_rl.evaluation.matches.duplicate_match import MIN_DEALS, play_deals
from poker_rl.evaluation.matches.tournament_lineups_and_ranking import (
    TableKind,
    TournamentResults,
    assign_players_to_tables,
    compute_tournament_results,
    list_counted_players_at_table,
)
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    build_bot,
    find_bot_name,
    load_bot_config,
    load_player,
    resolve_and_check_distinct_specs,
)
from poker_rl.reports.evaluation_reports import save_results
from poker_rl.reports.table_formats import TextTable, format_for_terminal
from poker_rl.storage.disk import (
    atomic_replacement,
    create_writable_folder,
    exclusive_lock,
    list_complete_files,
    remove_partial_files,
    write_text_atomically,
)
from poker_rl.storage.terminal_printing import create_progress_bar, print_line
from poker_rl.training.process_pool import run_tasks_as_completed
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.signals import let_ctrl_c_kill_process

PLAN_FILE = "tournament.yaml"
TABLES_FOLDER = "tables"
RESUME_SETTINGS = ("resume", "workers", "figure", "device")  # allowed with resume=FOLDER
# The results of more deals might not fit into memory.
TournamentDeals = Annotated[int, Range(MIN_DEALS, 1_000_000)]


@dataclass(kw_only=True, frozen=True)
class TournamentConfig:
    """Settings of `poker-rl tournament`; conf/tournament.yaml explains them."""

    players: list[str]
    table_kind: TableKind
    rounds: PositiveInt
    deals: TournamentDeals
    seed: Seed
    workers: PositiveInt
    figure: bool
    out: str | None
    resume: str | None
    device: Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class TournamentPlan:
    """All settings that decide the results of a tournament."""

    game: Mapping[str, Any]
    players: Mapping[str, Mapping[str, Any] | None]  # a bot's settings; None: a trained player
    table_kind: TableKind
    rounds: PositiveInt
    deals: TournamentDeals
    seed: Seed


def play_tournament(
    config: TournamentConfig,
    group_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
    given_keys: Collection[str],
) -> None:
    """Play a tournament, or the missing tables of a resumed one, and print and save the results.

    `given_keys` are the keys of all overrides; only `RESUME_SETTINGS` may occur with `resume`.
    """
    if config.resume is not None:
        for key in (key for key in given_keys if key not in RESUME_SETTINGS):
            raise ConfigError(f"{key}: is that of the tournament in {config.resume}; leave it out")
        folder = Path(config.resume)
        with error_prefix("resume"):
            plan = read_plan(folder)
    else:
        plan = create_plan(config, group_config, option_dirs)
        game_name = re.sub(r"[^\w.+-]", "_", str(plan.game.get("name")))
        default_folder = f"outputs/tournaments/{game_name}/{datetime.now():%Y-%m-%d_%H-%M-%S.%f}"
        folder = Path(config.out or default_folder)
    tournament = Tournament(plan, folder, config.device)
    with error_prefix("out"):
        create_writable_folder(folder)
    with exclusive_lock(folder, "playing it"), let_ctrl_c_kill_process():
        prepare_tournament_folder(plan, folder)
        play_missing_tables(tournament, config.workers)
        print_and_save_results(tournament, config.figure)


def create_plan(
    config: TournamentConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> TournamentPlan:
    """Return a new plan; it names snapshots, so that a resumed tournament has the same weights."""
    if group_config is None:
        raise ConfigError("game: missing; give game=NAME players=[…], or resume=FOLDER")
    players: dict[str, Mapping[str, Any] | None] = {}
    with error_prefix("players"):
        for name in resolve_and_check_distinct_specs(config.players):
            bot_name = find_bot_name(name)
            players[name] = None if bot_name is None else load_bot_config(bot_name, option_dirs)
        if len(players) < 2:
            raise ConfigError(f"a tournament takes at least two, {len(players)} given")
    return TournamentPlan(
        group_config["game"], players, config.table_kind, config.rounds, config.deals, config.seed
    )


def read_plan(folder: Path) -> TournamentPlan:
    """Return the plan in a tournament's folder; raise ConfigError if it has no valid plan."""
    path = folder / PLAN_FILE
    if not path.exists():
        raise ConfigError(f"{folder} is not the folder of a tournament, it has no {PLAN_FILE}")
    plan = read_plain_yaml(path)
    game_and_players = {key: plan.pop(key, None) for key in ("game", "players")}
    if not all(isinstance(value, dict) for value in game_and_players.values()):
        raise ConfigError(f"{path} is not what a tournament writes there")
    numbers = convert_fields(TournamentPlan, plan, "", game_and_players)
    return TournamentPlan(**game_and_players, **numbers)


def prepare_tournament_folder(plan: TournamentPlan, folder: Path) -> None:
    """Write the plan or check that it is unchanged; remove files that are not fully written."""
    if not list_complete_files(folder):
        text = yaml.safe_dump(asdict(plan), sort_keys=False, allow_unicode=True)
        write_text_atomically(folder / PLAN_FILE, text)
    with error_prefix("out"):
        saved_plan = read_plan(folder)
    if key := find_differing_key(asdict(plan), asdict(saved_plan)):
        raise ConfigError(f"{key}: the tournament in {folder} has another; give a new folder")
    remove_partial_files(folder)
    (folder / TABLES_FOLDER).mkdir(exist_ok=True)


class Tournament:
    """Players of a tournament, its tables (`seat_orders`), and the files of their results."""

    def __init__(self, plan: TournamentPlan, folder: Path, device: str) -> None:
        self.plan, self.folder = plan, folder
        self.device = prepare_process(device, 1, plan.seed)
        self.game: Game = build(plan.game, "game", Game)
        self.player_names = list(plan.players)
        # For each table, the index in `players` of the player in each seat
        self.seat_orders = assign_players_to_tables(
            self.game, len(self.player_names), plan.table_kind, plan.rounds, plan.seed
        )
        with error_prefix("players"):
            self.players: list[Player] = [
                load_player(name, self.game, self.device)
                if bot_config is None
                else build_bot(name, bot_config, self.game, self.device)
                for name, bot_config in plan.players.items()
            ]

    def get_table_results_path(self, table: int) -> Path:
        """Return the path of a table's results; this file exists once the table is finished."""
        return self.folder / TABLES_FOLDER / f"{table:06}.npy"

    def play_and_save_table(self, table: int) -> None:
        """Play all deals at a table, and save the winnings for `read_table_results`."""
        seat_order = self.seat_orders[table]
        players = [self.players[player] for player in seat_order]
        blocks = play_deals(self.game, players, self.plan.deals, self.plan.seed, table=table)
        columns = [seat_order.index(player) for player in list_counted_players_at_table(seat_order)]
        with (
            atomic_replacement(self.get_table_results_path(table)) as path,
            path.open("wb") as file,
        ):
            np.save(file, blocks[:, columns].T)

    def read_table_results(self, table: int) -> np.ndarray:
        """Return winnings in chips a hand, [players, deals].

        The players are those of `list_counted_players_at_table`.
        """
        path = self.get_table_results_path(table)
        shape = len(list_counted_players_at_table(self.seat_orders[table])), self.plan.deals
        try:
            with open_regular_file(path, MIB + 8 * prod(shape)) as file:
                return np.lib.format.read_array(file).astype(float).reshape(shape)
        except (ValueError, EOFError):
            raise ConfigError(f"{path} is damaged; delete it to play it again") from None


def play_missing_tables(tournament: Tournament, workers: int) -> None:
    """Play the tables that are not finished, in this process or in `workers` processes."""
    count = len(tournament.seat_orders)
    missing = [i for i in range(count) if not tournament.get_table_results_path(i).exists()]
    print_line(f"tournament folder: {tournament.folder}")
    if missing:
        command = f"poker-rl tournament resume={shlex.quote(str(tournament.folder))}"
        print_line(
            f"{len(missing):,} of {count:,} tables to play; to resume after a stop: {command}"
        )
    played: Iterable[object] = map(tournament.play_and_save_table, missing)
    if workers > 1:
        parts = tournament.plan, tournament.folder, tournament.device.type
        played = run_tasks_as_completed(partial(_create_table_task, *parts), missing, workers)
    finished = count - len(missing)
    with create_progress_bar(count, "tables", initial=finished, disable=not missing) as bar:
        for _ in played:
            bar.update()


def _create_table_task(plan: TournamentPlan, folder: Path, device: str) -> Any:
    """Load the players in a worker process, and return the function that plays a table."""
    return Tournament(plan, folder, device).play_and_save_table


def print_and_save_results(tournament: Tournament, draws_figure: bool) -> None:
    """Print a finished tournament's results; save them as JSON, CSV and perhaps as a figure."""
    plan, folder = tournament.plan, tournament.folder
    results = compute_tournament_results(
        tournament.game,
        tournament.player_names,
        tournament.seat_orders,
        [tournament.read_table_results(table) for table in range(len(tournament.seat_orders))],
        plan.table_kind,
        plan.rounds,
    )
    print_line(f"\n{format_ranking_and_cross_table(results)}\n")
    report = {**asdict(plan), "game": tournament.game.name}
    save_results(folder / "results", report, results.results, datetime.now())
    print_line(f"saved: {folder / 'results.json'}, .csv")
    if draws_figure:
        from poker_rl.evaluation.plots.plotting import save_figure
        from poker_rl.evaluation.plots.policy_and_cross_table_figures import draw_cross_table

        save_figure(draw_cross_table(results), folder / "cross_table.png", f"seed {plan.seed}")
        print_line(f"saved: {folder / 'cross_table.png'}")


def format_ranking_and_cross_table(results: TournamentResults) -> str:
    """Return the ranking and the cross table as text for the screen."""
    names = results.player_names
    cells: defaultdict[tuple[str, str], str] = defaultdict(lambda: "-")
    cells |= {(one.player, one.measure): one.value_and_interval_text for one in results.results}
    measures = {"won": "won", "behind": "behind the one above"}
    measures |= {"elo": "Elo"} if results.game.seats == 2 else {}
    ranking, cross_table = [["rank", "player", *measures.values()]], [["", *names]]
    for rank, name in enumerate(names, start=1):
        ranking.append([str(rank), name, *(cells[name, measure] for measure in measures)])
        cross_table.append([name, *(cells[name, f"won/{other}"] for other in names)])
    tables = TextTable(ranking, key_columns=2), TextTable(cross_table, results.cell_meaning)
    return format_for_terminal([results.description, *tables], names)
