"""Config of a run: read it from the run folder, and decide what a resumed run may change."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.option_files import parse_override_key, to_plain_dict
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.storage.run_folder import CONFIG_FILE, LOCATION_SETTINGS, read_run_folder

if TYPE_CHECKING:
    from poker_rl.config.compose import ComposedConfig

GROUPS = ("game", "algo", "evaluation")
REQUIRED_PARTS = (*GROUPS, "logger", "names")  # `names` holds the chosen option of each group
MISSING = object()

# Settings that a resumed run may change, because they change what is learned only by the length of
# the training and by rounding.
CHANGEABLE_SETTINGS = {
    "budget",
    "evaluate_every",
    "checkpoint_every",
    "evaluation",
    "figures",
    "logger",
    "device",
    "threads",
    "precision",
}
RESUME_RULE = (
    f"a resumed run keeps its settings, only {', '.join(sorted(CHANGEABLE_SETTINGS))} may change"
)


def select_fixed_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a resumed run may not change."""
    return {
        key: value
        for key, value in config.items()
        if key not in CHANGEABLE_SETTINGS | LOCATION_SETTINGS
    }


def read_config(folder: Path, key: str) -> dict[str, Any]:
    """Return the config of a run folder, which the user gave as the setting `key`."""
    with error_prefix(key):
        config, _ = read_run_folder(folder)
    for part in REQUIRED_PARTS:
        if not isinstance(config.get(part), dict):
            raise ConfigError(f"{key}: {folder / CONFIG_FILE} has no {part}")
    return config


def compose_resumed_config(old: Mapping[str, Any], request: ComposedConfig) -> dict[str, Any]:
    """Return the config of a run with the changeable settings that the request overrides."""
    keys = [parse_override_key(override) for override in request.overrides]
    # References `${…}` in the requested settings refer to the root settings of the run.
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


def find_difference(one: Any, other: Any, key: str = "") -> str | None:
    """Return the dotted key of the first setting that differs; None if all are equal."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return None if one == other else key
    for name in sorted(one.keys() | other.keys(), key=str):
        path = f"{key}.{name}" if key else str(name)
        if found := find_difference(one.get(name), other.get(name), path):
            return found
    return None


def get_value(tree: Any, key: str) -> Any:
    """Return the value at a dotted key of nested dictionaries; MISSING if there is none."""
    for part in key.split("."):
        tree = tree.get(part, MISSING) if isinstance(tree, dict) else MISSING
    return tree


def set_value(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value at a dotted key of nested dictionaries."""
    *parents, last = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[last] = value
