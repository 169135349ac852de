"""Comparison of groups of runs of one game: text, Markdown, and records for CSV and JSON."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.colors import is_color_like

from poker_rl.config.validation import ConfigError, NonNegativeFloat, PositiveFloat
from poker_rl.evaluation.plots.plotting import CurveLine, format_step_count
from poker_rl.evaluation.result import format_number
from poker_rl.reports.run_data import SECONDS_TAG, RunData
from poker_rl.reports.run_groups import (
    RunGroup,
    format_setting,
    group_runs,
    list_differing_keys,
    shorten_key,
)
from poker_rl.reports.seed_statistics import (
    Statistic,
    bootstrap_interval,
    compute_iqm,
    estimate,
    estimate_columns,
)
from poker_rl.reports.text_tables import (
    TextRows,
    TextTable,
    escape_markdown,
    format_markdown_table,
    format_text,
    wrap_line,
)

TEXT_SUFFIXES, IMAGE_SUFFIXES = (".md", ".csv", ".json"), (".pdf", ".svg", ".png", ".pgf")
CAPTION_SUFFIXES = (".txt", ".md", ".tex")
# A measure whose name ends like this is better if it is smaller.
LOWER_IS_BETTER = ("exploitability", "nash_conv")


@dataclass(kw_only=True, frozen=True)
class CompareConfig:
    """Settings of `poker-rl compare`."""

    tags: list[str] | None = None
    x_value: NonNegativeFloat | None = None
    x_axis: Literal["decisions", "hands", "updates", "iterations", "seconds"] = "decisions"
    unfinished: bool = False
    statistic: Statistic = "mean"
    out: str | None = None
    curves: str | None = None
    overwrite: bool = False
    profile: bool = False
    band: Literal["interval", "range"] = "interval"
    title: str | None = None
    labels: list[str] | None = None
    colors: list[str] | None = None
    width: PositiveFloat | None = None
    height: PositiveFloat | None = None
    font_scale: PositiveFloat = 1.0
    x_range: list[float] | None = None
    y_range: list[float] | None = None
    caption: str = "figure"

    def __post_init__(self) -> None:
        if self.tags == []:
            raise ConfigError("tags: is empty; tags=null compares the headline measures")
        for key, path, suffixes in (
            ("out", self.out, (*TEXT_SUFFIXES, *IMAGE_SUFFIXES)),
            ("curves", self.curves, (".csv",)),
            ("caption", self.caption, ("figure", "none", *CAPTION_SUFFIXES)),
        ):
            if path is not None and (Path(path).suffix or path) not in suffixes:
                raise ConfigError(f"{key}: {path} ends in none of {', '.join(suffixes)}")
        for key, limits in (("x_range", self.x_range), ("y_range", self.y_range)):
            if limits is not None and (len(limits) != 2 or not limits[0] < limits[1]):
                raise ConfigError(f"{key}: {limits} is not [LOW,HIGH]")
        for color in self.colors or ():
            if not is_color_like(color):
                raise ConfigError(f"colors: {color} is no color; give one as red or '#0072B2'")
        if self.out is not None and self.out.endswith(".pgf") and shutil.which("xelatex") is None:
            raise ConfigError("out: .pgf needs xelatex, which is not installed; .pdf does not")

    @property
    def output_paths(self) -> dict[str, Path]:
        """Path of each output file, by the setting that names it."""
        paths = {"out": self.out, "curves": self.curves, "caption": self.caption}
        return {
            key: Path(path) for key, path in paths.items() if path not in (None, "figure", "none")
        }


class Comparison:
    """Comparison of groups of runs of one game, by their means over seeds.

    Attributes:
        measures: compared tags of metrics.jsonl, or measures of each run's headline player.
    """

    def __init__(self, runs: Sequence[RunData], config: CompareConfig) -> None:
        self.game, self.config = runs[0].game_name, config
        self.x_axis, self.x_value = config.x_axis, config.x_value
        self.groups = group_runs(runs, self._is_counted)
        for key, values in (("labels", config.labels), ("colors", config.colors)):
            if values is not None and len(values) != len(self.groups):
                names = ", ".join(group.label for group in self.groups)
                raise ConfigError(
                    f"{key}: give {len(self.groups)}, one for each group of {self.game}: {names}"
                )
        if config.labels is not None:
            self.groups = [
                replace(group, label=label)
                for group, label in zip(self.groups, config.labels, strict=True)
            ]
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

    def list_run_values(self, group: RunGroup, measure: str) -> list[float]:
        """Return a measure's value at `x_value` in each run that counts in the group's mean."""
        values = (run.get_value(measure, self.x_axis, self.x_value) for run in group.counted_runs)
        return [value for value in values if value is not None]

    def list_scores(self, group: RunGroup, measure: str, normalize: bool) -> np.ndarray:
        """Return a score of each run that counts in the mean, where larger is better, [runs].

        The score of a measure such as exploitability is its negative value. If `normalize`, each
        run's score is divided by its value before training.
        """
        scores = []
        for run in group.counted_runs:
            value = run.get_value(measure, self.x_axis, self.x_value)
            first_values = run.get_curve(measure, self.x_axis)[1][:1]
            if value is not None:
                scores.append(value / abs(first_values[0]) if normalize else value)
        return np.array(scores) * (-1 if measure.endswith(LOWER_IS_BETTER) else 1)

    def build_group_curve(self, group: RunGroup, measure: str) -> CurveLine | None:
        """Return the averaged curve of a group's runs; None if no run has the measure."""
        points = [run.get_curve(measure, self.x_axis) for run in group.counted_runs]
        curves = [(x_values, values) for x_values, values in points if len(x_values)]
        if not curves:
            return None
        return average_curves(group.label, curves, self.config.statistic, self.config.band)

    def list_curve_records(self) -> list[dict[str, Any]]:
        """Return a record for each point of each curve, for CSV."""
        return [
            {
                "game": self.game,
                "group": group.label,
                "figure": measure,
                self.x_axis: x,
                self.config.statistic: y,
                "low": low,
                "high": high,
            }
            for group in self.groups
            for measure in self.measures
            if (line := self.build_group_curve(group, measure)) is not None
            for x, y, low, high in zip(
                line.x,
                line.y,
                *(line.bands[0][1:] if line.bands else (line.y, line.y)),
                strict=True,
            )
        ]

    def compute_mean_progress(self, group: RunGroup) -> float | None:
        """Return the mean x value that the group's runs have reached, each at most `x_value`."""
        positions = []
        for run in group.counted_runs:
            x_values = np.concatenate([run.get_curve(m, self.x_axis)[0] for m in self.measures])
            if self.x_value is not None:
                x_values = x_values[x_values <= self.x_value]
            positions += [float(x_values.max())] if len(x_values) else []
        return float(np.mean(positions)) if positions else None

    def compute_mean_minutes(self, group: RunGroup) -> float | None:
        """Return the mean training time of the group's runs up to `x_value`, in minutes."""
        seconds = self.list_run_values(group, SECONDS_TAG)
        return float(np.mean(seconds)) / 60 if seconds else None

    @property
    def title(self) -> str:
        """The heading of the table."""
        figures = "final figures"
        if self.x_value is not None:
            figures = f"figures at {self.x_value:,.0f} {self.x_axis}"
        statistic = "mean ± half the 95 % interval over seeds (Student)"
        if self.config.statistic == "iqm":
            statistic = "interquartile mean [95 % interval over seeds, stratified bootstrap]"
        return f"{self.game}: {figures}, {statistic}"

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """A record for each group and measure, for tables, CSV and JSON."""
        keys, records = list_differing_keys([group.config for group in self.groups]), []
        for group in self.groups:
            settings = {
                f"settings/{shorten_key(key)}": format_setting(group.config, key) for key in keys
            }
            for measure in self.measures:
                values = self.list_run_values(group, measure)
                value, low, high = (
                    estimate(values, self.config.statistic) if values else (None, None, None)
                )
                units, kinds = (
                    [run.get_measurement_field(measure, field) for run in group.runs]
                    for field in ("unit", "kind")
                )
                record: dict[str, Any] = {
                    "game": self.game,
                    "group": group.label,
                    "player": group.headline_player,
                    "figure": measure,
                    "unit": next(filter(None, units), ""),
                    "kind": next(filter(None, kinds), ""),
                    self.config.statistic: value,
                    "low": low,
                    "high": high,
                    "seeds": len(values),
                    "runs": len(group.runs),
                    self.x_axis: self.compute_mean_progress(group),
                    "minutes": self.compute_mean_minutes(group),
                }
                records.append(record | settings)
        return records

    def build_rows(self) -> TextRows:
        """Return the rows of the table: the headings, then a row for each group."""
        # A measure that is no tag belongs to the headline player, so the table names that player.
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
                    *(format_cell(record, self.config.statistic, counted) for record in records),
                    "-" if progress is None else format_step_count(progress),
                    format_minutes(minutes),
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


