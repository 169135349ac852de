"""What `poker-rl tournament` does once settings are read.

outputs/tournaments/<game>/<time>/
    tournament.yaml     who plays what: a tournament that goes on has to be asked for the same
    tables/*.json       a finished table each: what its players won in every deal
    results.json, .csv  cross table, ranking and ratings
    cross_table.png     the figure of it, unless figure=false
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml  # type: ignore[import-untyped]

from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.files import MIB, read_json
from poker_rl.config.options import read
from poker_rl.config.settings import Count, Range, Refused, Seed, about
from poker_rl.evaluation.matches import FEWEST_DEALS, play
from poker_rl.evaluation.tournament import Kind, counted, line_ups, results
from poker_rl.games.game import Game
from poker_rl.players.load import bot_of, bot_settings, full_specs, load_bot, load_player
from poker_rl.players.player import Player
from poker_rl.storage.disk import (
    alone,
    demand_folder,
    demand_own,
    make_folder,
    names_in,
    remove_parts,
    say,
    tell,
)
from poker_rl.storage.folder import write_text
from poker_rl.storage.progress import progress_bar
from poker_rl.training.cores import count_cores
from poker_rl.training.device import prepare_device
from poker_rl.training.run_config import first_difference
from poker_rl.training.signals import interrupt_at_once
from poker_rl.training.worker_pool import share_out

PLAN = "tournament.yaml"
TABLES = "tables"
MAY_CHANGE = ("workers", "figure", "device")  # what does not change a result
MOST_DEALS = 1_000_000  # a table keeps what was won in each of them


@dataclass(kw_only=True, frozen=True)
class Tournament:
    """The settings of `poker-rl tournament`."""

    players: list[str]
    tables: Kind
    rounds: Count
    deals: Annotated[int, Range(FEWEST_DEALS, MOST_DEALS)]
    seed: Seed
    workers: Count
    figure: bool
    out: str | None
    resume: str | None
    device: Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class Plan:
    """Who plays what: all that decides the results."""

    game: Mapping[str, Any]  # its settings
    players: Mapping[str, Mapping[str, Any] | None]  # of bots with their settings
    tables: Kind
    rounds: int
    deals: int
    seed: int


def tournament(
    settings: dict[str, Any],
    chosen: Mapping[str, Any] | None,
    conf: Sequence[Path],
    given: Collection[str],
) -> None:
    """Play a tournament, or what is missing of one, and tell the results.

    Args:
        chosen: the settings of `game`, None if they are those of a tournament that goes on.
        conf: the folders of the options.
        given: the settings that the user named.

    Raises:
        Refused: if any setting can't be accepted, before anything is made or played.
        OSError: if the machine fails.
    """
    asked = Tournament(**convert_fields(Tournament, settings, "", {}))
    if asked.resume is not None:
        for key in given:
            if key not in ("resume", *MAY_CHANGE):
                raise Refused(f"{key}: is that of the tournament in {asked.resume}; leave it out")
        folder = Path(asked.resume)
        with about("resume"):
            plan = Plan(**read_plan(folder))
            decided = {key: getattr(plan, key) for key in ("tables", "rounds", "deals", "seed")}
            convert_fields(Tournament, settings | decided, "", {})
    else:
        plan = planned(asked, chosen, conf)
        folder = Path(asked.out) if asked.out is not None else default_folder(plan)
        demand_same(plan, folder)
    hall = Hall(plan, folder, asked.device)
    for name in plan.players:
        with about("players"):
            hall.player(name)
    with begun(hall):
        announce(hall, asked.workers)
        with interrupt_at_once():
            play_missing(hall, asked.workers)
            conclude(hall, asked.figure)


def planned(asked: Tournament, chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> Plan:
    """What was asked for, with nothing left unsaid: of a run's folder, which snapshot."""
    if chosen is None:
        raise Refused("game: missing; give game=NAME players=[…], or resume=FOLDER to go on")
    players: dict[str, Mapping[str, Any] | None] = {}
    with about("players"):
        for name in full_specs(asked.players):
            players[name] = None if (bot := bot_of(name)) is None else bot_settings(bot, conf)
        if len(players) < 2:
            raise Refused(f"a tournament takes at least two, {len(players)} given")
    return Plan(chosen["game"], players, asked.tables, asked.rounds, asked.deals, asked.seed)


