"""The players that a run meets, and their copies in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.options import of_the_user, option_files
from poker_rl.config.settings import about
from poker_rl.games.game import Game
from poker_rl.players.load import load_player
from poker_rl.players.opponents import Opponents
from poker_rl.players.player import Player
from poker_rl.training.run_config import get_value, set_value

KEYS = ("opponent", "evaluation.others", "evaluation.opponents")  # settings that name players


def bundle_opponents(
    given: Mapping[str, Any], opponents: Opponents, option_dirs: Sequence[Path]
) -> dict[str, Any]:
    """Return the settings with each player that is a file named as a copy in the run's folder.

    The other run may go on, move or be deleted, and option files may change; this run has to meet
    the players that it began with.
    """
    settings: dict[str, Any] = deepcopy(dict(given))
    bots = user_bots(option_dirs)

    def bundle(spec: Any) -> Any:
        if not isinstance(spec, str):
            return spec
        name, colon, rest = spec.partition(":")  # `mine`, `mine:greedy`
        return opponents.take(f"{bots.get(name, name)}{colon}{rest}")

    for key in KEYS:
        value = get_value(settings, key)
        with about(key):
            if isinstance(value, list):
                set_value(settings, key, [bundle(one) for one in value])
            elif isinstance(value, str):
                set_value(settings, key, bundle(value))
    return settings


def user_bots(option_dirs: Sequence[Path]) -> dict[str, str]:
    """Return the files of the bots in the user's option folders, by name."""
    return {
        path.stem: str(path)
        for folder in of_the_user(option_dirs)
        for path in option_files(folder, "player")
    }


def opponent_names(settings: Mapping[str, Any]) -> list[str]:
    """Return the players that a run with these settings meets, as the settings name them."""
    values = [get_value(settings, key) for key in KEYS]
    names = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in names if isinstance(one, str)]


def player_loader(
    game: Game,
    device: torch.device,
    option_dirs: Sequence[Path],
    opponents: Opponents | None = None,
) -> Callable[[str], Player]:
    """Return a function that loads a player: a name in conf/player, a file or a run folder.

    Args:
        opponents: the copies that a run has in its folder.
    """

    def load(spec: str) -> Player:
        path = spec if opponents is None else opponents.locate(spec)
        return load_player(path, game, device, option_dirs)

    return load
