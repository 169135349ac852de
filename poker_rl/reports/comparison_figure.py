"""Figures that compare groups of runs: curves over training, or performance profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    set_figure_title,
)
from poker_rl.evaluation.result import AGAINST, EXACT
from poker_rl.reports.comparison import LOWER_IS_BETTER, Comparison
from poker_rl.reports.seed_statistics import compute_profile
from poker_rl.storage.disk import atomic_replacement

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


def draw_comparison(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel for every measure of every game, with a curve or profile for each group."""
    config = comparisons[0].config
    panels = list_profile_panels(comparisons) if config.profile else list_curve_panels(comparisons)
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
    x_label = "threshold" if config.profile else comparisons[0].x_axis
    figure = draw_panels(panels, x_label)
    if title and len(panels) > 1:
        set_figure_title(figure, title)
    if config.caption == "figure":
        add_footnote(figure, describe_figure(comparisons))
    figure.set_figwidth(config.width or figure.get_figwidth())
    figure.set_figheight(config.height or figure.get_figheight())
    return figure


def list_curve_panels(comparisons: Sequence[Comparison]) -> list[Panel]:
    """Return a panel of curves over training for every measure of every game."""
    return [
        Panel(
            comparison.game,
            [
                line
                for group in comparison.groups
                if (line := comparison.build_group_curve(group, measure))
            ],
            comparison.format_heading(measure),
            measure.endswith(LOWER_IS_BETTER),
        )
        for comparison in comparisons
        for measure in comparison.measures
    ]


def list_profile_panels(comparisons: Sequence[Comparison]) -> list[Panel]:
    """Return a panel for every measure of every game, with a performance profile for each group.

    A profile shows what share of runs is better than each threshold.
    """
    panels = []
    for comparison in comparisons:
        for measure in comparison.measures:
            sign = -1 if measure.endswith(LOWER_IS_BETTER) else 1
            scores_by_label = {
                group.label: sign * np.array(values)
                for group in comparison.groups
                if (values := comparison.list_run_values(group, measure))
            }
            if not scores_by_label:
                continue
            all_scores = np.concatenate(list(scores_by_label.values()))
            low, high = float(all_scores.min()), float(all_scores.max())
            margin = 0.05 * (high - low) or 0.05 * abs(high)
            thresholds = np.linspace(low - margin, high + margin, 1001)
            lines = []
            for label, scores in scores_by_label.items():
                share, low_share, high_share = compute_profile(scores, thresholds)
                band = ("interval", low_share, high_share)
                lines.append(CurveLine(label, sign * thresholds, share, (band,)))
            title = f"{comparison.game}: {comparison.format_heading(measure)}"
            relation = "below" if sign < 0 else "above"
            panels.append(Panel(title, lines, f"share of runs {relation} the threshold"))
    return panels


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
    if config.profile:
        return "; ".join([*parts, seeds, "shaded: 95 % interval (bootstrap)"])
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
