"""Groups of runs that differ only in their seed; a label says how a group differs from others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poker_rl.config.option_files import normalize_numbers
from poker_rl.reports.run_data import RunData
from poker_rl.storage.run_folder import LOCATION_SETTINGS

# Settings that may differ between the runs of a group.
IGNORED_SETTINGS = {*LOCATION_SETTINGS, "seed", "figures", "threads", "device", "names"}
TARGET_SUFFIX = "._target_"
FOLDER_PATTERN = re.compile(r'[^\s"\[,]+/')
OPTION_GROUPS = ("game", "algo", "net")

FlatConfig = Mapping[str, Any]


@dataclass(frozen=True)
class RunGroup:
    """Runs with the same settings, in the order of seeds.

    Attributes:
        label: the settings that differ from those of other groups.
        counted_runs: those of `runs` that count in means, at most one for each seed.
        color: color of the group in figures; None if its label determines it.
    """

    label: str
    config: FlatConfig
    runs: Sequence[RunData]
    counted_runs: Sequence[RunData]
    color: str | None = None

    @property
    def headline_player(self) -> str:
        """The headline player; "-" if no run has been evaluated."""
        return next((run.headline_player for run in self.runs if run.headline_player), "-")

    def get_measurement_field(self, name: str, field: str) -> str:
        """Return the field "unit" or "kind" of a tag or measure; "" if no run has it."""
        values = (run.get_measurement_field(name, field) for run in self.runs)
        return next(filter(None, values), "")


def flatten_run_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by which runs are grouped, by dotted key: without seed and folders."""
    names = {key: config["names"].get(key) for key in OPTION_GROUPS}
    compared_config = {key: value for key, value in config.items() if key not in IGNORED_SETTINGS}
    options = {key: name for key, name in names.items() if name is not None}
    return options | dict(iterate_flat_config(compared_config))


def iterate_flat_config(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values of nested settings; classes are named without their module."""
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from iterate_flat_config(value, f"{key}.")
        elif name == "_target_":
            yield key, str(value).rpartition(".")[2]
        else:
            yield key, value


def group_runs(runs: Sequence[RunData], is_counted: Callable[[RunData], bool]) -> list[RunGroup]:
    """Return the groups of runs of one game, in the order of their first runs.

    Runs count in means if `is_counted`; of several with the same seed, the newest finished one.
    """
    runs_by_config: dict[str, list[RunData]] = {}
    for run in runs:
        config = flatten_run_config(run.config)
        # A setting that is null is treated as one that is absent.
        set_values = {key: value for key, value in config.items() if value is not None}
        runs_by_config.setdefault(_encode_comparable(set_values), []).append(run)
    run_lists = list(runs_by_config.values())
    configs = [flatten_run_config(members[0].config) for members in run_lists]
    labels = create_group_labels([members[0].base_label for members in run_lists], configs)
    groups = []
    for label, config, members in zip(labels, configs, run_lists, strict=True):
        members.sort(
            key=lambda run: (run.seed.zfill(20), run.is_finished, str(run.manifest.get("start")))
        )
        counted_by_seed = {run.seed: run for run in members if is_counted(run)}
        groups.append(RunGroup(label, config, members, list(counted_by_seed.values())))
    return groups


def create_group_labels(base_labels: Sequence[str], configs: Sequence[FlatConfig]) -> list[str]:
    """Return a unique label for each group: experiment or algorithm, and settings that differ."""
    labels, counts = [], Counter[str]()
    for base_label, group_config in zip(base_labels, configs, strict=True):
        named_configs = zip(base_labels, configs, strict=True)
        keys = list_differing_keys([config for name, config in named_configs if name == base_label])
        # If runs have different options, such as algo=ppo, the label names only the option.
        option_prefixes = tuple(f"{group}." for group in OPTION_GROUPS if group in keys)
        parts = [base_label] if len(set(base_labels)) > 1 else []
        for key in keys:
            # A config lacks keys such as `lr.end` if its `lr` is a number and not a schedule.
            if key in group_config and not key.startswith(option_prefixes):
                # Of a path, only the name of the file or folder remains.
                value = FOLDER_PATTERN.sub("", format_setting(group_config, key))
                parts.append(f"{shorten_key(key)}={value}")
        label = " ".join(parts) or base_label
        counts[label] += 1
        labels.append(f"{label} ({counts[label]})" if counts[label] > 1 else label)
    return labels


def list_differing_keys(configs: Sequence[FlatConfig]) -> list[str]:
    """Return the keys whose values differ, without horizons of schedules if the budget differs."""
    keys = dict.fromkeys(key for flat_config in configs for key in flat_config)
    differing_keys = [
        key for key in keys if len({_encode_comparable(config.get(key)) for config in configs}) > 1
    ]
    if "budget" in differing_keys:  # horizons of schedules depend on the budget
        return [key for key in differing_keys if not key.endswith(".horizon")]
    return differing_keys


def _encode_comparable(value: Any) -> str:
    return json.dumps(normalize_numbers(value), sort_keys=True, default=str)


def shorten_key(key: str) -> str:
    """Return a key without the prefix `algo.` and the suffix `._target_`."""
    return key.removeprefix("algo.").removesuffix(TARGET_SUFFIX)


def format_setting(config: FlatConfig, key: str) -> str:
    """Return the value of a setting as text."""
    value = config.get(key, "-")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
