"""Find the game and the player that a command names, directly or by a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl.config.build import build_instance_of
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.training.read_run_config import read_run_config


def resolve_game_and_player(
    run: str | None,
    checkpoint: int | None,
    player: str | None,
    game_config: Mapping[str, Any] | None,
) -> tuple[Game, str]:
    """Return the game, and a specification of the player for `load_player`.

    Args:
        run: a run folder; None if `game_config` and `player` are given instead.
        checkpoint: number of decisions at a snapshot of the run; None for the newest one.
        player: a player of the run, or None for its headline player; without `run` any player,
            such as a name in conf/player.
        game_config: settings with the key `game`; None for the game of the run.
    """
    if run is not None:
        if game_config is not None:
            raise ConfigError("game: is that of the run; give run=FOLDER or game=NAME, not both")
        config = read_run_config(Path(run), "run")
        spec = run if checkpoint is None else f"{run}@{checkpoint}"
        if player is not None:
            spec += f":{player}"
    else:
        if game_config is None:
            raise ConfigError("run: missing; give run=FOLDER, or game=NAME player=NAME")
        if player is None:
            raise ConfigError("player: missing; give player=NAME or player=FOLDER")
        if checkpoint is not None:
            raise ConfigError("checkpoint: is of a run; here it is player=FOLDER@DECISIONS")
        config, spec = dict(game_config), player
    game: Game = build_instance_of(Game, config["game"], "game")
    return game, spec
