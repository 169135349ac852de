"""Config of a run: of a new run, of a resumed one, or read from a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from poker_rl.config import option_files
from poker_rl.config.build import build, convert_fields
from poker_rl.config.compose import ComposedConfig, UngroupedConfig
from poker_rl.config.input_checks import ConfigError, NonNegativeInt, PositiveInt, error_prefix
from poker_rl.config.threads_and_numba_cache import MAX_AUTO_THREADS, count_cores
from poker_rl.games.game import Game
from poker_rl.players.opponent_file_copies import OpponentFileCopies
from poker_rl.storage.run_files import CONFIG_FILE, read_config_and_manifest

REQUIRED_PARTS = ("game", "algo", "evaluation", "logger", "names")
# Groups whose selected option is recorded in `names`, a section of the run's config.
NAMED_GROUPS = ("game", "algo", "net", "experiment")
OPPONENT_KEYS = ("opponents", "evaluation.other_seats_player", "evaluation.opponents")
# Settings that may change when a run is resumed, because they affect learning only by the length of
# the training and by rounding errors.
CHANGEABLE_SETTINGS = {
    *("budget", "evaluate_every", "checkpoint_every", "evaluation", "figures", "logger"),
    *("device", "threads", "precision"),
}
RESUME_RULE = (
    f"a resumed run keeps its settings, only {', '.join(sorted(CHANGEABLE_SETTINGS))} may change"
)


@dataclass(kw_only=True, frozen=True)
class PlayerSourceConfig:
    """Settings by which a command selects players, and the device on which they compute."""

    run: str | None
    checkpoint: NonNegativeInt | None  # a snapshot of the run, by its number of decisions
    player: str | None  # name of a player of the run; without a run, a spec for `load_player`
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt


def compose_new_or_resumed_settings(
    composed: ComposedConfig, option_dirs: Sequence[Path]
) -> tuple[dict[str, Any], Path | None, OpponentFileCopies]:
    """Return a run's settings, its folder if it is resumed, and copies of its opponents' files."""
    resume = composed.config["resume"]
    if resume is not None:
        folder = Path(str(resume))
        old = read_run_config(folder, "resume")
        values = [option_files.get_dotted_value(old, key) for key in OPPONENT_KEYS]
        specs = [one for value in values for one in (value if isinstance(value, list) else [value])]
        opponents = OpponentFileCopies(folder, specs)
        settings = compose_resumed_config(old, composed)
        return replace_opponents_by_copies(settings, opponents, option_dirs), folder, opponents
    options, opponents = composed.option_by_group, OpponentFileCopies()
    names = {group: options[group] for group in NAMED_GROUPS if options.get(group)}
    for group in ("game", "algo"):
        if group not in names:
            raise ConfigError(f"{group}: missing; give {group}=NAME")
    settings = {"logger": {}} | option_files.to_plain_dict(composed.config) | {"names": names}
    if not settings.get("evaluation"):
        raise ConfigError("evaluation: missing; give evaluation=NAME")
    return replace_opponents_by_copies(settings, opponents, option_dirs), None, opponents


def compose_resumed_config(old: Mapping[str, Any], composed: ComposedConfig) -> dict[str, Any]:
    """Return the config of a resumed run: the old config, changed by the user's overrides."""
    keys = [option_files.extract_override_key(override) for override in composed.overrides]
    # In an override, `${budget}` is the budget in the old config, unless it is overridden too.
    ungrouped = {
        key: one for key, one in old.items() if not isinstance(one, dict) and key not in keys
    }
    settings = {"logger": {}} | option_files.to_plain_dict(composed.config | ungrouped)
    config: dict[str, Any] = deepcopy(dict(old)) | {"resume": str(composed.config["resume"])}
    for key in keys:
        value = option_files.get_dotted_value(settings, key)
        if key.partition(".")[0] in CHANGEABLE_SETTINGS:
            if value is option_files.MISSING:
                raise ConfigError(f"{key}: missing; give {key}=…")
            option_files.set_dotted_value(config, key, value)
        elif key != "resume":
            raise ConfigError(f"{key}: {RESUME_RULE}")
    return config


def build_ungrouped_config(settings: Mapping[str, Any]) -> UngroupedConfig:
    """Build the settings that belong to no group, with `threads: auto` as a number."""
    ungrouped = {key: one for key, one in settings.items() if key not in (*REQUIRED_PARTS, "net")}
    if ungrouped.get("threads") == "auto":
        ungrouped["threads"] = min(count_cores(), MAX_AUTO_THREADS)
    return UngroupedConfig(**convert_fields(UngroupedConfig, ungrouped, "", {}))


def replace_opponents_by_copies(
    config: Mapping[str, Any], opponents: OpponentFileCopies, option_dirs: Sequence[Path]
) -> dict[str, Any]:
    """Return the settings with opponents' paths replaced by the paths of copies, made later."""
    settings: dict[str, Any] = deepcopy(dict(config))
    user_bots = {
        path.stem: str(path)
        for folder in option_files.list_user_option_dirs(option_dirs)
        for path in option_files.list_option_files(folder, "player")
    }

    def replace(value: Any) -> Any:
        if isinstance(value, list):
            return [replace(one) for one in value]
        if not isinstance(value, str):
            return value
        name, colon, suffix = value.partition(":")
        return opponents.plan_copy(f"{user_bots.get(name, name)}{colon}{suffix}")

    for key in OPPONENT_KEYS:
        with error_prefix(key):
            if (value := option_files.get_dotted_value(settings, key)) is not option_files.MISSING:
                option_files.set_dotted_value(settings, key, replace(value))
    return settings


def read_run_config(folder: Path, key: str) -> dict[str, Any]:
    """Return the config of a run folder; error messages begin with `key`, such as "resume"."""
    with error_prefix(key):
        config, _ = read_config_and_manifest(folder)
        for part in REQUIRED_PARTS:
            if not isinstance(config.get(part), dict):
                raise ConfigError(f"{folder / CONFIG_FILE} has no {part}")
    return config


def resolve_game_and_player_spec(
    selection: PlayerSourceConfig, game_config: Mapping[str, Any] | None
) -> tuple[Game, str]:
    """Return the game, and a specification of the player for `load_player`."""
    run, checkpoint, player = selection.run, selection.checkpoint, selection.player
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
