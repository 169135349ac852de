"""`poker-rl compare`: tables and curves of groups of runs that differ in their seeds alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, NonNegativeFloat, error_prefix
from poker_rl.reports.comparison_figure import draw_comparison, save_figure
from poker_rl.reports.comparison_table import ComparisonTable
from poker_rl.reports.result_tables import to_csv
from poker_rl.reports.run_data import TAG_OF_AXIS, RunData, find_run_folders, read_run
from poker_rl.reports.run_groups import group_runs
from poker_rl.storage.disk import prepare_output_file, print_line
from poker_rl.storage.run_folder import write_text_atomically

TEXT_SUFFIXES, IMAGE_SUFFIXES = (".md", ".csv", ".json"), (".png", ".svg")


@dataclass(kw_only=True, frozen=True)
class CompareConfig:
    """Settings of `poker-rl compare`."""

    tags: list[str] | None
    x_value: NonNegativeFloat | None
    x_axis: Literal["decisions", "hands", "updates", "iterations", "seconds"]
    unfinished: bool
    out: str | None
    overwrite: bool

    def __post_init__(self) -> None:
        if self.tags == []:
            raise ConfigError("tags: is empty; tags=null compares the headline measures")
        allowed_suffixes = (*TEXT_SUFFIXES, *IMAGE_SUFFIXES)
        if self.out is not None and Path(self.out).suffix not in allowed_suffixes:
            raise ConfigError(f"out: {self.out} ends in none of {', '.join(allowed_suffixes)}")


def compare_runs(run_specs: Sequence[str], settings_dict: Mapping[str, Any]) -> None:
    """Print a comparison of runs, and write it or its curves to a file.

    Args:
        run_specs: run folders, patterns or summaries of sweeps, see `find_run_folders`.

    Raises:
        ConfigError: if a run can't be read, the comparison is not possible, or the file exists.
    """
    config = CompareConfig(**convert_fields(CompareConfig, settings_dict, "", {}))
    runs = [read_run(folder) for folder in find_run_folders(run_specs)]
    tables = list(build_comparison_tables(runs, config))
    if config.out is not None:
        with error_prefix("out"):
            prepare_output_file(Path(config.out), config.overwrite)
    print_line("\n\n\n".join(table.format_text() for table in tables))
    if config.out is not None:
        write_comparison(tables, Path(config.out))
        print_line(f"\nwritten: {config.out}")


def build_comparison_tables(
    runs: Sequence[RunData], config: CompareConfig
) -> Iterator[ComparisonTable]:
    """Yield a table for each game.

    Raises:
        ConfigError: if a run does not count the units of the axis, or no run has recorded a tag or
            reached `x_value`.
    """
    check_axis(runs, config.x_axis)
    games = dict.fromkeys(run.game_name for run in runs)
    max_x_value = max(run.get_last_x(config.x_axis) for run in runs)
    if config.x_value is not None and config.x_value > max_x_value:
        raise ConfigError(
            f"x_value: no run has reached {config.x_value:,.0f} {config.x_axis}, at most"
            f" {max_x_value:,.0f}"
        )
    recorded_tags = dict.fromkeys(
        tag for run in runs for tag in run.curves if tag not in TAG_OF_AXIS
    )
    for name in config.tags or ():
        if not any(run.resolve_tag(name) in run.curves for run in runs):
            raise ConfigError(
                f"tags: no run has recorded {name}; there are {', '.join(recorded_tags)}"
            )
    counting_options = config.x_axis, config.x_value, config.unfinished

    def is_counted(run: RunData) -> bool:
        return run.is_counted(*counting_options)

    for game in games:
        runs_of_game = [run for run in runs if run.game_name == game]
        tags = [tag for run in runs_of_game for tag in run.headline_measures]
        if config.tags is not None:
            tags = [
                tag
                for tag in config.tags
                if any(run.resolve_tag(tag) in run.curves for run in runs_of_game)
            ]
        measure_names = list(dict.fromkeys(tags))
        if not measure_names:
            missing_text = "the requested tags" if config.tags else "any measurement"
            raise ConfigError(
                f"{runs_of_game[0].folder}: no run of {game} has recorded {missing_text}"
            )
        yield ComparisonTable(
            game, group_runs(runs_of_game, is_counted), measure_names, *counting_options
        )


def check_axis(runs: Sequence[RunData], x_axis: str) -> None:
    """Raise `ConfigError` if a run does not count the units of the axis.

    A run that was stopped after its first evaluation has counted only seconds, and is allowed.
    """
    for run in runs:
        recorded_axes = [axis for axis in TAG_OF_AXIS if run.get_last_x(axis) > 0]
        if set(recorded_axes) - {"seconds"} and x_axis not in recorded_axes:
            raise ConfigError(
                f"x_axis: {run.folder} counts no {x_axis}; it counts {', '.join(recorded_axes)}"
            )


def write_comparison(tables: Sequence[ComparisonTable], output_path: Path) -> None:
    """Write the tables, or the curves if the file's suffix is that of an image."""
    if output_path.suffix == ".md":
        write_text_atomically(output_path, "\n".join(table.format_markdown() for table in tables))
    elif output_path.suffix == ".json":
        write_text_atomically(
            output_path, json.dumps([table.to_dict() for table in tables], indent=2) + "\n"
        )
    elif output_path.suffix == ".csv":
        records = [record for table in tables for record in table.iterate_records()]
        columns = list(dict.fromkeys(key for record in records for key in record))
        write_text_atomically(output_path, to_csv(records, columns))
    else:
        save_figure(draw_comparison(tables), output_path)
