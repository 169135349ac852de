"""`poker-rl compare`: tables and curves of runs, averaged over runs that differ only in seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.reports.comparison import IMAGE_SUFFIXES, CompareConfig, Comparison
from poker_rl.reports.comparison_figure import draw_comparison, save_figure
from poker_rl.reports.run_data import TAG_OF_AXIS, RunData, read_runs
from poker_rl.reports.text_tables import to_csv
from poker_rl.storage.disk import prepare_output_file, print_line
from poker_rl.storage.run_folder import write_text_atomically


def compare_runs(run_specs: Sequence[str], settings_dict: Mapping[str, Any]) -> None:
    """Print a comparison of runs, and write the output files that the settings name."""
    config = CompareConfig(**convert_fields(CompareConfig, settings_dict, "", {}))
    comparisons = build_comparisons(read_runs(run_specs), config)
    outputs = {"out": config.out, "curves": config.curves}
    output_paths = {key: Path(path) for key, path in outputs.items() if path is not None}
    for key, path in output_paths.items():
        with error_prefix(key):
            prepare_output_file(path, config.overwrite)
    text = "\n\n\n".join(comparison.format_text() for comparison in comparisons)
    print_line(f"{text}\n" if output_paths else text)
    for key, path in output_paths.items():
        write_comparisons(comparisons, key, path)
        print_line(f"written: {path}")


def build_comparisons(runs: Sequence[RunData], config: CompareConfig) -> list[Comparison]:
    """Group runs by their game, and return a comparison for each game."""
    for run in runs:
        # Runs that stopped before learning anything are not checked: all axes except seconds are 0.
        recorded_axes = [axis for axis in TAG_OF_AXIS if run.get_last_x(axis) > 0]
        if set(recorded_axes) - {"seconds"} and config.x_axis not in recorded_axes:
            raise ConfigError(
                f"x_axis: {run.folder} counts no {config.x_axis}; it counts"
                f" {', '.join(recorded_axes)}"
            )
    for name in config.tags or ():
        if not any(run.has_recorded(name) for run in runs):
            tags = dict.fromkeys(tag for run in runs for tag in run.curves)
            raise ConfigError(
                f"tags: no run has recorded {name}; there are"
                f" {', '.join(tag for tag in tags if tag not in TAG_OF_AXIS)}"
            )
    games = dict.fromkeys(run.game_name for run in runs)
    return [Comparison([run for run in runs if run.game_name == game], config) for game in games]


def write_comparisons(comparisons: Sequence[Comparison], key: str, path: Path) -> None:
    """Write one output file; `key` is the setting that names it: "out" or "curves"."""
    if path.suffix in IMAGE_SUFFIXES:
        save_figure(draw_comparison(comparisons), path)
        return
    if path.suffix == ".md":
        text = "\n".join(comparison.format_markdown() for comparison in comparisons)
    elif path.suffix == ".json":
        text = json.dumps([comparison.to_dict() for comparison in comparisons], indent=2) + "\n"
    else:
        records = [
            record
            for one in comparisons
            for record in (one.records if key == "out" else one.list_curve_records())
        ]
        text = to_csv(records, list(dict.fromkeys(key for record in records for key in record)))
    write_text_atomically(path, text)