def read_plan(folder: Path) -> dict[str, Any]:
    """The plan of a tournament that was begun, by field.

    Raises:
        Refused: if there is none, or it can't be read.
    """
    if not (folder / PLAN).exists():
        raise Refused(f"{folder} holds no tournament, there is no {PLAN}")
    kept = read(folder / PLAN)
    groups = (kept.get("game"), kept.get("players"))
    fits = kept.keys() == {field.name for field in fields(Plan)}
    if not (fits and all(isinstance(group, dict) for group in groups)):
        raise Refused(f"{folder / PLAN} is not what a tournament writes there")
    return kept


def demand_same(plan: Plan, folder: Path) -> None:
    """Refuse a folder that holds another tournament, or anything else."""
    with about("out"):
        begun = (folder / PLAN).exists()
        if not begun and folder.is_dir() and names_in(folder):
            raise Refused(f"{folder} is no tournament's, there is no {PLAN}; give a new folder")
        before = read_plan(folder) if begun else asdict(plan)
    if (names := before["players"]).keys() != plan.players.keys():
        here = f"the tournament in {folder} is of {', '.join(names)}"
        raise Refused(f"players: {here}; give these or a new folder")
    if differs := first_difference(asdict(plan), before):
        another = f"the tournament in {folder} has another; give a new folder"
        raise Refused(f"{differs}: {another}")


def default_folder(plan: Plan) -> Path:
    """Where a tournament is kept if the user names no folder."""
    name = re.sub(r"[^\w.+-]", "_", str(plan.game.get("name")))
    return Path("outputs", "tournaments", name, f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}")


class Hall:
    """The tables of a tournament, and its folder.

    Raises:
        Refused: if the game, the device or the tables can't be had.
    """

    def __init__(self, plan: Plan, folder: Path, device: str) -> None:
        self.plan, self.folder = plan, folder
        self.device = prepare_device(device, 1, plan.seed)
        self.game: Game = build_as(Game, plan.game, "game")
        self.names = list(plan.players)
        count = len(self.names)
        self.orders = line_ups(self.game, count, plan.tables, plan.rounds, plan.seed)
        # Chips over all rotations of a deal are whole numbers, however many seats it has.
        self.parts = int(np.lcm.reduce(self.game.record["seats"].astype(np.int64)))
        self.player = cache(self._player)

    def _player(self, name: str) -> Player:
        """A player of the plan: of bots with the settings kept there."""
        settings = self.plan.players[name]
        if settings is None:
            return load_player(name, self.game, self.device)
        return load_bot(name, settings, self.game, self.device)

    def path(self, table: int) -> Path:
        """Where a table is kept once it is finished."""
        return self.folder / TABLES / f"{table:06}.json"

    def missing(self) -> list[int]:
        """The tables that are not finished."""
        return [table for table in range(len(self.orders)) if not self.path(table).exists()]

    def around(self, table: int) -> list[str]:
        """The names of the players around a table."""
        return [self.names[player] for player in self.orders[table]]

    def play(self, table: int) -> None:
        """Play a table, the same deals as at all others, and keep what was won."""
        around = self.around(table)
        players = [self.player(name) for name in around]
        blocks = play(self.game, players, self.plan.deals, self.plan.seed)
        places = [self.orders[table].index(player) for player in counted(self.orders[table])]
        won = np.rint(blocks[:, places].T * self.parts).astype(np.int64)
        kept = {"players": around, "parts": self.parts, "won": won.tolist()}
        write_text(self.path(table), json.dumps(kept) + "\n")

    def won(self, table: int) -> np.ndarray:
        """What the counted players of a finished table won, in chips a hand, [counted, deals].

        Raises:
            Refused: if its file holds something else.
        """
        shape = len(counted(self.orders[table])), self.plan.deals
        try:
            # A number takes 22 characters at most, and what is beside them less than a mebibyte.
            kept = read_json(self.path(table), MIB + 22 * shape[0] * shape[1])
            won = np.array(kept["won"], float) / self.parts
            if (kept["players"], kept["parts"]) != (self.around(table), self.parts):
                raise ValueError
            return won.reshape(shape)
        except (ValueError, LookupError, TypeError):
            raise Refused(f"{self.path(table)} is damaged; delete it to play it again") from None


