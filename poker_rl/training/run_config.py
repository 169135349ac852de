"""Config of a run: of a new run, of a resumed one, or read from a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.build import build, convert_fields
from poker_rl.config.compose import RootConfig
from poker_rl.config.option_files import (
    MISSING,
    get_value,
    list_option_files,
    list_user_option_dirs,
    parse_override_key,
    set_value,
    to_plain_dict,
)
from poker_rl.config.process_setup import MAX_AUTO_THREADS, count_cores
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.games.game import Game
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.storage.run_folder import CONFIG_FILE, LOCATION_SETTINGS, read_run_folder

if TYPE_CHECKING:
    from poker_rl.config.compose import ComposedConfig

REQUIRED_PARTS = ("game", "algo", "evaluation", "logger", "names")
# Groups whose chosen option is recorded in the part `names`.
NAMED_GROUPS = ("game", "algo", "net", "experiment")
OPPONENT_KEYS = ("opponents", "evaluation.other_seats_player", "evaluation.opponents")
# Settings that may change when a run is resumed. They affect learning only by the length of the
# training and by rounding errors.
CHANGEABLE_SETTINGS = {
    *("budget", "evaluate_every", "checkpoint_every", "evaluation", "figures", "logger"),
    *("device", "threads", "precision"),
}
RESUME_RULE = (
    f"a resumed run keeps its settings, only {', '.join(sorted(CHANGEABLE_SETTINGS))} may change"
)


def collect_settings(
    request: ComposedConfig, option_dirs: Sequence[Path]
) -> tuple[dict[str, Any], Path | None, OpponentFiles]:
    """Return the settings of a run, the run folder to resume or None, and the opponents to copy."""
    if request.config["resume"] is not None:
        folder = Path(str(request.config["resume"]))
        old = read_run_config(folder, "resume")
        opponents = OpponentFiles(folder, list_opponents(old))
        settings = compose_resumed_config(old, request)
        return bundle_opponents(settings, opponents, option_dirs), folder, opponents
    options = request.option_by_group
    names = {group: options[group] for group in NAMED_GROUPS if options.get(group)}
    for group in ("game", "algo"):
        if group not in names:
            raise ConfigError(f"{group}: missing; give {group}=NAME")
    settings = {"logger": {}} | to_plain_dict(request.config) | {"names": names}
    opponents = OpponentFiles()
    return bundle_opponents(settings, opponents, option_dirs), None, opponents


def compose_resumed_config(old: Mapping[str, Any], request: ComposedConfig) -> dict[str, Any]:
    """Return the config of a resumed run: the old config, changed by the user's overrides."""
    keys = [parse_override_key(override) for override in request.overrides]
    # A reference such as `${budget}` in an override means the setting of the run.
    root = {key: one for key, one in old.items() if not isinstance(one, dict) and key not in keys}
    settings = to_plain_dict(request.config | root)
    config: dict[str, Any] = deepcopy(dict(old)) | {"resume": str(request.config["resume"])}
    for key in keys:
        value = get_value(settings, key)
        if key.partition(".")[0] in CHANGEABLE_SETTINGS:
            if value is MISSING:
                raise ConfigError(f"{key}: missing; give {key}=…")
            set_value(config, key, value)
        elif key != "resume":
            raise ConfigError(f"{key}: {RESUME_RULE}")
    return config


def select_fixed_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a resumed run may not change."""
    changeable = CHANGEABLE_SETTINGS | LOCATION_SETTINGS
    return {key: value for key, value in config.items() if key not in changeable}


def build_root_config(settings: Mapping[str, Any]) -> RootConfig:
    """Build the root settings, those outside all groups, with `threads: auto` as a number."""
    root = {key: one for key, one in settings.items() if key not in (*REQUIRED_PARTS, "net")}
    if root.get("threads") == "auto":
        root["threads"] = min(count_cores(), MAX_AUTO_THREADS)
    return RootConfig(**convert_fields(RootConfig, root, "", {}))


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
            if isinstance(value, list | str):
                one = [bundle(one) for one in value] if isinstance(value, list) else bundle(value)
                set_value(settings, key, one)
    return settings


def list_opponents(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of all opponents in a run's settings for training and evaluation."""
    values = [get_value(settings, key) for key in OPPONENT_KEYS]
    names = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in names if isinstance(one, str)]


def read_run_config(folder: Path, key: str) -> dict[str, Any]:
    """Return the config of a run folder; errors name the setting `key` that gave the folder."""
    with error_prefix(key):
        config, _ = read_run_folder(folder)
        for part in REQUIRED_PARTS:
            if not isinstance(config.get(part), dict):
                raise ConfigError(f"{folder / CONFIG_FILE} has no {part}")
    return config


def resolve_game_and_player(
    run: str | None,
    checkpoint: int | None,
    player: str | None,
    game_config: Mapping[str, Any] | None,
) -> tuple[Game, str]:
    """Return the game, and a specification of the player for `load_player`.

    The player is one of a run, at a snapshot by its number of decisions, or any player, such as a
    name in conf/player, that plays the game of the settings `game_config`.
    """
    if run is not None:
        if game_config is not None:
            raise ConfigError("game: is that of the run; give run=FOLDER or game=NAME, not both")
        config = read_run_config(Path(run), "run")
        spec = run if checkpoint is None else f"{run}@{checkpoint}"
        spec += "" if player is None else f":{player}"
    elif game_config is None:
        raise ConfigError("run: missing; give run=FOLDER, or game=NAME player=NAME")
    elif player is None:
        raise ConfigError("player: missing; give player=NAME or player=FOLDER")
    elif checkpoint is not None:
        raise ConfigError("checkpoint: is of a run; here it is player=FOLDER@DECISIONS")
    else:
        config, spec = dict(game_config), player
    game: Game = build(config["game"], "game", Game)
    return game, spec
