"""`poker-rl compare`: tables and curves of groups of runs that differ in their seeds alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.reports.comparison import CompareConfig, Comparison
from poker_rl.reports.comparison_figure import draw_comparison, save_figure
from poker_rl.reports.rendering import to_csv
from poker_rl.reports.run_data import TAG_OF_AXIS, RunData, read_runs
from poker_rl.storage.disk import prepare_output_file, print_line
from poker_rl.storage.run_folder import write_text_atomically


def compare_runs(run_specs: Sequence[str], settings_dict: Mapping[str, Any]) -> None:
    """Print a comparison of runs, and write it or its curves to a file."""
    config = CompareConfig(**convert_fields(CompareConfig, settings_dict, "", {}))
    comparisons = build_comparisons(read_runs(run_specs), config)
    output_path = None if config.out is None else Path(config.out)
    if output_path is not None:
        with error_prefix("out"):
            prepare_output_file(output_path, config.overwrite)
    print_line("\n\n\n".join(comparison.format_text() for comparison in comparisons))
    if output_path is not None:
        write_comparisons(comparisons, output_path)
        print_line(f"\nwritten: {output_path}")


def build_comparisons(runs: Sequence[RunData], config: CompareConfig) -> list[Comparison]:
    """Return a comparison for each game."""
    for run in runs:
        # A run that was stopped after its first evaluation has counted only seconds.
        recorded_axes = [axis for axis in TAG_OF_AXIS if run.get_last_x(axis) > 0]
        if set(recorded_axes) - {"seconds"} and config.x_axis not in recorded_axes:
            raise ConfigError(
                f"x_axis: {run.folder} counts no {config.x_axis}; it counts"
                f" {', '.join(recorded_axes)}"
            )
    for name in config.tags or ():
        if not any(run.resolve_tag(name) in run.curves for run in runs):
            tags = dict.fromkeys(
                tag for run in runs for tag in run.curves if tag not in TAG_OF_AXIS
            )
            raise ConfigError(f"tags: no run has recorded {name}; there are {', '.join(tags)}")
    games = dict.fromkeys(run.game_name for run in runs)
    return [Comparison([run for run in runs if run.game_name == game], config) for game in games]


def write_comparisons(comparisons: Sequence[Comparison], output_path: Path) -> None:
    """Write the tables, or the curves if the file's suffix is that of an image."""
    if output_path.suffix == ".md":
        text = "\n".join(comparison.format_markdown() for comparison in comparisons)
    elif output_path.suffix == ".json":
        text = json.dumps([comparison.to_dict() for comparison in comparisons], indent=2) + "\n"
    elif output_path.suffix == ".csv":
        records = [record for comparison in comparisons for record in comparison.records]
        text = to_csv(records, list(dict.fromkeys(key for record in records for key in record)))
    else:
        save_figure(draw_comparison(comparisons), output_path)
        return
    write_text_atomically(output_path, text)