@contextmanager
def begun(hall: Hall) -> Iterator[None]:
    """The folder of a tournament is there in this context, and no other process plays it.

    Raises:
        Refused: if one does, or what is there is not as it has to be.
    """
    folder = hall.folder
    with ExitStack() as stack:
        with about("out"):
            demand_folder(folder / TABLES)
            make_folder(folder)
            stack.enter_context(alone(folder, "playing it"))
            demand_own(folder)
            remove_parts(folder)
        demand_same(hall.plan, folder)  # another process may have begun one there a moment ago
        if not (folder / PLAN).exists():
            text = yaml.safe_dump(asdict(hall.plan), sort_keys=False, allow_unicode=True)
            write_text(folder / PLAN, text)
        (folder / TABLES).mkdir(exist_ok=True)
        yield


def announce(hall: Hall, workers: int) -> None:
    """Say where the tournament is and how much of it is to be played."""
    if workers > count_cores():
        tell(
            f"workers: {workers} are more than the cores that may be used, {count_cores()}, and"
            " will be slower"
        )
    say(f"tournament folder: {hall.folder}")
    if missing := len(hall.missing()):
        again = f"poker-rl tournament resume={shlex.quote(str(hall.folder))}"
        say(f"{missing:,} of {len(hall.orders):,} tables to play; if it is stopped: {again}")


def play_missing(hall: Hall, workers: int) -> None:
    """Play the tables that are not finished, in this process or in several others."""
    missing = hall.missing()
    done = len(hall.orders) - len(missing)
    with progress_bar(len(hall.orders), "tables", initial=done, disable=not missing) as bar:
        for _ in played(hall, missing, workers):
            bar.update()


def played(hall: Hall, missing: Sequence[int], workers: int) -> Iterator[int]:
    """Play tables; the number of each when it is finished."""
    if workers > 1:
        begin = partial(_begin, hall.plan, hall.folder, hall.device.type)
        yield from share_out(begin, missing, workers)
        return
    for table in missing:
        hall.play(table)
        yield table


def _begin(plan: Plan, folder: Path, device: str) -> Any:
    return Hall(plan, folder, device).play


def conclude(hall: Hall, figure: bool) -> None:
    """Tell the results of a tournament whose tables are all finished, and keep them."""
    plan, folder = hall.plan, hall.folder
    found = results(
        hall.game,
        hall.names,
        hall.orders,
        [hall.won(table) for table in range(len(hall.orders))],
        time=datetime.now(),
        command=shlex.join(["poker-rl", *sys.argv[1:]]),
        tables=plan.tables,
        rounds=plan.rounds,
        deals=plan.deals,
        seed=plan.seed,
    )
    say(f"\n{found.text()}\n")
    write_text(folder / "results.json", json.dumps(found.plain(), indent=2) + "\n")
    write_text(folder / "results.csv", found.csv())
    drawn = ""
    if figure:
        from poker_rl.evaluation.cross_table import cross_table  # matplotlib takes a while
        from poker_rl.evaluation.drawing import save

        save(cross_table(found), folder / "cross_table.png", f"seed {plan.seed}")
        drawn = ", cross_table.png"
    say(f"kept: {folder / 'results.json'}, .csv{drawn}")
