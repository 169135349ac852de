"""What a run folder has to hold for the run to go on, and words on what is not as it was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.settings import Refused
from poker_rl.storage import checkpoint
from poker_rl.storage.disk import demand_file, demand_folder, demand_own
from poker_rl.storage.folder import CONFIG, FIGURES, MANIFEST, METRICS, PLACE, completed

# What a resumed run may do differently: how long it goes on, what is looked at on the way and drawn
# at the end, what it computes on, how many threads it takes and how exactly they compute.
MAY_CHANGE = {
    "budget",
    "evaluate_every",
    "checkpoint_every",
    "evaluation",
    "figures",
    "device",
    "threads",
    "precision",
}
LARGEST = 2**64  # that a counter can't reach
KEEPS = f"a resumed run keeps its settings, only {', '.join(sorted(MAY_CHANGE))} may change"


def kept(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that stay what they were when the run began."""
    return {key: value for key, value in cfg.items() if key not in MAY_CHANGE | PLACE}


def demand_run(folder: Path) -> None:
    """Refuse what is of the wrong kind in a run folder, before anything is written there.

    Raises:
        Refused: naming it.
    """
    for name in (CONFIG, MANIFEST, METRICS, checkpoint.STATE):
        demand_file(folder / name)
    for name in (checkpoint.PLAYERS, FIGURES):
        demand_folder(folder / name)
    demand_own(folder)
    if (folder / checkpoint.STATE).exists() and not (folder / METRICS).exists():
        raise Refused(f"{folder / METRICS}: no such file, and there is a checkpoint")


def demand_kept(cfg: Mapping[str, Any], state: Mapping[str, Any], path: Path) -> None:
    """Refuse settings that were edited by hand since the checkpoint at `path`.

    Raises:
        Refused: naming the first.
    """
    # Earlier versions did not write down what they were trained with, or more than is kept now.
    if key := differing(cfg, kept(completed(state.get("settings", cfg)))):
        config = path.parent / CONFIG
        raise Refused(f"{key}: {config} is not what {path.name} was trained with; {KEEPS}")


def differing(one: Any, other: Any, key: str = "") -> str | None:
    """The dotted path of the first setting that differs, None if all are the same."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return None if one == other else key
    for name in sorted(one.keys() | other.keys(), key=str):
        found = differing(one.get(name), other.get(name), f"{key}.{name}" if key else str(name))
        if found is not None:
            return found
    return None


def demand_fit(state: Mapping[str, Any], expected: Mapping[str, Any], path: Path) -> None:
    """Refuse a part of a checkpoint that lacks a value or holds one of another kind or range.

    Args:
        expected: parts as a run that has just begun would save them.

    Raises:
        Refused: naming the first.
    """
    for part, values in expected.items():
        lacking = [f"{part}.{key}" for key in values if key not in state[part]]
        wrong = lacking[0] if lacking else misfit(state[part], values, part)
        if wrong is not None:
            what = "is missing" if lacking else "is of another kind, or out of range"
            raise Refused(f"{path} does not fit the settings of this run: {wrong} {what}")


def misfit(found: Any, expected: Any, key: str) -> str | None:
    """The dotted path of the first value of another kind than expected, None if all fit.

    A kind is that of a plain value, or a tensor's data type. What only one side holds is not
    compared: it may have come later, as the moments of an optimiser do. Integers count something,
    and are not below 0; generators, whose numbers are larger, check their own.
    """
    if expected is None:
        return None
    if isinstance(found, dict) and isinstance(expected, dict):
        pairs = [(name, found[name], expected[name]) for name in expected if name in found]
    elif isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        pairs = [(n, *both) for n, both in enumerate(zip(found, expected, strict=False))]
    elif isinstance(found, torch.Tensor) and isinstance(expected, torch.Tensor):
        return None if found.dtype == expected.dtype else key
    elif isinstance(expected, float) and type(found) is int:
        return None
    elif type(found) is type(expected) is int:
        return None if 0 <= found < LARGEST or found == expected or expected >= LARGEST else key
    else:
        return None if type(found) is type(expected) else key
    for name, one, other in pairs:
        if wrong := misfit(one, other, f"{key}.{name}"):
            return wrong
    return None
