"""Comparison of groups of runs of one game: text, Markdown, and records for CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poker_rl.config.validation import ConfigError, NonNegativeFloat
from poker_rl.evaluation.plots.plotting import format_step_count
from poker_rl.evaluation.result import format_number
from poker_rl.reports.rendering import (
    TextRows,
    TextTable,
    escape_markdown,
    format_markdown_table,
    format_text,
    wrap_line,
)
from poker_rl.reports.run_data import SECONDS_TAG, RunData
from poker_rl.reports.run_groups import (
    RunGroup,
    format_setting,
    group_runs,
    list_differing_keys,
    shorten_key,
)

TEXT_SUFFIXES, IMAGE_SUFFIXES = (".md", ".csv", ".json"), (".png", ".svg")


@dataclass(kw_only=True, frozen=True)
class CompareConfig:
    """Settings of `poker-rl compare`."""

    tags: list[str] | None = None
    x_value: NonNegativeFloat | None = None
    x_axis: Literal["decisions", "hands", "updates", "iterations", "seconds"] = "decisions"
    unfinished: bool = False
    out: str | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.tags == []:
            raise ConfigError("tags: is empty; tags=null compares the headline measures")
        allowed_suffixes = (*TEXT_SUFFIXES, *IMAGE_SUFFIXES)
        if self.out is not None and Path(self.out).suffix not in allowed_suffixes:
            raise ConfigError(f"out: {self.out} ends in none of {', '.join(allowed_suffixes)}")


class Comparison:
    """Means over seeds of the groups of runs of one game.

    Attributes:
        measures: tags, or measures of each run's headline player.
    """

    def __init__(self, runs: Sequence[RunData], config: CompareConfig) -> None:
        self.game, self.config = runs[0].game_name, config
        self.x_axis, self.x_value = config.x_axis, config.x_value
        self.groups = group_runs(runs, self._is_counted)
        measures = [name for run in runs for name in run.headline_measures]
        if config.tags is not None:
            measures = [
                name
                for name in config.tags
                if any(run.resolve_tag(name) in run.curves for run in runs)
            ]
        self.measures = list(dict.fromkeys(measures))
        if not self.measures:
            missing_text = "the requested tags" if config.tags else "any measurement"
            raise ConfigError(
                f"{runs[0].folder}: no run of {self.game} has recorded {missing_text}"
            )

    def _is_counted(self, run: RunData) -> bool:
        if not run.curves:
            return False
        if self.x_value is not None:
            return run.get_last_x(self.x_axis) >= self.x_value
        return run.is_finished or self.config.unfinished

    def _list_values(self, group: RunGroup, measure: str) -> list[float]:
        values = (run.get_value(measure, self.x_axis, self.x_value) for run in group.counted_runs)
        return [value for value in values if value is not None]

    def compute_mean_progress(self, group: RunGroup) -> float | None:
        """Return the mean axis position of the rows at which the counted runs are compared."""
        positions = self._list_positions(group)
        return float(np.mean(positions)) if positions else None

    def compute_mean_minutes(self, group: RunGroup) -> float | None:
        """Return the mean training time of the counted runs up to the compared rows."""
        seconds = self._list_values(group, SECONDS_TAG)
        return float(np.mean(seconds)) / 60 if seconds else None

    def _list_positions(self, group: RunGroup) -> list[float]:
        """Return the position of each counted run's last row at or before `x_value`."""
        positions = []
        for run in group.counted_runs:
            x_values = np.concatenate(
                [run.get_points(measure, self.x_axis)[0] for measure in self.measures]
            )
            if self.x_value is not None:
                x_values = x_values[x_values <= self.x_value]
            positions += [float(x_values.max())] if len(x_values) else []
        return positions

    @property
    def title(self) -> str:
        """The heading of the table."""
        figures = "final figures"
        if self.x_value is not None:
            figures = f"figures at {self.x_value:,.0f} {self.x_axis}"
        return f"{self.game}: {figures}, mean ± half the 95 % interval over seeds (Student)"

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """A record for each group and measure, for tables, CSV and JSON."""
        keys, records = list_differing_keys([group.config for group in self.groups]), []
        for group in self.groups:
            settings = {
                f"settings/{shorten_key(key)}": format_setting(group.config, key) for key in keys
            }
            for measure in self.measures:
                values = self._list_values(group, measure)
                mean, half_width = summarize_seeds(values) if values else (None, None)
                units, kinds = (
                    [run.get_measurement_info(measure, field) for run in group.runs]
                    for field in ("unit", "kind")
                )
                record: dict[str, Any] = {
                    "game": self.game,
                    "group": group.label,
                    "player": group.headline_player,
                    "figure": measure,
                    "unit": next(filter(None, units), ""),
                    "kind": next(filter(None, kinds), ""),
                    "mean": mean,
                    "half_width": half_width,
                    "seeds": len(values),
                    "runs": len(group.runs),
                    self.x_axis: self.compute_mean_progress(group),
                    "minutes": self.compute_mean_minutes(group),
                }
                records.append(record | settings)
        return records

    def build_rows(self) -> TextRows:
        """Return the headings and a row for each group."""
        # A measure that is no tag is one of the headline player.
        runs = [run for group in self.groups for run in group.runs]
        shows_player = any(name not in run.curves for name in self.measures for run in runs)
        measure_headings = map(self.format_heading, self.measures)
        headings = ["group", "seeds", *["player"] * shows_player, *measure_headings]
        rows = [[*headings, self.x_axis, "minutes"]]
        for group in self.groups:
            counted, count = len(group.counted_runs), len(group.runs)
            records = [record for record in self.records if record["group"] == group.label]
            progress, minutes = records[0][self.x_axis], records[0]["minutes"]
            rows.append(
                [
                    group.label,
                    str(count) if counted == count else f"{counted} of {count}",
                    *[group.headline_player] * shows_player,
                    *(format_cell(record, counted) for record in records),
                    "-" if progress is None else format_step_count(progress),
                    "-" if minutes is None else f"{minutes:.1f}",
                ]
            )
        return rows

    def format_heading(self, measure: str) -> str:
        """Return a measure with its unit."""
        units = dict.fromkeys(one["unit"] for one in self.records if one["figure"] == measure)
        units_text = " or ".join(filter(None, units))
        return measure.removeprefix("eval/") + (f" ({units_text})" if units_text else "")

    def iterate_notes(self) -> Iterator[str]:
        """Yield notes on runs that do not count in the means, and on machines and versions."""
        for group in self.groups:
            for run in group.runs:
                status = f"{run.status} at {run.get_last_x(self.x_axis):,.0f} {self.x_axis}"
                if run in group.counted_runs:
                    if not run.is_finished:
                        yield f"not finished: {run.folder}, {status}"
                    continue
                if not run.curves:
                    status = f"{run.status}, nothing recorded yet"
                elif self.x_value is not None:
                    status = f"ends at {run.get_last_x(self.x_axis):,.0f} {self.x_axis}"
                yield f"not in the means: {run.folder}, {status}"
            for run in group.superseded_runs:
                yield f"not in the means: {run.folder}, another run of seed {run.seed} counts"
        runs = [run for group in self.groups for run in group.runs]
        machines = dict.fromkeys(run.machine for run in runs)
        yield f"machine{'s' * (len(machines) > 1)}: {' / '.join(machines)}"
        versions_of_package: dict[str, dict[str, None]] = {}
        for run in runs:
            versions = run.manifest.get("versions")
            for package, version in versions.items() if isinstance(versions, dict) else ():
                versions_of_package.setdefault(package, {})[str(version)] = None
        for package, version_set in versions_of_package.items():
            if len(version_set) > 1:
                yield f"versions of {package} differ: {', '.join(version_set)}"

    def format_text(self) -> str:
        """Format the table and notes for the screen, at most 120 columns wide."""
        rows = self.build_rows()
        table = format_text([self.title, TextTable(rows)], [cell for row in rows for cell in row])
        return "\n\n".join([table, "\n".join(map(wrap_line, self.iterate_notes()))])

    def format_markdown(self) -> str:
        """Format a heading, the table, and the notes as a list."""
        notes = "\n".join(f"- {escape_markdown(note)}" for note in self.iterate_notes())
        title = f"## {escape_markdown(self.title)}"
        return f"{title}\n\n{format_markdown_table(self.build_rows())}\n\n{notes}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison and the values of each run as plain data for JSON."""
        runs = [
            {
                "group": group.label,
                "folder": str(run.folder),
                "status": run.status,
                "counted": run in group.counted_runs,
                "values": {
                    measure: run.get_value(measure, self.x_axis, self.x_value)
                    for measure in self.measures
                },
            }
            for group in self.groups
            for run in group.runs
        ]
        notes = list(self.iterate_notes())
        return {"figures": self.records, "runs": runs, "notes": notes}


def format_cell(record: Mapping[str, Any], counted_runs: int) -> str:
    """Return the mean of a record, with the number of its seeds if that is 1 or not all."""
    if record["mean"] is None:
        return "-"
    number, seeds = format_number(record["mean"], record["half_width"]), record["seeds"]
    if seeds == 1:
        return f"{number} (1 seed)"
    return number if seeds == counted_runs else f"{number} ({seeds} seeds)"


@cache
def compute_student_quantile(degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution for a 95 % interval, to six digits.

    With x = sqrt(df) tan(angle), the density of the angle is proportional to cos(angle)^(df - 1),
    which is summed over a fine grid.
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    cumulative_density = np.cumsum(np.cos(angles[:-1] + step / 2) ** (degrees_of_freedom - 1))
    angle = np.interp(0.975, cumulative_density / cumulative_density[-1], angles[1:])
    return float(np.sqrt(degrees_of_freedom) * np.tan(angle))


def summarize_seeds(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of at least one run and half its 95 % t-interval; None for a single run."""
    mean, count = float(np.mean(values)), len(values)
    if count == 1:
        return mean, None
    quantile = compute_student_quantile(count - 1)
    return mean, quantile * float(np.std(values, ddof=1) / np.sqrt(count))
