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
from poker_rl.evaluation.result import AGAINST, EXACT
from poker_rl.reports.comparison import (
    IMAGE_SUFFIXES,
    LOWER_IS_BETTER,
    CompareConfig,
    Comparison,
)
from poker_rl.reports.run_data import TAG_OF_AXIS, RunData, find_run_folders, read_run
from poker_rl.reports.text_tables import to_csv
from poker_rl.storage.disk import atomic_replacement, prepare_output_file, print_line
from poker_rl.storage.run_folder import write_text_atomically

# Text in SVG files is stored as characters, which can be searched and read aloud. A fixed salt
# gives equal figures equal identifiers in SVG. Journals require PDF fonts of type 42.
FIGURE_RC_PARAMS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "poker-rl",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
}
# Figures are saved without a date, so that equal figures give equal files.
METADATA: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def compare_runs(run_specs: Sequence[str], settings_dict: Mapping[str, Any]) -> None:
    """Print a comparison of runs, and write the output files that the settings name."""
    config = CompareConfig(**convert_fields(CompareConfig, settings_dict, "", {}))
    comparisons = build_comparisons(
        [read_run(folder) for folder in find_run_folders(run_specs)], config
    )
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


def draw_comparison(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel for every measure of every game, with a curve for each group."""
    config = comparisons[0].config
    panels = []
    for comparison in comparisons:
        for measure in comparison.measures:
            curves = (comparison.build_group_curve(group, measure) for group in comparison.groups)
            lines, heading = list(filter(None, curves)), comparison.format_heading(measure)
            panels.append(Panel(comparison.game, lines, heading, measure.endswith(LOWER_IS_BETTER)))
    if config.colors is not None:
        labels = dict.fromkeys(group.label for one in comparisons for group in one.groups)
        color_of = dict(zip(labels, config.colors, strict=False))
        panels = [
            replace(one, lines=[replace(line, color=color_of.get(line.name)) for line in one.lines])
            for one in panels
        ]
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
    """Return the caption: what is measured, over how many seeds, and what the bands show."""
    config = comparisons[0].config
    kinds = {record["kind"] for comparison in comparisons for record in comparison.records}
    parts = ["exact"] * any(kind.startswith(EXACT) for kind in kinds)
    parts += ["won in matches"] * any(kind.startswith(AGAINST) for kind in kinds)
    groups = [group for comparison in comparisons for group in comparison.groups]
    counts = sorted({len(group.counted_runs) for group in groups} - {0})
    if max(counts, default=0) < 2:
        return "; ".join(parts)
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) + " seeds"
    statistic, method = "mean", "Student"
    if config.statistic == "iqm":
        statistic, method = "interquartile mean", "bootstrap"
    bands = {"interval": f"95 % interval ({method})", "range": "lowest to highest run"}
    parts += [f"{statistic} over {seeds}", f"shaded: {bands[config.band]}"]
    parts.append("between the points of a run a straight line, and no curve beyond its end")
    return "; ".join(parts)


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of its suffix: .pdf, .svg,.png."""
    file_format = path.suffix[1:]
    options: Any = {"metadata": METADATA[file_format]} if file_format in METADATA else {}
    with atomic_replacement(path) as temporary_path, rc_context(FIGURE_RC_PARAMS):
        figure.savefig(temporary_path, format=file_format, dpi=FIGURE_DPI, **options)
