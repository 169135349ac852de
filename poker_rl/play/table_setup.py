"""Table of a session: the game, the opponents and the adviser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from poker_rl.config.build import build
from poker_rl.config.compose import FILE_NAME_PATTERN, compose_plain_config
from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.games.displayed_table import DisplayedGame
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import find_bot_name, load_player, resolve_spec

TIMED_RUN_PATTERN = re.compile(r"\d{4}-\d\d-\d\d_\d\d-")  # start time in a run's default name


@dataclass(frozen=True)
class NamedPlayer:
    """Player and its display name."""

    name: str
    player: Player


@dataclass(frozen=True)
class TableSetup:
    """Game, opponents and adviser of a session."""

    game: DisplayedGame
    opponents: Sequence[NamedPlayer]  # one for each other seat, clockwise from the person's left
    adviser: NamedPlayer | None = None  # player that gives hints and grades moves

    def __post_init__(self) -> None:
        if not isinstance(self.game, DisplayedGame):  # a game of a plug-in may have no display
            raise ConfigError(f"game: {self.game.name} has no view to play it by")
        if len(self.opponents) != self.game.seats - 1:
            raise ConfigError(
                f"against: {len(self.opponents)} opponents; {self.game.name} needs"
                f" {self.game.seats - 1}, one for each other seat, or a single one for all"
            )

    @cached_property
    def short_names(self) -> dict[str, str]:
        """Short display names of the opponents and the adviser, by full name."""
        return shorten_names([one.name for one in (*self.opponents, self.adviser) if one])

    @cached_property
    def player_names(self) -> list[str]:
        """Display names by player index, the human player's first; equal names get numbers."""
        names = ["you", *(self.short_names[one.name] for one in self.opponents)]
        return [
            name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
            for i, name in enumerate(names)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return game, opponents and adviser as plain values for the session's file."""
        return {
            "game": self.game.to_dict(),
            "against": [one.name for one in self.opponents],
            "adviser": self.adviser and self.adviser.name,
        }


def shorten_names(full_names: Sequence[str]) -> dict[str, str]:
    """Return {full name: short name}; a full name is like `outputs/kuhn/ppo/x@300000:average`.

    A trained player is named by its run, or by its algorithm if the run is named by its start time.
    A bot or a greedy player is named by the last part of its full name, without a file suffix. If
    two names are equal, all players are named by the last parts of their full names, such as
    `x@300000:average`; if two of those are equal too, by their full names.
    """

    def shorten_name(full_name: str) -> str:
        path, separator, player = full_name.rpartition(":")
        if not separator or player == "greedy":  # a bot or a greedy player
            return Path(full_name).stem
        run = Path(path.partition("@")[0])
        is_timed = TIMED_RUN_PATTERN.search(run.name)
        return run.parent.name if is_timed else run.name.removesuffix(".pt")

    for shorten in (shorten_name, lambda full_name: Path(full_name).name):
        short_names = {full_name: shorten(full_name) for full_name in full_names}
        if len(set(short_names.values())) == len(short_names):
            return short_names
    return {full_name: full_name for full_name in full_names}


def format_player_counts(full_names: Sequence[str]) -> str:
    """Return the short names, each once with the number of its players: `2 x call, tight`."""
    short_names = shorten_names(full_names)
    counts = Counter(short_names[name] for name in full_names)
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in counts.items())


def build_table_setup(
    game_config: Mapping[str, Any],
    option_dirs: Sequence[Path],
    against: Sequence[str],
    adviser: str | None,
    default_opponents: Sequence[str] = (),
    default_advisers: Sequence[str] = (),
) -> TableSetup:
    """Build a table from the specs of its players; raise ConfigError if one can't be loaded.

    A single opponent in `against` plays in all seats but the person's. If `against` is empty, the
    first of `default_opponents` that can play the game does. If `adviser` is None, the adviser is
    the first opponent from a run or a snapshot file, or else the first of `default_advisers` that
    can play the game; there is no adviser if `default_advisers` is empty.
    """
    game: DisplayedGame = build(game_config["game"], "game", Game)
    if not FILE_NAME_PATTERN.fullmatch(game.name):
        raise ConfigError(f"game.name: {game.name!a} can't be the name of a folder")

    @cache
    def load(spec: str) -> NamedPlayer:
        player = load_player(spec, game, option_folders=option_dirs)
        return NamedPlayer(resolve_spec(spec), player)

    def load_first(specs: Sequence[str]) -> list[NamedPlayer]:
        for spec in specs:
            with suppress(ConfigError):
                return [load(spec)]
        return []

    with error_prefix("against"):
        opponents = [load(spec) for spec in against] or load_first(default_opponents)
        if not opponents:
            raise ConfigError("give a player; none of `default_opponents` plays this game")
    if len(opponents) == 1:
        opponents *= game.seats - 1
    runs = [spec for spec in against if find_bot_name(spec) is None]
    with error_prefix("adviser"):
        advisers = [] if adviser is None else [load(adviser)]
    if adviser is None and default_advisers:
        advisers = load_first([*runs, *default_advisers])
    return TableSetup(game, opponents, *advisers)


def rebuild_table_setup(table: Mapping[str, Any], option_dirs: Sequence[Path]) -> TableSetup:
    """Build the table that a session's file describes; `table` is from `TableSetup.to_dict`."""
    config = compose_plain_config([f"game={table['game']['name']}"], option_dirs)
    config["game"] |= table["game"]  # saved settings replace those of conf/game
    return build_table_setup(config, option_dirs, table["against"], table["adviser"])
