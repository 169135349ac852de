"""The config of a run: read from its folder, and what a resumed run may change of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.horizons import resolved
from poker_rl.config.options import key_of, plain
from poker_rl.config.settings import Refused
from poker_rl.storage.folder import CONFIG, PLACE, read_folder

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

GROUPS = ("game", "algo", "evaluation")
REQUIRED = (*GROUPS, "logger", "names")  # `names` holds the options that were chosen
MISSING = object()

# What a resumed run may change: how long it trains, what is measured on the way, drawn at the end
# and logged where, what it computes on, with how many threads and in which precision.
CHANGEABLE = {
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
RESUME_RULE = f"a resumed run keeps its settings, only {', '.join(sorted(CHANGEABLE))} may change"


def fixed_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that stay what they were when the run began."""
    return {key: value for key, value in config.items() if key not in CHANGEABLE | PLACE}


def read_config(folder: Path, key: str) -> dict[str, Any]:
    """Return the config of a run folder that the user gave as setting `key`.

    Raises:
        Refused: if it is no run folder.
    """
    try:
        config, _ = read_folder(folder)
    except Refused as error:
        run = re.split("[@:]", str(folder))[0]  # of RUN@300000:current
        is_player = run != str(folder) and Path(run).is_dir()
        hint = f"; {key} takes a folder alone, such as {run}" if is_player else ""
        raise Refused(f"{key}: {error}{hint}") from None
    for part in REQUIRED:
        if not isinstance(config.get(part), dict):
            raise Refused(f"{key}: {folder / CONFIG} has no {part}")
    return config


def resumed_config(
    folder: Path, settings: Mapping[str, Any], overrides: Sequence[str]
) -> dict[str, Any]:
    """Return the config of a run folder with the overrides of those settings that may change.

    Args:
        settings: composed of the command line, for the values of the overrides.

    Raises:
        Refused: if it is no run folder, or an override has another value than the run's and may
            not change.
    """
    config = read_config(folder, "resume") | {"resume": settings["resume"]}
    unit = "budget_unit"  # checked first: horizons that follow the budget depend on it
    if unit in map(key_of, overrides) and get_value(settings, unit) != get_value(config, unit):
        raise Refused(f"{unit}: {RESUME_RULE}")
    _, manifest = read_folder(folder)
    first_budget = manifest.get("budget", config.get("budget"))
    requested = resolved({**settings, "budget": first_budget})
    for override in overrides:
        key = key_of(override)
        key = "names.experiment" if key == "experiment" else key
        value = get_value(settings, key)
        if key.partition(".")[0] in CHANGEABLE:
            if value is MISSING:
                raise Refused(f"{key}: missing; give {key}=…")
            set_value(config, key, value)
        elif value is MISSING or get_value(requested, key) != get_value(config, key):
            raise Refused(f"{key.removeprefix('names.')}: {RESUME_RULE}")
    return config


def resumed_evaluation(request: Composed) -> Any:
    """Return the requested evaluation, which may refer to settings of the resumed run.

    Raises:
        Refused: if that can't be read.
    """
    config = read_config(Path(str(request.settings["resume"])), "resume")
    given = set(map(key_of, request.overrides))
    root = {key for key, value in config.items() if not isinstance(value, dict)} - given
    return plain(request.settings | {key: config[key] for key in root})["evaluation"]


def first_difference(one: Any, other: Any, key: str = "") -> str | None:
    """Return the dotted path of the first setting that differs; None if all are the same."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return None if one == other else key
    for name in sorted(one.keys() | other.keys(), key=str):
        path = f"{key}.{name}" if key else str(name)
        if found := first_difference(one.get(name), other.get(name), path):
            return found
    return None


def get_value(tree: Any, key: str) -> Any:
    """Return the value of a dotted key, MISSING if there is none."""
    for part in key.split("."):
        tree = tree.get(part, MISSING) if isinstance(tree, dict) else MISSING
    return tree


def set_value(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of a dotted key."""
    *above, last = key.split(".")
    for part in above:
        tree = tree.setdefault(part, {})
    tree[last] = value
