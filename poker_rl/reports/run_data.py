"""Find the run folders that a user names, read runs, and group those that differ only in seed."""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.input_checks import MIB, ConfigError, open_regular_file
from poker_rl.config.option_files import convert_whole_floats_to_ints, flatten_dict
from poker_rl.evaluation.plots.run_curves import list_players_and_measures, read_curves
from poker_rl.evaluation.result import Result
from poker_rl.storage.run_files import (
    CONFIG_FILE,
    LOCATION_SETTINGS,
    MANIFEST_FILE,
    METRICS_FILE,
    read_config_and_manifest,
)

MAX_SUMMARY_BYTES = 64 * MIB  # enough for the summary of a sweep with 5,000 jobs
# Settings that may differ between runs of the same group
IGNORED_SETTINGS = {*LOCATION_SETTINGS, "seed", "figures", "threads", "device", "names"}
TARGET_SUFFIX = "._target_"
FOLDER_PATTERN = re.compile(r'[^\s"\[,]+/')  # matches the folders `a/b/` of a path `a/b/c.pt`
OPTION_GROUPS = ("game", "algo", "net")


@dataclass(frozen=True)
class RunData:
    """Data of a run folder: settings, manifest, and metrics.jsonl as an array [rows] for each tag.

    The tag "seconds" stands for "time/elapsed_s". The headline player is the player of the run that
    is expected to be closest to an equilibrium. In methods, `name` is a tag or a measure of the
    headline player, such as "exploitability".
    """

    folder: Path
    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    curves: Mapping[str, np.ndarray]

    @property
    def game_name(self) -> str:
        return str(self.config["names"]["game"])

    @property
    def experiment_or_algo(self) -> str:
        """The name of the run's experiment or, without one, of its algorithm."""
        return str(self.config["names"].get("experiment") or self.config["names"]["algo"])

    @property
    def seed(self) -> str:
        """The seed of training, as text."""
        return str(self.config.get("seed"))

    @property
    def machine(self) -> str:
        """The GPU or else the CPU of the run, and the number of threads, as text."""
        threads = self.config.get("threads", 1)
        processor = self.manifest.get("gpu") or self.manifest.get("cpu") or "unknown"
        return f"{processor}, {threads} thread{'s' * (threads != 1)}"

    @property
    def status(self) -> str:
        """Status of the run, such as "finished", "diverged" or "running or killed"."""
        status = str(self.manifest["status"])
        if status == "failed" and str(self.manifest.get("error", "")).startswith("Diverged"):
            return "diverged"
        return "running or killed" if status == "running" else status

    @cached_property
    def headline_player(self) -> str | None:
        """Name of the headline player, evaluated before the others; None before any evaluation."""
        return next((tag.split("/")[1] for tag in self.curves if tag.startswith("eval/")), None)

    @property
    def headline_measures(self) -> list[str]:
        """The headline player's "exploitability" if recorded, else all its `against/…` measures."""
        measures = list_players_and_measures(self.curves)
        own = [measure for player, measure in measures if player == self.headline_player]
        return ["exploitability"] if "exploitability" in own else own

    def resolve_tag(self, name: str) -> str:
        """Return `name` if the run has this tag, else the headline player's tag of this measure."""
        return name if name in self.curves else f"eval/{self.headline_player}/{name}"

    def has_recorded(self, name: str) -> bool:
        """Return whether metrics.jsonl has the tag or measure `name`."""
        return self.resolve_tag(name) in self.curves

    def get_unit_and_kind(self, name: str) -> tuple[str, str]:
        """Return unit and kind (such as "exact") of a tag or measure; "" if they are unknown."""
        measurement = self.manifest["measurements"].get(self.resolve_tag(name), {})
        return str(measurement.get("unit", "")), str(measurement.get("kind", ""))

    def get_curve(self, name: str, x_axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of a curve: x values in ascending order, and y values, each [points].

        x is the tag `x_axis`, y the tag or measure `name`. Of rows with equal x, the last counts.
        """
        values, x_values = self.curves.get(self.resolve_tag(name)), self.curves.get(x_axis)
        if values is None or x_values is None:
            return np.zeros(0), np.zeros(0)
        rows = np.flatnonzero(np.isfinite(values) & np.isfinite(x_values))[::-1]
        x_values, last_row = np.unique(x_values[rows], return_index=True)
        return x_values, values[rows[last_row]]

    def get_last_value(self, name: str, x_axis: str, x_value: float | None = None) -> float | None:
        """Return the last value of a tag or measure up to `x_value`; None if there is none."""
        x_values, values = self.get_curve(name, x_axis)
        values = values[x_values <= (np.inf if x_value is None else x_value)]
        return float(values[-1]) if len(values) else None

    def get_last_x(self, x_axis: str) -> float:
        """Return the last value of the tag `x_axis`; 0 if the run has not recorded this tag."""
        return float(self.curves[x_axis][-1]) if x_axis in self.curves else 0.0

    def list_last_results(self) -> list[Result]:
        """Return the last value of each measure of each player, with interval, unit and kind."""
        results = []
        for tag in self.curves:
            value = self.get_last_value(tag, "decisions")
            if tag.startswith("eval/") and not tag.endswith("/half_width") and value is not None:
                _, player, measure = tag.split("/", 2)
                half_width = self.get_last_value(f"{tag}/half_width", "decisions")
                unit, kind = self.get_unit_and_kind(tag)
                results.append(Result(player, measure, value, half_width, unit, kind))
        return results


def read_run(folder: Path) -> RunData:
    """Read a run folder; raise ConfigError if it is no run folder, or its metrics are damaged."""
    config, manifest = read_config_and_manifest(folder)
    names = config.get("names")
    if not isinstance(names, dict) or not {"game", "algo"} <= names.keys():
        raise ConfigError(f"{folder} is no run folder: {CONFIG_FILE} names no game and algorithm")
    curves = read_curves(folder / METRICS_FILE)
    if "time/elapsed_s" in curves:
        curves["seconds"] = curves["time/elapsed_s"]
    return RunData(folder, config, manifest, curves)


def find_run_folders(run_specs: Sequence[str]) -> list[Path]:
    """Return the run folders that a user names by folders, patterns or summaries of sweeps."""
    if not run_specs:
        raise ConfigError("RUN: missing; give run folders, patterns or the summary of a sweep")
    folders: dict[Path, Path] = {}
    for run_spec in run_specs:
        paths = [run_spec] if os.path.exists(run_spec) else sorted(glob(run_spec))
        found = [folder for path in paths for folder in list_run_folders_at(Path(path))]
        if not found:
            raise ConfigError(f"{run_spec}: no run folder matches this or is below it")
        for folder in found:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def list_run_folders_at(path: Path) -> list[Path]:
    """Return the run folders at or below a folder, or those that a sweep's summary file lists."""
    if path.is_file():
        return read_summary_run_folders(path)
    if (path / CONFIG_FILE).exists() or (path / MANIFEST_FILE).exists():
        return [path]
    configs = path.rglob(CONFIG_FILE)
    return sorted(one.parent for one in configs if one.with_name(MANIFEST_FILE).exists())


def read_summary_run_folders(path: Path) -> list[Path]:
    """Return the run folders listed in a sweep's summary, `outputs/sweeps/<sweep>.csv`."""
    try:
        summary = open_regular_file(path, MAX_SUMMARY_BYTES)
        with TextIOWrapper(summary, encoding="utf-8", newline="") as file:
            folders = [Path(row["folder"]) for row in csv.DictReader(file) if row["folder"]]
    except (LookupError, ValueError, TypeError, csv.Error):
        raise ConfigError(f"{path} is neither a run folder nor the summary of a sweep") from None
    # If the user moved `outputs`, only the ends of the listed paths, GAME/ALGO/NAME, are right.
    moved = [path.parent.parent.joinpath(*folder.parts[-3:]) for folder in folders]
    return [new if new.is_dir() else old for new, old in zip(moved, folders, strict=True)]


@dataclass(frozen=True)
class RunGroup:
    """Runs of one game that differ only in `IGNORED_SETTINGS`, such as the seed; sorted by seed."""

    label: str  # the settings that differ from those of other groups, or a name from the user
    config: Mapping[str, Any]  # the settings by dotted key
    runs: Sequence[RunData]
    counted_runs: Sequence[RunData]  # those that count in means, at most one for each seed
    color: str | None = None  # color in figures; None to let the figure choose one

    @property
    def headline_player(self) -> str:
        """Name of the headline player; "-" if no run has been evaluated."""
        return next((run.headline_player for run in self.runs if run.headline_player), "-")


def flatten_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings by dotted key, such as "algo.lr"; classes are named without module."""
    return {
        key: str(value).rpartition(".")[2] if key.endswith(TARGET_SUFFIX) else value
        for key, value in flatten_dict(config).items()
        if value != {}
    }


def group_runs(runs: Sequence[RunData], is_counted: Callable[[RunData], bool]) -> list[RunGroup]:
    """Group runs of one game that differ only in `IGNORED_SETTINGS`, such as the seed.

    The groups have the order of their first runs. Only runs for which `is_counted` returns True
    count in means. If several of them have the same seed, only one counts: the newest finished one
    or, if none has finished, the newest.
    """
    groups: dict[str, tuple[Mapping[str, Any], list[RunData]]] = {}
    for run in runs:
        names = {key: run.config["names"].get(key) for key in OPTION_GROUPS}
        options = {key: name for key, name in names.items() if name is not None}
        compared = {key: value for key, value in run.config.items() if key not in IGNORED_SETTINGS}
        config = options | flatten_config(compared)
        # A setting that is null equals one that is absent.
        set_values = {key: value for key, value in config.items() if value is not None}
        groups.setdefault(_encode_comparable(set_values), (config, []))[1].append(run)
    configs, run_lists = zip(*groups.values(), strict=True)
    labels = create_group_labels([members[0].experiment_or_algo for members in run_lists], configs)
    run_groups = []
    for label, config, members in zip(labels, configs, run_lists, strict=True):
        members.sort(key=lambda run: run.manifest["start"])
        members.sort(key=lambda run: (run.seed.zfill(20), run.status == "finished"))
        counted_by_seed = {run.seed: run for run in members if is_counted(run)}
        run_groups.append(RunGroup(label, config, members, list(counted_by_seed.values())))
    return run_groups


def create_group_labels(
    base_labels: Sequence[str], configs: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return a unique label for each group: its base label and the settings that distinguish it.

    These settings differ between groups with the same base label. If all groups have the same base
    label, it is left out, unless the rest of the label is empty.
    """
    labels, counts = [], Counter[str]()
    for base_label, group_config in zip(base_labels, configs, strict=True):
        named_configs = zip(base_labels, configs, strict=True)
        keys = list_differing_keys([config for name, config in named_configs if name == base_label])
        # If groups differ in an option, such as `algo`, labels omit its settings, such as algo.lr.
        option_prefixes = tuple(f"{group}." for group in OPTION_GROUPS if group in keys)
        parts = [base_label] if len(set(base_labels)) > 1 else []
        for key in keys:
            # A config lacks keys such as `lr.end` if its `lr` is a number and not a schedule.
            if key not in group_config or key.startswith(option_prefixes):
                continue
            value = FOLDER_PATTERN.sub("", format_setting_value(group_config[key]))
            if key != "warm_start":
                parts.append(f"{shorten_setting_key(key)}={value}")
            elif group_config[key] is not None:
                parts.append(f"from {value.partition('@')[0]}")
        label = " ".join(parts) or base_label
        counts[label] += 1
        labels.append(f"{label} ({counts[label]})" if counts[label] > 1 else label)
    return labels


def list_differing_keys(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys whose values differ; omit horizons of schedules if the budget differs."""
    keys = dict.fromkeys(key for flat_config in configs for key in flat_config)
    values = {key: {_encode_comparable(config.get(key)) for config in configs} for key in keys}
    differing_keys = [key for key in keys if len(values[key]) > 1]
    # Horizons often are shares of the budget, and then differ only because the budget differs.
    omitted_suffix = ".horizon" if "budget" in differing_keys else ()
    return [key for key in differing_keys if not key.endswith(omitted_suffix)]


def _encode_comparable(value: Any) -> str:
    return json.dumps(convert_whole_floats_to_ints(value), sort_keys=True, default=str)


def shorten_setting_key(key: str) -> str:
    """Return a dotted key without the prefix `algo.` and the suffix `._target_`."""
    return key.removeprefix("algo.").removesuffix(TARGET_SUFFIX)


def format_setting_value(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
