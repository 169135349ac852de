"""The game and the player that a command is about: those of a run's folder, or both by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl.config.build import build_as
from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.training.run_config import read_config


def game_and_player(
    run: str | None,
    checkpoint: int | None,
    player: str | None,
    chosen: Mapping[str, Any] | None,
) -> tuple[Game, str]:
    """The game, and its player as `load_player` takes it.

    Args:
        run: a run folder.
        checkpoint: decisions of one of its snapshots; None: the newest.
        player: one of the run's players, None for the headline player; without a run any player.
        chosen: the settings of `game`, None if they are those of the run.

    Raises:
        Refused: if they are not named, or twice.
    """
    if run is not None:
        if chosen is not None:
            raise Refused("game: is that of the run; give run=FOLDER or game=NAME, not both")
        cfg = read_config(Path(run), "run")
        spec = run if checkpoint is None else f"{run}@{checkpoint}"
        if player is not None:
            spec += f":{player}"
    else:
        if chosen is None:
            raise Refused("run: missing; give run=FOLDER, or game=NAME player=NAME")
        if player is None:
            raise Refused("player: missing; give player=NAME or player=FOLDER")
        if checkpoint is not None:
            raise Refused("checkpoint: is of a run; here it is player=FOLDER@DECISIONS")
        cfg, spec = dict(chosen), player
    game: Game = build_as(Game, cfg["game"], "game")
    return game, spec
