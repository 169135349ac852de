"""Reading of config.yaml in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.storage.run_folder import CONFIG_FILE, read_run_folder

GROUPS = ("game", "algo", "evaluation")
REQUIRED_PARTS = (*GROUPS, "logger", "names")


def read_run_config(folder: Path, key: str) -> dict[str, Any]:
    """Return the config of a run folder; errors name the setting `key` that gave the folder."""
    with error_prefix(key):
        config, _ = read_run_folder(folder)
    for part in REQUIRED_PARTS:
        if not isinstance(config.get(part), dict):
            raise ConfigError(f"{key}: {folder / CONFIG_FILE} has no {part}")
    return config
