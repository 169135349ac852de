"""Opponents of a run in training and evaluation, with copies of their files in the run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.compose import RootConfig
from poker_rl.config.option_files import (
    get_value,
    list_option_files,
    list_user_option_dirs,
    set_value,
)
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.games.game import Game
from poker_rl.learning.opponents import SELF, OpponentSettings
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player

OPPONENT_KEYS = ("opponents", "evaluation.other_seats_player", "evaluation.opponents")


def bundle_opponents(
    config: Mapping[str, Any], opponents: OpponentFiles, option_dirs: Sequence[Path]
) -> dict[str, Any]:
    """Return the settings with paths of opponents replaced by their copies in the run folder.

    A resumed run then has the same opponents, even if the original files have changed.
    """
    settings: dict[str, Any] = deepcopy(dict(config))
    folders = list_user_option_dirs(option_dirs)
    files = [path for folder in folders for path in list_option_files(folder, "player")]
    user_bots = {path.stem: str(path) for path in files}

    def bundle(spec: Any) -> Any:
        if not isinstance(spec, str):
            return spec
        name, colon, suffix = spec.partition(":")
        return opponents.plan_copy(f"{user_bots.get(name, name)}{colon}{suffix}")

    for key in OPPONENT_KEYS:
        value = get_value(settings, key)
        with error_prefix(key):
            if isinstance(value, list):
                set_value(settings, key, [bundle(one) for one in value])
            elif isinstance(value, str):
                set_value(settings, key, bundle(value))
    return settings


def list_opponents(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of all opponents in a run's settings for training and evaluation."""
    values = [get_value(settings, key) for key in OPPONENT_KEYS]
    names = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in names if isinstance(one, str)]


def create_player_loader(
    game: Game,
    device: torch.device,
    option_dirs: Sequence[Path],
    opponents: OpponentFiles | None = None,
) -> Callable[[str], Player]:
    """Return a function that loads a player by a name in conf/player, a file or a run folder.

    Args:
        opponents: copies in a run folder, to load instead of the original files.
    """

    def load(spec: str) -> Player:
        path = spec if opponents is None else opponents.resolve_spec(spec)
        return load_player(path, game, device, option_dirs)

    return load


def load_opponents(root: RootConfig, load: Callable[[str], Player]) -> OpponentSettings | None:
    """Return the opponents that a run trains against, or None for self-play.

    Raises:
        ConfigError: if a player can't be loaded or is named twice, or not each has its weight.
    """
    names, weights = root.opponents, root.opponent_weights
    if weights is not None and len(weights) != len(names):
        raise ConfigError(f"opponent_weights: {len(weights)} for {len(names)} opponents")
    with error_prefix("opponents"):
        if len(set(names)) < len(names):
            raise ConfigError("a player is named twice; opponent_weights sets frequencies")
        players = {name: None if name == SELF else load(name) for name in names}
    if not players:
        return None
    return OpponentSettings(players=players, weights=weights, self_interval=root.self_interval)
