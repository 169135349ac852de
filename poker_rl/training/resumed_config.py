"""Config of a resumed run, in which only some settings may change."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from poker_rl.config.option_files import (
    MISSING,
    get_value,
    parse_override_key,
    set_value,
    to_plain_dict,
)
from poker_rl.config.validation import ConfigError
from poker_rl.storage.run_folder import LOCATION_SETTINGS

if TYPE_CHECKING:
    from poker_rl.config.compose import ComposedConfig

# Settings that may change when a run is resumed. They affect learning only by the length of the
# training and by rounding errors.
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


def compose_resumed_config(old: Mapping[str, Any], request: ComposedConfig) -> dict[str, Any]:
    """Return the config of a resumed run: the old config, changed by the user's overrides.

    Raises:
        ConfigError: if an override changes a setting that has to stay equal.
    """
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
