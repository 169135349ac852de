"""Runs that differ in their seed alone as groups, and what sets the groups apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poker_rl.config.options import alike
from poker_rl.reports.trained import Trained
from poker_rl.storage.folder import PLACE

# Settings that runs of one group may differ in: they change nothing that a run is about.
ASIDE = {*PLACE, "seed", "figures", "threads", "device", "names"}
ABSENT = "-"
CLASS = "._target_"
PARTS = ("game", "algo", "net")  # settings that are a file of many others

Flat = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """Runs of the same settings, one a seed, the lowest seed first."""

    label: str  # what sets it apart from the groups beside it
    settings: Flat
    runs: Sequence[Trained]
    repeated: Sequence[Trained]  # other runs of these seeds: older ones, or not finished


def flat(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was asked to do, by dotted key; seed and places aside."""
    names = {key: cfg["names"].get(key) for key in ("game", "algo", "net")}
    told = {key: value for key, value in cfg.items() if key not in ASIDE}
    return {
        **{key: name for key, name in names.items() if name is not None},
        **dict(flattened(told)),
    }


def flattened(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree by dotted key, of a class its own name."""
    for name, value in node.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flattened(value, f"{key}.")
        elif name == "_target_":
            yield key, str(value).rpartition(".")[2]  # modules move from version to version
        else:
            yield key, value


def _finished(run: Trained) -> bool:
    return run.finished


def grouped(runs: Sequence[Trained], counts: Callable[[Trained], bool] = _finished) -> list[Group]:
    """Groups in the order in which their first runs come; all runs are of one game.

    Args:
        counts: whether a run is in the means: of a seed's runs the newest is kept that is.
    """
    by_settings: dict[str, list[Trained]] = {}
    for run in runs:
        # Runs of earlier versions lack settings that are new; null leaves those out, too.
        told = {key: alike(value) for key, value in flat(run.cfg).items() if value is not None}
        same = json.dumps(told, sort_keys=True, default=str)
        by_settings.setdefault(same, []).append(run)
    parts = list(by_settings.values())
    settings = [flat(part[0].cfg) for part in parts]
    heads = [head_of(part[0]) for part in parts]
    groups = []
    for label, own, part in zip(labels(heads, settings), settings, parts, strict=True):
        newest: dict[Any, Trained] = {}
        for run in sorted(part, key=lambda run: (counts(run), run.finished, start_of(run))):
            newest[run.cfg.get("seed")] = run
        kept = sorted(newest.values(), key=lambda run: str(run.cfg.get("seed")).zfill(20))
        groups.append(Group(label, own, kept, [run for run in part if run not in kept]))
    return groups


def start_of(run: Trained) -> str:
    """When it began, in words that sort by time."""
    return str(run.manifest.get("start"))


def head_of(run: Trained) -> str:
    """What a run is first known by: its experiment, else its algorithm."""
    names = run.cfg["names"]
    return str(names.get("experiment") or names["algo"])


def labels(heads: Sequence[str], settings: Sequence[Flat]) -> list[str]:
    """A name of its own for each group: its head, and what differs from others of that head."""
    several, found = len(set(heads)) > 1, []
    for head, own in zip(heads, settings, strict=True):
        alike = [other for name, other in zip(heads, settings, strict=True) if name == head]
        keys = _telling(differing(alike))
        words = [head] if several or not keys else []
        told = [key for key in keys if not _said_otherwise(own, key)]
        found.append(" ".join(words + [f"{shown_key(key)}={shown(own, key)}" for key in told]))
    seen: Counter[str] = Counter()
    for place, label in enumerate(found):
        seen[label] += 1
        if seen[label] > 1:
            found[place] = f"{label} ({seen[label]})"
    return found


def differing(settings: Sequence[Flat]) -> list[str]:
    """The keys that not all have the same value of. A horizon that follows the budget is no
    difference of its own."""
    keys = dict.fromkeys(key for one in settings for key in one)
    return [key for key in keys if len({_comparable(one, key) for one in settings}) > 1]


def _comparable(settings: Flat, key: str) -> str:
    value: Any = settings.get(key)  # what is absent is as null
    budget = settings.get("budget")
    follows = key.endswith(".horizon") and isinstance(value, float) and value > 1
    if follows and isinstance(budget, int) and budget > 0:
        share = value / budget
        value = round(share, 6) if share <= 1 else value
    return json.dumps(alike(value), sort_keys=True, default=str)


def _telling(keys: Sequence[str]) -> list[str]:
    """The keys that tell groups apart in few words: of another network its name alone."""
    parts = [part for part in PARTS if part in keys]
    return [key for key in keys if not any(key.startswith(f"{part}.") for part in parts)]


def _said_otherwise(settings: Flat, key: str) -> bool:
    """Whether a key is absent since its setting has another form: a number, or a schedule."""
    if key in settings:
        return False
    number = key.rpartition(".")[0]
    return (number in settings and number not in PARTS) or any(
        other.startswith(f"{key}.") for other in settings
    )


def shown_key(key: str) -> str:
    """A key as people write it."""
    return key.removeprefix("algo.").removesuffix(CLASS)


def shown(settings: Flat, key: str) -> str:
    """A value as people write it."""
    value = settings.get(key, ABSENT)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
