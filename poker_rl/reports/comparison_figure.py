"""Curves of groups of runs: mean and range over seeds, with a panel for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.evaluation.plots.plotting import (
    FIGURE_DPI,
    CurveLine,
    add_footnote,
    create_figure,
    create_panel_blocks,
    draw_lines,
    label_axes,
)
from poker_rl.evaluation.result import AGAINST, EXACT
from poker_rl.reports.comparison_table import ComparisonTable
from poker_rl.reports.run_groups import RunGroup
from poker_rl.reports.seed_means import interpolate_to_common_axis
from poker_rl.reports.text_tables import number_long_names
from poker_rl.storage.disk import atomic_replacement

LOG_SCALE_MEASURES = ("exploitability", "nash_conv")
# Text is saved as text, which is smaller than its outlines and can be searched and read aloud.
# The salt makes identifiers depend on the figure alone.
SVG_RC_PARAMS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "poker-rl",
    "font.family": "sans-serif",
}
UNDATED_METADATA: Any = {".png": {}, ".svg": {"Date": None}}  # equal figures are equal files


def draw_comparison(comparison_tables: Sequence[ComparisonTable]) -> Figure:
    """Draw the curves of all groups, with a panel for every measure of every game."""
    panels = [(table, name) for table in comparison_tables for name in table.measure_names]
    groups = [(table, group) for table in comparison_tables for group in table.groups]
    label_numbers = number_long_names(group.label for _, group in groups)
    if len(panels) == 1:
        figure, axes = create_figure(7.5, 4.5)
    else:
        figure, (axes,) = create_panel_blocks(1, len(panels))
    for ax, (table, name) in zip(axes, panels, strict=True):
        lines = [
            build_mean_line(table, group, name, label_numbers.get(group.label, group.label))
            for group in table.groups
        ]
        recorded_lines = [line for line in lines if line is not None]
        draw_lines(ax, recorded_lines, log_scale=name.endswith(LOG_SCALE_MEASURES))
        units = {table.get_measurement_info(group, name, "unit") for group in table.groups} - {""}
        y_label = name.removeprefix("eval/") + (f" ({', '.join(sorted(units))})" if units else "")
        label_axes(ax, table.game, table.x_axis, y_label)
    kinds = {
        table.get_measurement_info(group, name, "kind")
        for table, name in panels
        for group in table.groups
    }
    footnote_parts = ["exact"] * any(kind.startswith(EXACT) for kind in kinds)
    footnote_parts += ["won in matches"] * any(kind.startswith(AGAINST) for kind in kinds)
    if any(len(table.list_counted_runs(group)) > 1 for table, group in groups):
        footnote_parts.append(
            "mean over seeds, shaded: lowest to highest; between the points of a run a straight"
            " line, and no curve beyond the end of a run"
        )
    add_footnote(figure, "; ".join(footnote_parts))
    for table, group in groups:
        curve_name = f"{label_numbers.get(group.label, '')} {group.label}".strip()
        source = describe_curve_source(table, group)
        add_footnote(figure, f"{curve_name}: {table.game}, {source}")
    return figure


def describe_curve_source(table: ComparisonTable, group: RunGroup) -> str:
    """Return text with the player, the seeds and the folders of the runs of a curve."""
    counted_runs = table.list_counted_runs(group)
    if not counted_runs:
        return "no run that counts"
    seeds = ", ".join(str(run.config.get("seed")) for run in counted_runs)
    player = table.get_headline_player(group)
    player_text = "" if player == "-" else f"{player}, "
    parents = ", ".join(dict.fromkeys(str(run.folder.parent) for run in counted_runs))
    return f"{player_text}seed{'s' * (len(counted_runs) > 1)} {seeds}, in {parents}"


def build_mean_line(
    table: ComparisonTable, group: RunGroup, measure_name: str, legend_name: str
) -> CurveLine | None:
    """Return the mean and range of a measure over the counted runs of a group; None without any."""
    curves = [
        run.get_points(run.resolve_tag(measure_name), table.x_axis)
        for run in table.list_counted_runs(group)
    ]
    curves = [(x_values, values) for x_values, values in curves if len(x_values)]
    return build_line_over_runs(legend_name, curves) if curves else None


def build_line_over_runs(
    legend_name: str, curves: Sequence[tuple[np.ndarray, np.ndarray]]
) -> CurveLine:
    """Return the mean of curves and, if there are several, a band for their range.

    Args:
        curves: ascending positions on the axis and values of each run, at least one run.
    """
    x_values, values = interpolate_to_common_axis(curves)
    band = (("lowest to highest run", values.min(0), values.max(0)),) if len(curves) > 1 else ()
    return CurveLine(legend_name, x_values, values.mean(0), band)


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of its suffix, .png or .svg."""
    with atomic_replacement(path) as temporary_path, rc_context(SVG_RC_PARAMS):
        figure.savefig(
            temporary_path,
            format=path.suffix[1:],
            dpi=FIGURE_DPI,
            metadata=UNDATED_METADATA[path.suffix],
        )
