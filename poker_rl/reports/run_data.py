"""Find the run folders that a user named by paths, patterns or sweeps, and read their data."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.validation import MIB, ConfigError, open_regular_file
from poker_rl.evaluation.plots.result_figures import AGAINST_TAG_PATTERN, COUNTER_TAGS, read_curves
from poker_rl.evaluation.result import Result
from poker_rl.storage.run_folder import CONFIG_FILE, MANIFEST_FILE, METRICS_FILE, read_run_folder

MAX_SUMMARY_BYTES = 64 * MIB  # enough for the summary of a sweep with 5,000 jobs
SECONDS_TAG = "time/elapsed_s"  # tag of the training time, which includes the time before a resume
TAG_OF_AXIS = {unit: unit for unit in COUNTER_TAGS} | {"seconds": SECONDS_TAG}


@dataclass(frozen=True)
class RunData:
    """Data of a run folder: settings, manifest, and metrics.jsonl as an array [rows] for each tag.

    The headline player is the one that the algorithm expects to be closest to an equilibrium.
    """

    folder: Path
    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    curves: Mapping[str, np.ndarray]

    @property
    def game_name(self) -> str:
        """The name of the run's game."""
        return str(self.config["names"]["game"])

    @property
    def base_label(self) -> str:
        """The name of the run's experiment or, without one, of its algorithm."""
        return str(self.config["names"].get("experiment") or self.config["names"]["algo"])

    @property
    def seed(self) -> str:
        """The seed as text."""
        return str(self.config.get("seed"))

    @property
    def machine(self) -> str:
        """The GPU or CPU and the number of threads."""
        threads = self.config.get("threads", 1)
        processor = self.manifest.get("gpu") or self.manifest.get("cpu") or "unknown"
        return f"{processor}, {threads} thread{'s' * (threads != 1)}"

    @property
    def status(self) -> str:
        """Status of the run, such as "finished", "diverged" or "running or killed"."""
        status = str(self.manifest["status"])
        if status == "running":
            return "running or killed"
        diverged = str(self.manifest.get("error", "")).startswith("Diverged")
        return "diverged" if status == "failed" and diverged else status

    @property
    def is_finished(self) -> bool:
        """Return whether the run has spent its budget."""
        return bool(self.manifest["status"] == "finished")

    @cached_property
    def headline_player(self) -> str | None:
        """The headline player, which is evaluated first; None before the first evaluation."""
        tags = (tag for tag in self.curves if tag.startswith("eval/"))
        return next((tag.split("/")[1] for tag in tags), None)

    @property
    def headline_measures(self) -> list[str]:
        """The headline player's exploitability, or else its `against/<opponent>` measures."""
        tag_prefix = f"eval/{self.headline_player}/"
        if f"{tag_prefix}exploitability" in self.curves:
            return ["exploitability"]
        tags = [tag for tag in self.curves if tag.startswith(tag_prefix)]
        matches = [(tag, AGAINST_TAG_PATTERN.fullmatch(tag)) for tag in tags]
        return [tag.removeprefix(tag_prefix) for tag, match in matches if match and not match[2]]

    def resolve_tag(self, name: str) -> str:
        """Return the headline player's tag of a measure; a name that is a tag is unchanged."""
        return name if name in self.curves else f"eval/{self.headline_player}/{name}"

    def has_recorded(self, name: str) -> bool:
        """Return whether metrics.jsonl has this tag, or this measure of the headline player."""
        return self.resolve_tag(name) in self.curves

    def get_measurement_field(self, name: str, field: str) -> str:
        """Return the field "unit" or "kind" of a tag or measure; "" if the manifest lacks it."""
        measurements = self.manifest.get("measurements", {})
        return str(measurements.get(self.resolve_tag(name), {}).get(field, ""))

    def get_curve(self, name: str, x_axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the curve of a tag or measure: ascending x values [N] and the values there [N].

        Of several rows with the same x value, the last one counts.
        """
        values = self.curves.get(self.resolve_tag(name), np.zeros(0))
        x_values = self.curves.get(TAG_OF_AXIS[x_axis], np.zeros(0))
        if not len(values) or not len(x_values):
            return np.zeros(0), np.zeros(0)
        is_recorded = np.isfinite(values) & np.isfinite(x_values)
        x_values, last_row = np.unique(x_values[is_recorded][::-1], return_index=True)
        return x_values, values[is_recorded][::-1][last_row]

    def get_value(self, name: str, x_axis: str, x_value: float | None = None) -> float | None:
        """Return the last value of a tag or measure up to `x_value`; None if there is none."""
        x_values, values = self.get_curve(name, x_axis)
        if x_value is not None:
            values = values[x_values <= x_value]
        return float(values[-1]) if len(values) else None

    def get_last_x(self, x_axis: str) -> float:
        """Return the x value of the last row."""
        x_values = self.curves.get(TAG_OF_AXIS[x_axis], np.zeros(0))
        return float(x_values[-1]) if len(x_values) else 0.0

    def list_last_results(self) -> list[Result]:
        """Return the last result of each measure of each player."""
        results = []
        for tag in self.curves:
            value = self.get_value(tag, "decisions")
            if tag.startswith("eval/") and not tag.endswith("/half_width") and value is not None:
                _, player, measure = tag.split("/", 2)
                half_width = self.get_value(f"{tag}/half_width", "decisions")
                unit, kind = (self.get_measurement_field(tag, field) for field in ("unit", "kind"))
                results.append(Result(player, measure, value, half_width, unit, kind))
        return results


def read_run(folder: Path) -> RunData:
    """Read a run folder; raise `ConfigError` if it is not one, or its metrics are damaged."""
    config, manifest = read_run_folder(folder)
    names = config.get("names")
    if not isinstance(names, dict) or not {"game", "algo"} <= names.keys():
        raise ConfigError(
            f"{folder} is no run folder: {CONFIG_FILE} does not name game and algorithm"
        )
    return RunData(folder, config, manifest, read_curves(folder / METRICS_FILE))


def find_run_folders(run_specs: Sequence[str]) -> list[Path]:
    """Return the run folders that names of folders, patterns and summaries of sweeps denote."""
    if not run_specs:
        raise ConfigError(
            "RUN: missing; give run folders, patterns such as 'outputs/leduc/*/*', or"
            " the summary of a sweep"
        )
    folders: dict[Path, Path] = {}
    for run_spec in run_specs:
        paths = [run_spec] if os.path.exists(run_spec) else sorted(glob(run_spec))
        found = [folder for path in paths for folder in list_runs_at(Path(path))]
        if not found:
            raise ConfigError(f"{run_spec}: no run folder matches this or is below it")
        for folder in found:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def list_runs_at(path: Path) -> list[Path]:
    """Return the run folders at or below a path, or in the sweep's summary at this path."""
    if path.is_file():
        return read_sweep_summary(path)
    if (path / CONFIG_FILE).exists() or (path / MANIFEST_FILE).exists():
        return [path]
    return sorted(
        one.parent for one in path.rglob(CONFIG_FILE) if one.with_name(MANIFEST_FILE).exists()
    )


def read_sweep_summary(path: Path) -> list[Path]:
    """Return the run folders listed in a sweep's summary, `outputs/sweeps/<sweep>.csv`."""
    try:
        summary = open_regular_file(path, MAX_SUMMARY_BYTES)
        with TextIOWrapper(summary, encoding="utf-8", newline="") as file:
            folders = [Path(row["folder"]) for row in csv.DictReader(file) if row["folder"]]
    except (LookupError, ValueError, TypeError, csv.Error):
        raise ConfigError(f"{path} is neither a run folder nor the summary of a sweep") from None
    # If `outputs` was moved, the path relative to the summary is still right.
    moved = [path.parent.parent.joinpath(*folder.parts[-3:]) for folder in folders]
    return [new if new.is_dir() else old for new, old in zip(moved, folders, strict=True)]