def pool_scores(
    comparisons: Sequence[Comparison], measure: str, normalize: bool
) -> dict[str, list[np.ndarray]]:
    """Return for each group label a list with the scores of its runs, [runs], in each game."""
    scores_by_label: dict[str, list[np.ndarray]] = {}
    for comparison in comparisons:
        for group in comparison.groups if measure in comparison.measures else ():
            scores = comparison.list_scores(group, measure, normalize)
            if len(scores):
                scores_by_label.setdefault(group.label, []).append(scores)
    return scores_by_label


def format_pooled_table(comparisons: Sequence[Comparison]) -> str:
    """Format interquartile means over the runs of all games, relative to untrained players."""
    measures = dict.fromkeys(measure for one in comparisons for measure in one.measures)
    rows = [["group", "games", "runs", *(f"{name} / before training" for name in measures)]]
    pooled = {measure: pool_scores(comparisons, measure, normalize=True) for measure in measures}
    for label in dict.fromkeys(label for scores in pooled.values() for label in scores):
        cells, strata = [], []
        for measure in measures:
            sign = -1 if measure.endswith(LOWER_IS_BETTER) else 1
            strata = [sign * scores for scores in pooled[measure].get(label, [])]
            if strata:
                values = [part[:, None] for part in strata]
                low, high = (end.item() for end in bootstrap_interval(values, compute_iqm))
                value = float(compute_iqm(np.concatenate(strata)))
                cells.append(format_estimate(value, low, high, "iqm"))
            else:
                cells.append("-")
        run_count = sum(map(len, strata))
        rows.append([label, str(len(strata)), str(run_count), *cells])
    title = "all games: interquartile mean over runs [95 % interval, stratified bootstrap]"
    return format_text([title, TextTable(rows)], [row[0] for row in rows])


