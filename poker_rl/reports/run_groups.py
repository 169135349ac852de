"""Groups of runs that differ only in their seeds, labelled by what differs between groups."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from poker_rl.config.option_files import normalize_numbers
from poker_rl.reports.run_data import RunData
from poker_rl.storage.run_folder import LOCATION_SETTINGS

# Settings that may differ within a group.
IGNORED_SETTINGS = {*LOCATION_SETTINGS, "seed", "figures", "threads", "device", "names"}
ABSENT_TEXT = "-"
TARGET_SUFFIX = "._target_"
OPTION_GROUPS = ("game", "algo", "net")  # each names a file of many settings

FlatConfig = Mapping[str, Any]


@dataclass(frozen=True)
class RunGroup:
    """Runs with the same settings, one for each seed, in the order of seeds.

    Attributes:
        label: names the group by the settings that differ from those of other groups.
        superseded_runs: further runs with these seeds that do not count, such as older ones.
    """

    label: str
    config: FlatConfig
    runs: Sequence[RunData]
    superseded_runs: Sequence[RunData]


def flatten_run_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return, by dotted key, the settings that define a run, without seed and locations."""
    names = {key: config["names"].get(key) for key in ("game", "algo", "net")}
    compared_config = {key: value for key, value in config.items() if key not in IGNORED_SETTINGS}
    return {
        **{key: name for key, name in names.items() if name is not None},
        **dict(iterate_flat_config(compared_config)),
    }


def iterate_flat_config(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values of nested settings; classes lose the names of their modules."""
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from iterate_flat_config(value, f"{key}.")
        elif name == "_target_":
            yield key, str(value).rpartition(".")[2]
        else:
            yield key, value


def group_runs(
    runs: Sequence[RunData], is_counted: Callable[[RunData], bool] = attrgetter("is_finished")
) -> list[RunGroup]:
    """Return the groups of runs of one game, in the order of their first runs.

    Args:
        is_counted: tells whether a run counts in means. Of several runs with the same seed, the
            newest one that counts is in the group.
    """
    runs_by_config: dict[str, list[RunData]] = {}
    for run in runs:
        # An absent setting is the same as null.
        comparable_config = {
            key: normalize_numbers(value)
            for key, value in flatten_run_config(run.config).items()
            if value is not None
        }
        config_key = json.dumps(comparable_config, sort_keys=True, default=str)
        runs_by_config.setdefault(config_key, []).append(run)
    run_lists = list(runs_by_config.values())
    configs = [flatten_run_config(members[0].config) for members in run_lists]
    base_labels = [get_base_label(members[0]) for members in run_lists]
    groups = []
    for label, config, members in zip(
        create_group_labels(base_labels, configs), configs, run_lists, strict=True
    ):
        # The last run of a seed in this order is the one that stays.
        members_by_priority = sorted(
            members, key=lambda run: (is_counted(run), run.is_finished, get_start_time(run))
        )
        run_by_seed = {run.config.get("seed"): run for run in members_by_priority}
        kept = sorted(run_by_seed.values(), key=lambda run: str(run.config.get("seed")).zfill(20))
        groups.append(RunGroup(label, config, kept, [run for run in members if run not in kept]))
    return groups


def get_start_time(run: RunData) -> str:
    """Return the start time as text that sorts by time."""
    return str(run.manifest.get("start"))


def get_base_label(run: RunData) -> str:
    """Return the name of a run's experiment or, without one, of its algorithm."""
    names = run.config["names"]
    return str(names.get("experiment") or names["algo"])


def create_group_labels(base_labels: Sequence[str], configs: Sequence[FlatConfig]) -> list[str]:
    """Return a unique label for each group: its base label and the settings that differ."""
    has_several_bases, group_labels = len(set(base_labels)) > 1, []
    for base_label, group_config in zip(base_labels, configs, strict=True):
        similar_configs = [
            config for name, config in zip(base_labels, configs, strict=True) if name == base_label
        ]
        keys = _select_distinguishing_keys(list_differing_keys(similar_configs))
        parts = [base_label] if has_several_bases or not keys else []
        parts += [
            f"{shorten_key(key)}={format_setting(group_config, key)}"
            for key in keys
            if not _has_other_form(group_config, key)
        ]
        group_labels.append(" ".join(parts))
    label_counts: Counter[str] = Counter()
    for index, label in enumerate(group_labels):
        label_counts[label] += 1
        if label_counts[label] > 1:
            group_labels[index] = f"{label} ({label_counts[label]})"
    return group_labels


def list_differing_keys(configs: Sequence[FlatConfig]) -> list[str]:
    """Return the keys whose values differ, except horizons that follow the budget."""
    keys = dict.fromkeys(key for flat_config in configs for key in flat_config)
    return [
        key
        for key in keys
        if len({_encode_comparable_value(config, key) for config in configs}) > 1
    ]


def _encode_comparable_value(config: FlatConfig, key: str) -> str:
    value: Any = config.get(key)  # an absent setting is the same as null
    budget = config.get("budget")
    follows_budget = key.endswith(".horizon") and isinstance(value, float) and value > 1
    if follows_budget and isinstance(budget, int) and budget > 0:
        budget_share = value / budget
        value = round(budget_share, 6) if budget_share <= 1 else value
    return json.dumps(normalize_numbers(value), sort_keys=True, default=str)


def _select_distinguishing_keys(keys: Sequence[str]) -> list[str]:
    """Return the keys for labels, without those inside an option group whose name differs."""
    differing_groups = [part for part in OPTION_GROUPS if part in keys]
    return [key for key in keys if not any(key.startswith(f"{part}.") for part in differing_groups)]


def _has_other_form(config: FlatConfig, key: str) -> bool:
    """Return whether a key is absent because its setting is a number instead of a schedule."""
    if key in config:
        return False
    parent_key = key.rpartition(".")[0]
    return (parent_key in config and parent_key not in OPTION_GROUPS) or any(
        other.startswith(f"{key}.") for other in config
    )


def shorten_key(key: str) -> str:
    """Return a key without the prefix `algo.` and the suffix `._target_`."""
    return key.removeprefix("algo.").removesuffix(TARGET_SUFFIX)


def format_setting(config: FlatConfig, key: str) -> str:
    """Return the value of a setting as text."""
    value = config.get(key, ABSENT_TEXT)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
