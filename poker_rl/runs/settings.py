"""The settings of a run's folder, and of a run that goes on: its own, and what is given anew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.horizons import resolved
from poker_rl.config.options import key_of, plain
from poker_rl.config.settings import Refused
from poker_rl.runs.resume import KEEPS, MAY_CHANGE
from poker_rl.storage.folder import CONFIG, PLACE, read_folder

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

GROUPS = ("game", "algo", "evaluation")
NEEDED = (*GROUPS, "names")  # of a run; `names` is made of its choices
ABSENT = object()


def resumed(folder: Path, settings: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of a run folder, with what is given anew of those that may change.

    Raises:
        Refused: if it is no run folder, or anything else is given with another value.
    """
    # Runs of earlier versions lack settings that are new and change nothing of what is learnt.
    own, may_lack = settings_of(folder, "resume"), MAY_CHANGE | PLACE | {"warm_start"}
    lacking = {key: settings[key] for key in settings if key in may_lack - own.keys()}
    kept = own | lacking | {"resume": settings["resume"]}
    unit = "budget_unit"  # told first: horizons that follow the budget could not be resolved
    if unit in map(key_of, overrides) and at(settings, unit) != at(kept, unit):
        raise Refused(f"{unit}: {KEEPS}")
    _, manifest = read_folder(folder)
    first = manifest.get("budget", kept.get("budget"))  # which a run may have been given more than
    asked = resolved({**settings, "budget": first})
    for override in overrides:
        key = key_of(override)
        key = "names.experiment" if key == "experiment" else key
        value = at(settings, key)
        may_change = key.partition(".")[0] in MAY_CHANGE
        if may_change and value is ABSENT:
            raise Refused(f"{key}: missing; give {key}=…")
        if may_change:
            put(kept, key, value)
        elif value is ABSENT or at(asked, key) != at(kept, key):
            raise Refused(f"{key.removeprefix('names.')}: {KEEPS}")
    return kept


def settings_of(folder: Path, key: str) -> dict[str, Any]:
    """The settings of a run folder that was given as `key`.

    Raises:
        Refused: if it is none.
    """
    try:
        settings, _ = read_folder(folder)
    except Refused as error:
        run = re.split("[@:]", str(folder))[0]  # of RUN@300000:current, which may be meant
        meant = run != str(folder) and Path(run).is_dir()
        alone = f"; {key} takes a folder alone, such as {run}" if meant else ""
        raise Refused(f"{key}: {error}{alone}") from None
    for part in NEEDED:
        if not isinstance(settings.get(part), dict):
            raise Refused(f"{key}: {folder / CONFIG} has no {part}")
    return settings


def at(tree: Any, key: str) -> Any:
    """The value of a dotted key, ABSENT if there is none."""
    for part in key.split("."):
        tree = tree.get(part, ABSENT) if isinstance(tree, dict) else ABSENT
    return tree


def put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of a dotted key."""
    *above, last = key.split(".")
    for part in above:
        tree = tree.setdefault(part, {})
    tree[last] = value


def evaluation_of_run(asked: Composed) -> Any:
    """The evaluation that a command asks for, which may refer to settings of the resumed run.

    Raises:
        Refused: if that can't be read.
    """
    kept = settings_of(Path(str(asked.settings["resume"])), "resume")
    given = set(map(key_of, asked.overrides))
    own = {key for key, value in kept.items() if not isinstance(value, dict)} - given
    return plain(asked.settings | {key: kept[key] for key in own})["evaluation"]
