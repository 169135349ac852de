"""Comparison of groups of runs of one game: text, Markdown, and records for CSV and JSON."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from matplotlib.colors import is_color_like

from poker_rl.config.input_checks import ConfigError, NonNegativeFloat, Range
from poker_rl.evaluation.plots.plotting import CurveLine, format_short_number
from poker_rl.evaluation.result import format_number
from poker_rl.reports.run_data import (
    RunData,
    RunGroup,
    format_setting_value,
    group_runs,
    list_differing_keys,
    shorten_setting_key,
)
from poker_rl.reports.seed_statistics import Band, Statistic, average_curves, estimate_with_interval
from poker_rl.reports.table_formats import (
    TextRows,
    TextTable,
    escape_markdown,
    format_for_terminal,
    format_markdown_table,
)

FigureSize = Annotated[float, Range(1, 100)]  # inches
TEXT_SUFFIXES, IMAGE_SUFFIXES = (".md", ".csv", ".json"), (".pdf", ".svg", ".png", ".pgf")


@dataclass(kw_only=True, frozen=True)
class CompareConfig:
    """Settings of `poker-rl compare`; conf/compare.yaml explains them."""

    tags: list[str] | None = None
    x_value: NonNegativeFloat | None = None
    x_axis: Literal["decisions", "hands", "updates", "iterations", "seconds"] = "decisions"
    unfinished: bool = False
    statistic: Statistic = "mean"
    out: str | None = None
    curves: str | None = None
    overwrite: bool = False
    profile: bool = False
    band: Band = "interval"
    title: str | None = None
    labels: list[str] | None = None
    colors: list[str] | None = None
    width: FigureSize | None = None
    height: FigureSize | None = None
    font_scale: Annotated[float, Range(0.1, 10)] = 1.0
    x_range: list[float] | None = None
    y_range: list[float] | None = None
    caption: str = "figure"

    def __post_init__(self) -> None:
        for key, path, suffixes in (
            ("out", self.out, (*TEXT_SUFFIXES, *IMAGE_SUFFIXES)),
            ("curves", self.curves, (".csv",)),
            ("caption", self.caption, ("figure", "none", ".txt", ".md", ".tex")),
        ):
            if path is not None and (Path(path).suffix or path) not in suffixes:
                raise ConfigError(f"{key}: {path} ends in none of {', '.join(suffixes)}")
        if self.out is not None and self.out.endswith(".pgf") and shutil.which("xelatex") is None:
            raise ConfigError("out: .pgf needs xelatex, which is not installed; .pdf does not")
        for key, limits in (("x_range", self.x_range), ("y_range", self.y_range)):
            if limits is not None and (len(limits) != 2 or not -inf < limits[0] < limits[1] < inf):
                raise ConfigError(f"{key}: {limits} is not [LOW,HIGH]")
        for color in self.colors or ():
            if not is_color_like(color):
                raise ConfigError(f"colors: {color} is no color; give one as red or '#0072B2'")


class Comparison:
    """Comparison of groups of runs of one game, by means or interquartile means over seeds.

    Attributes:
        measures: names of the compared values. A name is a tag of metrics.jsonl, such as
            "loss/value", or a measure of each run's headline player, such as "exploitability".
    """

    def __init__(self, runs: Sequence[RunData], config: CompareConfig) -> None:
        self.game, self.config = runs[0].game_name, config
        self.groups = group_runs(runs, self._is_counted)
        names = ", ".join(group.label for group in self.groups)
        for key, values in (("label", config.labels), ("color", config.colors)):
            if values is None:
                continue
            if len(values) != len(self.groups):
                raise ConfigError(
                    f"{key}s: give {len(self.groups)}, one for each group of {self.game}: {names}"
                )
            if key == "label" and len(set(values)) < len(values):
                raise ConfigError("labels: two groups have the same label")
            pairs: Any = zip(self.groups, values, strict=True)
            self.groups = [replace(group, **{key: value}) for group, value in pairs]
        if config.tags is None:
            measures = [name for run in runs for name in run.headline_measures]
        else:
            measures = [name for name in config.tags if any(run.has_recorded(name) for run in runs)]
        self.measures = list(dict.fromkeys(measures))
        if not self.measures:
            missing_text = "the requested tags" if config.tags else "any measurement"
            raise ConfigError(
                f"{runs[0].folder}: no run of {self.game} has recorded {missing_text}"
            )

    def _is_counted(self, run: RunData) -> bool:
        """Return whether a run counts in means.

        It needs recorded metrics. It has to reach `x_value` or, if that is None, to finish; with
        the setting `unfinished`, it need not finish.
        """
        if not run.curves:
            return False
        if self.config.x_value is not None:
            return run.get_last_x(self.config.x_axis) >= self.config.x_value
        return run.status == "finished" or self.config.unfinished

    def get_last_value(self, run: RunData, measure: str) -> float | None:
        """Return a run's last value of a measure up to `x_value`; None if there is none."""
        return run.get_last_value(measure, self.config.x_axis, self.config.x_value)

    def list_values_of_counted_runs(self, group: RunGroup, measure: str) -> list[float]:
        """Return the value of a measure in each of the group's counted runs that recorded it."""
        values = (self.get_last_value(run, measure) for run in group.counted_runs)
        return [value for value in values if value is not None]

    def compute_mean(self, group: RunGroup, tag: str) -> float | None:
        """Return the mean of a tag over a group's counted runs; None if none of them has it."""
        values = self.list_values_of_counted_runs(group, tag)
        return float(np.mean(values)) if values else None

    def build_curves(self, measure: str) -> list[CurveLine]:
        """Return an averaged curve of a measure for each group whose runs have recorded it."""
        options, lines = (self.config.band, self.config.statistic), []
        for group in self.groups:
            curves = [run.get_curve(measure, self.config.x_axis) for run in group.counted_runs]
            curves = [curve for curve in curves if len(curve[0])]
            if curves:
                lines.append(average_curves(group.label, curves, *options, group.color))
        return lines

    def list_curve_records(self) -> list[dict[str, Any]]:
        """Return the rows of the CSV file `curves`: one for each point of each averaged curve."""
        keys = "game", "group", "figure", self.config.x_axis, self.config.statistic, "low", "high"
        records = []
        for measure in self.measures:
            for line in self.build_curves(measure):
                ends = line.bands[0][1:] if line.bands else (line.y, line.y)
                for point in zip(line.x, line.y, *ends, strict=True):
                    values = self.game, line.name, measure, *point
                    records.append(dict(zip(keys, values, strict=True)))
        labels = [group.label for group in self.groups]
        return sorted(records, key=lambda record: labels.index(record["group"]))

    @property
    def title(self) -> str:
        """Heading of the table: game, point of training at which values are compared, statistic."""
        x_value, figures = self.config.x_value, "final figures"
        if x_value is not None:
            figures = f"figures at {x_value:,.0f} {self.config.x_axis}"
        statistic = "mean ± half the 95 % interval over seeds (Student)"
        if self.config.statistic == "iqm":
            statistic = "interquartile mean [95 % interval over seeds, stratified bootstrap]"
        return f"{self.game}: {figures}, {statistic}"

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """A row for each group and measure; `low` and `high` are the ends of the 95 % interval."""
        keys, records = list_differing_keys([group.config for group in self.groups]), []
        statistic, x_axis = self.config.statistic, self.config.x_axis
        for group in self.groups:
            settings = {
                f"settings/{shorten_setting_key(key)}": format_setting_value(
                    group.config.get(key, "-")
                )
                for key in keys
            }
            seconds = self.compute_mean(group, "seconds")
            for measure in self.measures:
                values = self.list_values_of_counted_runs(group, measure)
                estimate = estimate_with_interval(values, statistic) if values else (None,) * 3
                value, low, high = estimate
                pairs = (run.get_unit_and_kind(measure) for run in group.runs)
                unit, kind = next(filter(any, pairs), ("", ""))
                record: dict[str, Any] = {
                    "game": self.game,
                    "group": group.label,
                    "player": group.headline_player,
                    "figure": measure,
                    "unit": unit,
                    "kind": kind,
                    statistic: value,
                    "low": low,
                    "high": high,
                    "seeds": len(values),
                    "runs": len(group.runs),
                    x_axis: self.compute_mean(group, x_axis),
                    "minutes": None if seconds is None else seconds / 60,
                }
                records.append(record | settings)
        return records

    def build_rows(self) -> TextRows:
        """Return the rows of the table: the headings, then a row for each group."""
        headings = ["group", "seeds", "player", *map(self.format_measure_name, self.measures)]
        rows = [[*headings, self.config.x_axis, "minutes"]]
        for group in self.groups:
            counted, count = len(group.counted_runs), len({run.seed for run in group.runs})
            seeds = str(count) if counted == count else f"{counted} of {count}"
            records = [record for record in self.records if record["group"] == group.label]
            cells = [self.format_cell(record, counted) for record in records]
            progress = records[0][self.config.x_axis]
            cells.append("-" if progress is None else format_short_number(progress))
            cells.append(format_minutes(records[0]["minutes"]))
            rows.append([group.label, seeds, group.headline_player, *cells])
        return rows

    def format_cell(self, record: Mapping[str, Any], run_count: int) -> str:
        """Format the value of a record with its interval; return "-" without a value.

        The number of seeds is appended if it is 1, or less than `run_count`, the counted runs.
        """
        value, seeds = record[self.config.statistic], record["seeds"]
        if not seeds:
            return "-"
        if seeds == 1:
            return f"{format_number(value)} (1 seed)"
        low, high = record["low"], record["high"]
        text = format_number(value, (high - low) / 2)
        if self.config.statistic == "iqm":
            text = f"{value:.3g} [{low:.3g}, {high:.3g}]"
        return text if seeds == run_count else f"{text} ({seeds} seeds)"

    def format_measure_name(self, measure: str) -> str:
        """Return a measure without the prefix "eval/", followed by its unit if that is known."""
        units = dict.fromkeys(one["unit"] for one in self.records if one["figure"] == measure)
        units_text = " or ".join(filter(None, units))
        return measure.removeprefix("eval/") + (f" ({units_text})" if units_text else "")

    def iterate_notes(self) -> Iterator[str]:
        """Yield notes: runs that are not finished or not in the means, and the machines used."""
        for group in self.groups:
            seeds = {run.seed for run in group.counted_runs}
            for run in group.runs:
                x_axis = self.config.x_axis
                reason = f"{run.status} at {run.get_last_x(x_axis):,.0f} {x_axis}"
                if run not in group.counted_runs:
                    if run.seed in seeds:
                        reason = f"another run of seed {run.seed} counts"
                    yield f"not in the means: {run.folder}, {reason}"
                elif run.status != "finished":
                    yield f"not finished: {run.folder}, {reason}"
        machines = dict.fromkeys(run.machine for group in self.groups for run in group.runs)
        yield f"machine{'s' * (len(machines) > 1)}: {' / '.join(machines)}"

    def format_for_terminal(self) -> str:
        """Format the table and notes for the screen, at most 120 columns wide."""
        parts = self.title, TextTable(self.build_rows()), "\n".join(self.iterate_notes())
        return format_for_terminal(parts, [group.label for group in self.groups])

    def format_markdown(self) -> str:
        """Return a section of Markdown: heading, table, and a list of notes."""
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
                "values": {measure: self.get_last_value(run, measure) for measure in self.measures},
            }
            for group in self.groups
            for run in group.runs
        ]
        return {"figures": self.records, "runs": runs, "notes": list(self.iterate_notes())}


def format_minutes(minutes: float | None) -> str:
    """Format minutes, with two significant digits below 10; return "-" for None."""
    return "-" if minutes is None else f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.2g}"