def average_curves(
    legend_name: str,
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
    statistic: Statistic = "mean",
    band: Literal["interval", "range"] = "interval",
) -> CurveLine:
    """Return the mean or IQM of the curves of runs, with a band if there are several runs.

    The curve covers the range of the axis that all runs have reached.

    Args:
        curves: ascending x values and the y values of each run; at least one run.
        band: the 95 % interval of the statistic, or the range from the lowest to the highest run.
    """
    x_values = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    x_values = x_values[(x_values >= start) & (x_values <= end)]
    values = np.stack([np.interp(x_values, run_x, run_values) for run_x, run_values in curves])
    center, low, high = estimate_columns(values, statistic)
    if band == "range":
        low, high = values.min(0), values.max(0)
    return CurveLine(legend_name, x_values, center, ((band, low, high),) * (len(curves) > 1))


def format_cell(record: Mapping[str, Any], statistic: Statistic, counted_runs: int) -> str:
    """Format a table cell: the statistic, and the number of seeds unless all runs have a value."""
    if record[statistic] is None:
        return "-"
    number, seeds = (
        format_estimate(record[statistic], record["low"], record["high"], statistic),
        record["seeds"],
    )
    if seeds == 1:
        return f"{number} (1 seed)"
    return number if seeds == counted_runs else f"{number} ({seeds} seeds)"


def format_estimate(
    value: float, low: float | None, high: float | None, statistic: Statistic
) -> str:
    """Format a statistic with its interval: a mean ± the half-width, an IQM with both ends."""
    if low is None or high is None:
        return format_number(value)
    if statistic == "mean":
        return format_number(value, (high - low) / 2)
    return f"{value:.3g} [{low:.3g}, {high:.3g}]"


def format_minutes(minutes: float | None) -> str:
    """Format minutes: below 10 with two significant digits, so that no short run shows 0."""
    return "-" if minutes is None else f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.2g}"
