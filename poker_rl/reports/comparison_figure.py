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
    Panel,
    add_footnote,
    draw_panels,
)
from poker_rl.evaluation.result import AGAINST, EXACT
from poker_rl.reports.comparison import Comparison
from poker_rl.reports.rendering import number_long_names
from poker_rl.storage.disk import atomic_replacement

LOG_SCALE_MEASURES = ("exploitability", "nash_conv")
# Text is saved as text, which is smaller than its outlines and can be searched and read aloud.
# The salt makes identifiers depend on the figure alone.
SVG_RC_PARAMS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "poker-rl",
    "font.family": "sans-serif",
}


def draw_comparison(comparisons: Sequence[Comparison]) -> Figure:
    """Draw the curves of all groups, with a panel for every measure of every game."""
    groups = [group for comparison in comparisons for group in comparison.groups]
    label_numbers = number_long_names(group.label for group in groups)
    panels = []
    for comparison in comparisons:
        for measure in comparison.measures:
            lines = []
            for group in comparison.groups:
                points = [run.get_points(measure, comparison.x_axis) for run in group.counted_runs]
                curves = [(x_values, values) for x_values, values in points if len(x_values)]
                if curves:
                    label = label_numbers.get(group.label, group.label)
                    lines.append(build_line_over_runs(label, curves))
            y_label, log_scale = (
                comparison.format_heading(measure),
                measure.endswith(LOG_SCALE_MEASURES),
            )
            panels.append(Panel(comparison.game, lines, y_label, log_scale))
    figure = draw_panels(panels, comparisons[0].x_axis)
    kinds = {record["kind"] for comparison in comparisons for record in comparison.records}
    footnote_parts = ["exact"] * any(kind.startswith(EXACT) for kind in kinds)
    footnote_parts += ["won in matches"] * any(kind.startswith(AGAINST) for kind in kinds)
    if any(len(group.counted_runs) > 1 for group in groups):
        footnote_parts.append(
            "mean over seeds, shaded: lowest to highest; between the points of a run a straight"
            " line, and no curve beyond the end of a run"
        )
    add_footnote(figure, "; ".join(footnote_parts))
    for label, number in label_numbers.items():
        add_footnote(figure, f"{number} {label}")
    return figure


def build_line_over_runs(
    legend_name: str, curves: Sequence[tuple[np.ndarray, np.ndarray]]
) -> CurveLine:
    """Return the mean of curves where all are defined, with a band for the range of several.

    Args:
        curves: ascending positions on the axis and values of each run, at least one run.
    """
    x_values = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    x_values = x_values[(x_values >= start) & (x_values <= end)]
    values = np.stack([np.interp(x_values, run_x, run_values) for run_x, run_values in curves])
    band = (("lowest to highest run", values.min(0), values.max(0)),) if len(curves) > 1 else ()
    return CurveLine(legend_name, x_values, values.mean(0), band)


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format of its suffix, .png or .svg."""
    file_format = path.suffix[1:]
    metadata: Any = {"Date": None} if file_format == "svg" else {}  # equal figures, equal files
    with atomic_replacement(path) as temporary_path, rc_context(SVG_RC_PARAMS):
        figure.savefig(temporary_path, format=file_format, dpi=FIGURE_DPI, metadata=metadata)
