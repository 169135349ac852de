"""`poker-rl compare`: tables and curves of runs, averaged over runs that differ only in seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.plots.plotting import (
    FIGURE_DPI,
    Panel,
    add_footnote,
    draw_panels,
    set_figure_title,
)
from poker_rl.evaluation.plots.run_figures import COUNTER_TAGS
from poker_rl.reports.comparison import (
    IMAGE_SUFFIXES,
    LOWER_IS_BETTER,
    CompareConfig,
    Comparison,
)
from poker_rl.reports.run_data import TAG_OF_AXIS, RunData, find_run_folders, read_run
from poker_rl.reports.text_tables import to_csv
from poker_rl.storage.console import print_line
from poker_rl.storage.disk import atomic_replacement, prepare_output_file, write_text_atomically

# Text in SVG files is stored as characters, which can be searched and read aloud. A fixed salt
# gives equal figures equal identifiers in SVG. Journals require PDF fonts of type 42.
FIGURE_RC_PARAMS: Any = {"svg.fonttype": "none", "svg.hashsalt": "poker-rl", "pdf.fonttype": 42}
# Figures are saved without a date, so that equal figures give equal files.
METADATA: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def compare_runs(run_specs: Sequence[str], settings_dict: Mapping[str, Any]) -> None:
    """Print a comparison of runs, and write the output files that the settings name."""
    config = CompareConfig(**convert_fields(CompareConfig, settings_dict, "", {}))
    runs = [read_run(folder) for folder in find_run_folders(run_specs)]
    comparisons = build_comparisons(runs, config)
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
        units = [unit for unit in COUNTER_TAGS if run.get_last_x(unit) > 0]
        if units and config.x_axis not in (*units, "seconds"):
            counted = ", ".join([*units, "seconds"])
            raise ConfigError(
                f"x_axis: {run.folder} counts no {config.x_axis}; it counts {counted}"
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
        text = to_csv(records)
    write_text_atomically(path, text)


def draw_comparison(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel for every measure of every game, with a curve for each group."""
    config = comparisons[0].config
    panels = []
    for comparison in comparisons:
        for measure in comparison.measures:
            curves = (comparison.build_group_curve(group, measure) for group in comparison.groups)
            lines, heading = list(filter(None, curves)), comparison.format_heading(measure)
            panels.append(Panel(comparison.game, lines, heading, measure.endswith(LOWER_IS_BETTER)))
    title = "" if config.title == "none" else config.title
    if title is not None and len(panels) == 1:
        panels = [replace(panels[0], title=title)]
    figure = draw_panels(panels, config.x_axis)
    if title and len(panels) > 1:
        set_figure_title(figure, title)
    if config.caption == "figure":
        add_footnote(figure, describe_figure(comparisons))
    figure.set_figwidth(config.width or figure.get_figwidth())
    figure.set_figheight(config.height or figure.get_figheight())
    return figure


def describe_figure(comparisons: Sequence[Comparison]) -> str:
    """Return a note on the number of seeds and the bands; "" if no group has several seeds."""
    groups = [group for comparison in comparisons for group in comparison.groups]
    counts = sorted({len(group.counted_runs) for group in groups} - {0})
    if max(counts, default=0) < 2:
        return ""
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    bands = {"interval": "95 % interval (Student)", "range": "lowest to highest run"}
    return f"mean over {seeds} seeds; shaded: {bands[comparisons[0].config.band]}"


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of its suffix."""
    file_format = path.suffix[1:]
    options: Any = {"metadata": METADATA[file_format]} if file_format in METADATA else {}
    with atomic_replacement(path) as temporary_path, rc_context(FIGURE_RC_PARAMS):
        figure.savefig(temporary_path, format=file_format, dpi=FIGURE_DPI, **options)
