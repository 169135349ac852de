"""Figures of the curves of a run and of the cross table of a tournament. Imports matplotlib."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from poker_rl.evaluation.matches.tournament import TournamentResults
from poker_rl.evaluation.plots.plotting import (
    INK_COLOR,
    CurveLine,
    Panel,
    add_footnote,
    draw_cell_text,
    draw_panels,
    set_figure_title,
    wrap_text,
)
from poker_rl.storage.run_folder import read_metrics_rows

AGAINST_TAG_PATTERN = re.compile(r"eval/\w+/against/(.+?)((?:/p\d+)?(?:/half_width)?)")
COUNTER_TAGS = ("hands", "decisions", "updates", "iterations")
CELL_WIDTH = 0.85  # inches
NAME_LINE_LENGTH = 18  # characters in a line of a player's name
LINEAR_SHARE = 0.1  # the color scale is linear up to this share of the largest result

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
    line_name += " (headline)" * (len(players) > 1 and player == players[0])
    matches = map(re.compile(re.escape(tag) + r"/p(\d+)").fullmatch, curves)
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


def draw_cross_table(results: TournamentResults) -> Figure:
    """Draw a heat map of what each player won from each other player, ordered by rank."""
    names, player_count = results.player_names, len(results.player_names)
    cells = {
        (row, column): result
        for (row, a), (column, b) in product(enumerate(names), repeat=2)
        if (result := results.find_result(a, f"won/{b}")) is not None
    }
    winnings_matrix = np.full((player_count, player_count), np.nan)
    for position, result in cells.items():
        winnings_matrix[position] = result.value
    limit = float(np.nanmax(np.abs(winnings_matrix))) or 1.0
    # On a linear color scale, one very large result would make all other cells pale.
    norm = SymLogNorm(LINEAR_SHARE * limit, vmin=-limit, vmax=limit)
    side_length = CELL_WIDTH * player_count
    size = max(2.6 + side_length, 5.5), 2.2 + 0.62 * side_length
    figure = Figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    ax.imshow(winnings_matrix, cmap="PuOr", norm=norm, aspect="auto")
    for (row, column), result in cells.items():
        text = "+" * (result.value > 0) + result.formatted_value.replace(" ± ", "\n± ")
        text = text.replace("-", "\N{MINUS SIGN}")
        draw_cell_text(ax, column, row, text, is_dark=abs(norm(result.value) - 0.5) > 0.3)
    wrapped_names = [wrap_text(shorten_player_name(name), NAME_LINE_LENGTH) for name in names]
    slanted: Any = {"rotation": 30, "ha": "left", "rotation_mode": "anchor", "parse_math": False}
    ax.set_xticks(range(player_count), wrapped_names, **slanted)
    ax.xaxis.tick_top()
    rows = [f"{rank}. {name}" for rank, name in enumerate(wrapped_names, start=1)]
    ax.set_yticks(range(player_count), rows, parse_math=False)
    ax.tick_params(length=0, labelsize=9, colors=INK_COLOR)
    ax.spines[:].set_visible(False)
    borders = np.arange(1, player_count) - 0.5
    for draw_lines in (ax.hlines, ax.vlines):
        draw_lines(borders, -0.5, player_count - 0.5, color="white", linewidth=2)
    title = f"{results.game.name}: {results.cell_meaning}, {results.results[0].unit}"
    set_figure_title(figure, title)
    add_footnote(figure, f"{results.description}; players by rank")
    return figure
