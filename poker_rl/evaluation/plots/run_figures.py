"""Figures of the curves of a run. Imports matplotlib."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from poker_rl.evaluation.plots.plotting import (
    CurveLine,
    Panel,
    add_footnote,
    draw_panels,
)
from poker_rl.storage.run_folder import read_metrics_rows

AGAINST_TAG_PATTERN = re.compile(r"eval/\w+/against/(.+?)((?:/p\d+)?(?:/half_width)?)")
COUNTER_TAGS = ("hands", "decisions", "updates", "iterations")

Curves = Mapping[str, np.ndarray]  # columns of a file metrics.jsonl by tag, each [rows]


def read_curves(metrics_path: Path) -> dict[str, np.ndarray]:
    """Read the columns of a file metrics.jsonl by tag, [rows]; NaN where a row lacks the tag.

    The tags have the order of the newest row, which begins with the first player of the learner.
    """
    rows = read_metrics_rows(metrics_path)
    tags = dict.fromkeys(tag for row in reversed(rows) for tag in row)
    return {tag: np.array([row.get(tag, np.nan) for row in rows], float) for tag in tags}


def build_run_figures(
    metrics_path: Path, x_axis: str, unit: str, other_seats_player: str | None
) -> dict[str, Figure]:
    """Return figures by name with a run's exploitability, matches and losses, if recorded."""
    curves = read_curves(metrics_path)
    exact_note = "exact, over the whole game tree"
    if other_seats_player is not None:
        exact_note += f"; {shorten_player_name(other_seats_player)} in every seat but the first"
    opponents = [match[1] for tag in curves if (match := AGAINST_TAG_PATTERN.fullmatch(tag))]
    match_titles = {f"against/{name}": f"Against {shorten_player_name(name)}" for name in opponents}
    figures = {
        "exploitability": _draw_measures(
            curves,
            x_axis,
            {"exploitability": "Distance to Nash"},
            f"exploitability ({unit})",
            exact_note,
            log_scale=True,
        ),
        "matches": _draw_measures(curves, x_axis, match_titles, f"won ({unit})", "matches"),
        "losses": _draw_losses(curves, x_axis),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def build_player_line(curves: Curves, x_axis: str, player: str, measure: str) -> CurveLine:
    """Return a player's curve of a measure.

    For a player with several instances, it is their median or mean with bands of percentiles.
    """
    tag, line_name = f"eval/{player}/{measure}", player.replace("_", " ")
    players = list(dict.fromkeys(tag.split("/")[1] for tag in curves if tag.startswith("eval/")))
    if players[1:] and player == players[0]:
        line_name += " (headline)"
    percentile_pattern = re.compile(re.escape(tag) + r"/p(\d+)")
    matches = map(percentile_pattern.fullmatch, curves)
    percentiles = sorted(int(match[1]) for match in matches if match)
    if not percentiles:
        is_recorded = np.isfinite(curves[tag])
        x, y = curves[x_axis][is_recorded], curves[tag][is_recorded]
        half_widths = curves.get(f"{tag}/half_width")
        if half_widths is None:
            return CurveLine(line_name, x, y, (), player)
        half_widths = half_widths[is_recorded]
        band = ("95 % interval", y - half_widths, y + half_widths)
        return CurveLine(line_name, x, y, (band,), player)
    bands = tuple(
        (f"{a} to {b} %", curves[f"{tag}/p{a}"], curves[f"{tag}/p{b}"])
        for a, b in zip(percentiles, reversed(percentiles), strict=True)
        if a < b
    )
    median = curves.get(f"{tag}/p50")
    center_name, y = ("mean", curves[tag]) if median is None else ("median", median)
    return CurveLine(f"{line_name}, {center_name}", curves[x_axis], y, bands, player)


def shorten_player_name(player: str) -> str:
    """Return a player's name without the folders of its path, for a title."""
    return player.rpartition("/")[2]


def _draw_measures(
    curves: Curves,
    x_axis: str,
    titles: Mapping[str, str],
    y_label: str,
    note: str,
    log_scale: bool = False,
) -> Figure | None:
    """Draw a panel for each measure in `titles` that was recorded, with a curve for each player."""
    panels = []
    for measure, title in titles.items():
        tag_pattern = re.compile(f"eval/(.+)/{re.escape(measure)}")
        players = [match[1] for match in map(tag_pattern.fullmatch, curves) if match]
        lines = [build_player_line(curves, x_axis, player, measure) for player in players]
        panels += [Panel(title, lines, y_label, log_scale)] if lines else []
    if not panels:
        return None
    figure = draw_panels(panels, x_axis)
    bands = [name for panel in panels for line in panel.lines for name, _, _ in line.bands]
    add_footnote(figure, note + (f"; shaded: {', '.join(dict.fromkeys(bands))}" if bands else ""))
    return figure


def _draw_losses(curves: Curves, x_axis: str) -> Figure | None:
    """Draw every training loss during the run in its own panel."""
    panels = []
    for tag in (tag for tag in curves if tag.startswith("loss/")):
        is_recorded = np.isfinite(curves[tag])
        x, y = curves[x_axis][is_recorded], curves[tag][is_recorded]
        title = f"{tag[5:].replace('_', ' ').capitalize()} loss"
        panels.append(Panel(title, [CurveLine(tag, x, y, player="loss")], "loss"))
    if not panels:
        return None
    figure = draw_panels(panels, x_axis)
    add_footnote(figure, "each point is the mean of the updates since the point before it")
    return figure
