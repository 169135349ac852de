"""Curves of a run, read from its metrics.jsonl, and figures of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from poker_rl.evaluation.plots.plotting import (
    PLAYER_COLORS,
    CurveLine,
    Panel,
    add_footnote,
    draw_panels,
    strip_player_folders,
)
from poker_rl.storage.run_files import read_metrics_rows

MAIN_TAG_PATTERN = re.compile(r"eval/([^/]+)/(exploitability|against/.+?)(/p\d+)?(/half_width)?")
COUNTER_TAGS = ("hands", "decisions", "updates", "iterations")

Curves = Mapping[str, np.ndarray]  # columns of a file metrics.jsonl by tag, each [rows]


def read_curves(metrics_path: Path) -> dict[str, np.ndarray]:
    """Read the columns of a file metrics.jsonl by tag, [rows]; NaN where a row lacks the tag.

    The tags are in the order of the newest row, in which the headline player comes first.
    """
    rows = read_metrics_rows(metrics_path)
    tags = dict.fromkeys(tag for row in reversed(rows) for tag in row)
    return {tag: np.array([row.get(tag, np.nan) for row in rows], float) for tag in tags}


def list_players_and_measures(curves: Curves) -> list[tuple[str, str]]:
    """Return (player, measure) of all curves of exploitability and of winnings in matches."""
    matches = filter(None, map(MAIN_TAG_PATTERN.fullmatch, curves))
    return [(match[1], match[2]) for match in matches if not match[3] and not match[4]]


def build_curve_figures(
    metrics_path: Path, x_axis: str, unit: str, other_seats_player: str | None
) -> dict[str, Figure]:
    """Return figures of a run's exploitability, matches and losses, as far as recorded, by name."""
    curves = read_curves(metrics_path)
    lines: dict[str, list[CurveLine]] = {}
    for player, measure in list_players_and_measures(curves):
        line = build_player_curve(curves, x_axis, player, measure)
        lines.setdefault(measure, []).append(line)
    exact_lines, won = lines.pop("exploitability", []), f"won ({unit})"
    exact_panel = Panel("Distance to Nash", exact_lines, f"exploitability ({unit})", log_scale=True)
    losses = []
    for tag in (tag for tag in curves if tag.startswith("loss/")):
        title = f"{tag[5:].replace('_', ' ').capitalize()} loss"
        line = CurveLine(tag, *select_recorded_points(curves, x_axis, tag))
        losses.append(Panel(title, [line], "loss"))
    exact_note = "exact, over the whole game tree"
    if other_seats_player is not None:
        exact_note += f"; {strip_player_folders(other_seats_player)} in every seat but the first"
    panels_and_notes = {
        "exploitability": ([exact_panel] * bool(exact_lines), exact_note),
        "matches": (
            [Panel(f"Against {strip_player_folders(m)}", each, won) for m, each in lines.items()],
            "matches",
        ),
        "losses": (losses, "each point is the mean of the updates since the point before it"),
    }
    figures = {}
    for name, (panels, note) in panels_and_notes.items():
        if panels:
            figures[name] = draw_panels(panels, x_axis)
            bands = [band[0] for panel in panels for line in panel.lines for band in line.bands]
            note += f"; shaded: {', '.join(dict.fromkeys(bands))}" * bool(bands)
            add_footnote(figures[name], note)
    return figures


def select_recorded_points(curves: Curves, x_axis: str, tag: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of `x_axis` and of a tag, both [n], from the n rows that have the tag."""
    is_recorded = np.isfinite(curves[tag])
    return curves[x_axis][is_recorded], curves[tag][is_recorded]


def build_player_curve(curves: Curves, x_axis: str, player: str, measure: str) -> CurveLine:
    """Return a player's curve of a measure.

    If percentiles over instances are recorded, they become bands around the median, or around the
    mean if the median is not recorded. Otherwise the band is the 95 % interval, if recorded.
    """
    tag, name = f"eval/{player}/{measure}", player.replace("_", " ")
    players = list(dict.fromkeys(tag.split("/")[1] for tag in curves if tag.startswith("eval/")))
    name += " (headline)" * (len(players) > 1 and player == players[0])
    color = PLAYER_COLORS.get(player.partition(".")[0])
    matches = map(re.compile(re.escape(tag) + r"/p(\d+)").fullmatch, curves)
    percentiles = sorted(int(match[1]) for match in matches if match)
    if percentiles:
        bands = tuple(
            (f"{a} to {b} %", curves[f"{tag}/p{a}"], curves[f"{tag}/p{b}"])
            for a, b in zip(percentiles, reversed(percentiles), strict=True)
            if a < b
        )
        center, center_tag = ("median", f"{tag}/p50") if f"{tag}/p50" in curves else ("mean", tag)
        return CurveLine(f"{name}, {center}", curves[x_axis], curves[center_tag], bands, color)
    x, y = select_recorded_points(curves, x_axis, tag)
    if f"{tag}/half_width" not in curves:
        return CurveLine(name, x, y, (), color)
    half_widths = curves[f"{tag}/half_width"][np.isfinite(curves[tag])]
    return CurveLine(name, x, y, (("95 % interval", y - half_widths, y + half_widths),), color)
