"""Table of the groups of runs of one game, for the screen, Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poker_rl.evaluation.plots.plotting import format_step_count
from poker_rl.evaluation.result import format_number
from poker_rl.reports.result_tables import TextRows, escape_markdown, format_markdown_table
from poker_rl.reports.run_data import SECONDS_TAG, RunData
from poker_rl.reports.run_groups import RunGroup, format_setting, list_differing_keys, shorten_key
from poker_rl.reports.seed_means import SeedMean, get_value_at
from poker_rl.reports.text_tables import (
    format_columns,
    format_name_legend,
    number_long_names,
    replace_long_names,
    wrap_line,
)

CLASS_KEYS = ("algo._target_", "net._target_")  # redundant beside the names of the options


@dataclass(frozen=True)
class ComparisonTable:
    """Comparison of the groups of runs of one game.

    Attributes:
        measure_names: tags, or measures of each run's headline player.
        x_axis: decisions, hands, updates, iterations or seconds.
        x_value: position on the axis at which the runs are compared; None for their ends.
        include_unfinished: whether unfinished runs count in the means of final values.
    """

    game: str
    groups: Sequence[RunGroup]
    measure_names: Sequence[str]
    x_axis: str
    x_value: float | None
    include_unfinished: bool

    def is_counted(self, run: RunData) -> bool:
        """Return whether a run counts in the means."""
        return run.is_counted(self.x_axis, self.x_value, self.include_unfinished)

    def list_counted_runs(self, group: RunGroup) -> list[RunData]:
        """Return the runs of a group that count in the means."""
        return [run for run in group.runs if self.is_counted(run)]

    def compute_mean(self, group: RunGroup, measure_name: str) -> SeedMean | None:
        """Return the mean of a measure over a group; None if no counted run has recorded it."""
        values = [
            get_value_at(run, run.resolve_tag(measure_name), self.x_axis, self.x_value)
            for run in self.list_counted_runs(group)
        ]
        recorded = tuple(value for value in values if value is not None)
        return SeedMean(recorded) if recorded else None

    def get_measurement_info(self, group: RunGroup, measure_name: str, field: str) -> str:
        """Return the `unit` or `kind` of a measure, "" if no run of the group has recorded it."""
        infos = (
            run.get_measurement_info(run.resolve_tag(measure_name), field) for run in group.runs
        )
        return next((info for info in infos if info), "")

    def get_headline_player(self, group: RunGroup) -> str:
        """Return the headline player of a group."""
        return next((run.headline_player for run in group.runs if run.headline_player), "-")

    def compute_mean_progress(self, group: RunGroup) -> float | None:
        """Return the mean axis position of the rows at which the counted runs are compared."""
        positions = map(self._find_last_position, self.list_counted_runs(group))
        return _average([position for position in positions if position is not None])

    def compute_mean_minutes(self, group: RunGroup) -> float | None:
        """Return the mean training time of the counted runs up to the compared rows."""
        seconds = [
            get_value_at(run, SECONDS_TAG, self.x_axis, self.x_value)
            for run in self.list_counted_runs(group)
        ]
        mean = _average([value for value in seconds if value is not None])
        return None if mean is None else mean / 60

    def _find_last_position(self, run: RunData) -> float | None:
        """Return the position of the run's last row at or before `x_value`; None without rows."""
        x_values = self._list_x_values(run)
        x_values = x_values if self.x_value is None else x_values[x_values <= self.x_value]
        return float(x_values[-1]) if len(x_values) else None

    def _list_x_values(self, run: RunData) -> np.ndarray:
        """Return the ascending axis positions of a run's rows with any of the measures."""
        positions = [
            run.get_points(run.resolve_tag(name), self.x_axis)[0] for name in self.measure_names
        ]
        return np.unique(np.concatenate(positions))

    def format_title(self) -> str:
        """Return the heading of the table."""
        figures = "final figures"
        if self.x_value is not None:
            figures = f"figures at {self.x_value:,.0f} {self.x_axis}"
        return f"{self.game}: {figures}, mean ± half the 95 % interval over seeds (Student)"

    def build_rows(self) -> TextRows:
        """Return the headings and a row for each group."""
        shows_player = any(map(self._is_of_headline_player, self.measure_names))
        machines = {describe_machine(run) for group in self.groups for run in group.runs}
        shows_machine = len(machines) > 1
        headings = ["group", "seeds", *["player"] * shows_player]
        headings += [*map(self._format_heading, self.measure_names), self.x_axis, "minutes"]
        rows = [headings + ["machine"] * shows_machine]
        for group in self.groups:
            counted, count = len(self.list_counted_runs(group)), len(group.runs)
            row = [group.label, str(count) if counted == count else f"{counted} of {count}"]
            row += [self.get_headline_player(group)] * shows_player
            row += [self._format_cell(group, name) for name in self.measure_names]
            progress, minutes = self.compute_mean_progress(group), self.compute_mean_minutes(group)
            row.append("-" if progress is None else format_step_count(progress))
            row.append("-" if minutes is None else f"{minutes:.1f}")
            if shows_machine:
                row.append(" / ".join(dict.fromkeys(map(describe_machine, group.runs))))
            rows.append(row)
        return rows

    def _is_of_headline_player(self, measure_name: str) -> bool:
        return any(measure_name not in run.curves for group in self.groups for run in group.runs)

    def _format_heading(self, measure_name: str) -> str:
        units = dict.fromkeys(
            self.get_measurement_info(group, measure_name, "unit") for group in self.groups
        )
        units_text = " or ".join(unit for unit in units if unit)
        return measure_name.removeprefix("eval/") + (f" ({units_text})" if units_text else "")

    def _format_cell(self, group: RunGroup, measure_name: str) -> str:
        mean = self.compute_mean(group, measure_name)
        if mean is None:
            return "-"
        seeds, text = len(mean.values), format_number(mean.mean, mean.half_width)
        if seeds == 1:
            return f"{text} (1 seed)"
        return text if seeds == len(self.list_counted_runs(group)) else f"{text} ({seeds} seeds)"

    def build_setting_rows(self) -> TextRows:
        """Return rows of differing settings, unless a group lacks them or all labels name them."""
        configs = [group.config for group in self.groups]
        rows = [["setting", *(group.label for group in self.groups)]]
        for key in list_differing_keys(configs):
            if key in CLASS_KEYS or not all(key in config for config in configs):
                continue
            values = [format_setting(config, key) for config in configs]
            assignments = [f"{shorten_key(key)}={value}" for value in values]
            labels = zip(assignments, self.groups, strict=True)
            if not all(assignment in group.label for assignment, group in labels):
                rows.append([shorten_key(key), *values])
        return rows

    def iterate_notes(self) -> Iterator[str]:
        """Yield notes on runs that do not count in the means, and on machines and versions."""
        for group in self.groups:
            for run in group.runs:
                if not self.is_counted(run):
                    yield f"not in the means: {run.folder}, {self._explain_exclusion(run)}"
                elif not run.is_finished:
                    yield f"not finished: {run.folder}, {self._describe_status(run)}"
            for run in group.superseded_runs:
                seed = run.config.get("seed")
                yield f"not in the means: {run.folder}, another run of seed {seed} counts"
        runs = [run for group in self.groups for run in group.runs]
        machines = dict.fromkeys(map(describe_machine, runs))
        if len(machines) == 1:
            yield f"machine: {next(iter(machines))}"
        for package, versions in list_differing_versions(runs).items():
            yield f"versions of {package} differ: {', '.join(versions)}"
        if self.x_value is not None:
            yield from self._iterate_position_notes(self.x_value)

    def _iterate_position_notes(self, x_value: float) -> Iterator[str]:
        """Yield a note on the positions of the rows that are compared and of the next ones."""
        runs = [run for group in self.groups for run in self.list_counted_runs(group)]
        positions = [x for run in runs if (x := self._find_last_position(run)) is not None]
        if positions:
            later = [x for run in runs for x in self._list_x_values(run) if x > x_value]
            later_text = f", the next one after them is at {min(later):,.0f}" if later else ""
            yield (
                f"each figure is that of a run's last row at or before {x_value:,.0f}"
                f" {self.x_axis}; these rows are at {min(positions):,.0f} to"
                f" {max(positions):,.0f}{later_text}"
            )

    def _explain_exclusion(self, run: RunData) -> str:
        if not run.curves:
            return f"{run.status}, nothing recorded yet"
        if self.x_value is not None:
            return f"ends at {run.get_last_x(self.x_axis):,.0f} {self.x_axis}"
        return self._describe_status(run)

    def _describe_status(self, run: RunData) -> str:
        return f"{run.status} at {run.get_last_x(self.x_axis):,.0f} {self.x_axis}"

    def _list_tables(self) -> list[TextRows]:
        setting_rows = self.build_setting_rows()
        return [self.build_rows(), *[setting_rows] * (len(setting_rows) > 1)]

    def format_text(self) -> str:
        """Format the tables and notes for the screen, at most 120 columns wide."""
        tables = self._list_tables()
        cells = [cell for table in tables for row in table for cell in row]
        numbers = number_long_names([*(group.label for group in self.groups), *cells])
        parts = [
            self.format_title(),
            *(format_columns(replace_long_names(table, numbers)) for table in tables),
            "\n".join(map(wrap_line, format_name_legend(numbers).splitlines())),
            "\n".join(map(wrap_line, self.iterate_notes())),
        ]
        return "\n\n".join(part for part in parts if part)

    def format_markdown(self) -> str:
        """Format a heading, the tables, and the notes as a list."""
        parts = [
            f"## {escape_markdown(self.format_title())}",
            *map(format_markdown_table, self._list_tables()),
            "\n".join(f"- {escape_markdown(note)}" for note in self.iterate_notes()),
        ]
        return "\n\n".join(parts) + "\n"

    def iterate_records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each group and measure, for CSV and JSON."""
        keys = list_differing_keys([group.config for group in self.groups])
        for group in self.groups:
            settings = {
                f"settings/{shorten_key(key)}": format_setting(group.config, key) for key in keys
            }
            for name in self.measure_names:
                mean = self.compute_mean(group, name)
                yield {
                    "game": self.game,
                    "group": group.label,
                    "player": self.get_headline_player(group),
                    "figure": name,
                    "unit": self.get_measurement_info(group, name, "unit"),
                    "kind": self.get_measurement_info(group, name, "kind"),
                    "mean": None if mean is None else mean.mean,
                    "half_width": None if mean is None else mean.half_width,
                    "seeds": 0 if mean is None else len(mean.values),
                    "runs": len(group.runs),
                    self.x_axis: self.compute_mean_progress(group),
                    "minutes": self.compute_mean_minutes(group),
                } | settings

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison and each of its runs as plain data for JSON."""
        return {
            "game": self.game,
            "x_axis": self.x_axis,
            "x_value": self.x_value,
            "figures": list(self.iterate_records()),
            "runs": [self._run_to_dict(group, run) for group in self.groups for run in group.runs],
            "notes": list(self.iterate_notes()),
        }

    def _run_to_dict(self, group: RunGroup, run: RunData) -> dict[str, Any]:
        return {
            "group": group.label,
            "folder": str(run.folder),
            "seed": run.config.get("seed"),
            "status": run.status,
            "counted": self.is_counted(run),
            "end": run.get_last_x(self.x_axis),
            "machine": describe_machine(run),
            "versions": run.manifest.get("versions"),
            "values": {
                name: get_value_at(run, run.resolve_tag(name), self.x_axis, self.x_value)
                for name in self.measure_names
            },
        }


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def describe_machine(run: RunData) -> str:
    """Return the GPU or CPU of a run and its number of threads."""
    threads = run.config.get("threads", 1)
    processor = f"{run.manifest.get('gpu') or run.manifest.get('cpu') or 'unknown'}"
    return f"{processor}, {threads} thread{'s' * (threads != 1)}"


def list_differing_versions(runs: Sequence[RunData]) -> dict[str, list[str]]:
    """Return the versions of each package whose version is not the same in all runs."""
    versions_by_package: dict[str, dict[str, None]] = {}
    for run in runs:
        versions = run.manifest.get("versions")
        for package, version in (versions if isinstance(versions, Mapping) else {}).items():
            versions_by_package.setdefault(str(package), {})[str(version)] = None
    return {
        package: list(versions)
        for package, versions in versions_by_package.items()
        if len(versions) > 1
    }
