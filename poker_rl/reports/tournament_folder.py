"""Folder of a tournament: its plan, and the results of its finished tables.

outputs/tournaments/<game>/<time>/
    tournament.yaml     the plan, which stays the same when the tournament is resumed
    tables/*.npy        what the players of each finished table won in every deal
    results.json, .csv  ranking, ratings and cross table
    cross_table.png     figure of the cross table, unless figure=false
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml  # type: ignore[import-untyped]

from poker_rl.config.build import build_instance_of
from poker_rl.config.nested_settings import find_differing_key
from poker_rl.config.option_files import read_plain_yaml
from poker_rl.config.untrusted_files import MIB, open_regular_file
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.matches.duplicate_match import play_deals
from poker_rl.evaluation.matches.tournament import (
    TableKind,
    assign_players_to_tables,
    list_counted_players,
)
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_bot, load_player
from poker_rl.storage.disk import (
    atomic_replacement,
    check_folder_path,
    create_writable_folder,
    exclusive_lock,
    list_complete_files,
    remove_partial_files,
)
from poker_rl.storage.run_folder import write_text_atomically
from poker_rl.training.device import prepare_process

PLAN_FILE = "tournament.yaml"
TABLES_FOLDER = "tables"


@dataclass(frozen=True)
class TournamentPlan:
    """All settings that decide the results of a tournament.

    Attributes:
        game: the settings of the game.
        players: settings of each bot by its name; a trained player has None.
    """

    game: Mapping[str, Any]
    players: Mapping[str, Mapping[str, Any] | None]
    table_kind: TableKind
    rounds: int
    deals: int
    seed: int


def read_plan(folder: Path) -> dict[str, Any]:
    """Return the fields of the plan in a tournament's folder."""
    path = folder / PLAN_FILE
    if not path.exists():
        raise ConfigError(f"{folder} holds no tournament, there is no {PLAN_FILE}")
    plan = read_plain_yaml(path)
    has_fields = plan.keys() == {field.name for field in fields(TournamentPlan)}
    if not (has_fields and all(isinstance(plan[key], dict) for key in ("game", "players"))):
        raise ConfigError(f"{path} is not what a tournament writes there")
    return plan


def check_folder_matches(plan: TournamentPlan, folder: Path) -> None:
    """Raise `ConfigError` if a folder contains another tournament or other files."""
    with error_prefix("out"):
        has_plan = (folder / PLAN_FILE).exists()
        if not has_plan and folder.is_dir() and list_complete_files(folder):
            raise ConfigError(
                f"{folder} is no tournament's, there is no {PLAN_FILE}; give a new folder"
            )
        saved_plan = read_plan(folder) if has_plan else asdict(plan)
    if (names := saved_plan["players"]).keys() != plan.players.keys():
        raise ConfigError(
            f"players: the tournament in {folder} is of {', '.join(names)}; give these or a new"
            " folder"
        )
    if key := find_differing_key(asdict(plan), saved_plan):
        raise ConfigError(f"{key}: the tournament in {folder} has another; give a new folder")


class Tournament:
    """Tables of a tournament, with the players at each table and the file of its results."""

    def __init__(self, plan: TournamentPlan, folder: Path, device: str) -> None:
        self.plan, self.folder = plan, folder
        self.device = prepare_process(device, 1, plan.seed)
        self.game: Game = build_instance_of(Game, plan.game, "game")
        self.names = list(plan.players)
        self.seat_orders = assign_players_to_tables(
            self.game, len(self.names), plan.table_kind, plan.rounds, plan.seed
        )
        self.load_player = cache(self._load_player)

    def _load_player(self, name: str) -> Player:
        bot_config = self.plan.players[name]
        if bot_config is None:
            return load_player(name, self.game, self.device)
        return load_bot(name, bot_config, self.game, self.device)

    def get_results_path(self, table: int) -> Path:
        """Return the path of a table's results; the file exists if the table is finished."""
        return self.folder / TABLES_FOLDER / f"{table:06}.npy"

    def list_missing_tables(self) -> list[int]:
        """Return the indices of the tables that are not finished."""
        return [i for i in range(len(self.seat_orders)) if not self.get_results_path(i).exists()]

    def play_table(self, table: int) -> None:
        """Play a table with the same deals as every other table, and save what the players won."""
        seat_order = self.seat_orders[table]
        players = [self.load_player(self.names[player]) for player in seat_order]
        blocks = play_deals(self.game, players, self.plan.deals, self.plan.seed)
        columns = [seat_order.index(player) for player in list_counted_players(seat_order)]
        with (
            atomic_replacement(self.get_results_path(table)) as new_path,
            new_path.open("wb") as file,
        ):
            np.save(file, blocks[:, columns].T)

    def read_table_results(self, table: int) -> np.ndarray:
        """Read the chips per hand that the counted players of a table won, [players, deals].

        Players that only fill the other seats of a table do not count.
        """
        path = self.get_results_path(table)
        shape = len(list_counted_players(self.seat_orders[table])), self.plan.deals
        try:
            with open_regular_file(path, MIB + 8 * shape[0] * shape[1]) as file:
                winnings: np.ndarray = np.lib.format.read_array(file)
            return winnings.astype(float).reshape(shape)
        except (ValueError, EOFError):
            raise ConfigError(f"{path} is damaged; delete it to play it again") from None


@contextmanager
def open_tournament_folder(tournament: Tournament) -> Iterator[None]:
    """Create the folder of a tournament and lock it against other processes."""
    folder = tournament.folder
    with ExitStack() as stack:
        with error_prefix("out"):
            check_folder_path(folder / TABLES_FOLDER)
            create_writable_folder(folder)
            stack.enter_context(exclusive_lock(folder, "playing it"))
            remove_partial_files(folder)
        # Before the folder was locked, another process may have started a tournament there.
        check_folder_matches(tournament.plan, folder)
        if not (folder / PLAN_FILE).exists():
            text = yaml.safe_dump(asdict(tournament.plan), sort_keys=False, allow_unicode=True)
            write_text_atomically(folder / PLAN_FILE, text)
        (folder / TABLES_FOLDER).mkdir(exist_ok=True)
        yield
