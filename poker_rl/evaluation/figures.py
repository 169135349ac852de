"""Figures of a run's curves. This module imports matplotlib, so import it only to draw.

Colours are Okabe and Ito's, told apart with any colour vision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import Outcomes
from poker_rl.folder import read_rows

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
INK, PALE = "#333333", "#E4E4E4"
AGAINST = re.compile(r"eval/\w+/against/(.+?)(/half_width|/p\d+)?")
COUNTERS = ("hands", "decisions", "updates", "iterations")

EARLIER_SELF = "earlier_self"

Curves = Mapping[str, np.ndarray]


def read(metrics: Path) -> dict[str, np.ndarray]:
    """Columns of a metrics.jsonl by tag, [rows] float64, NaN where a row lacks the tag."""
    rows = read_rows(metrics)
    tags = dict.fromkeys(tag for row in rows for tag in row)
    return {tag: np.array([row.get(tag, np.nan) for row in rows], float) for tag in tags}


def canvas(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure in inches and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        style(ax)
    return figure, axes


def style(ax: Axes) -> None:
    """Axes without a box, with a quiet grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)
    ax.tick_params(colors=INK, labelsize=9)
    ax.grid(color=PALE, linewidth=0.8)
    ax.set_axisbelow(True)


def short(number: float) -> str:
    """A number of steps as people write it: 20k, 1.5M."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def between(ax: Axes, number: float) -> str:
    """A tick between powers of ten on a logarithmic y axis, written where there is little else."""
    low, high = ax.get_ylim()
    leading = f"{number:e}"[0]
    return f"{number:g}" if high < 10 * low or (leading in "25" and high < 100 * low) else ""


def label(ax: Axes, title: str, x: str, y: str) -> None:
    """Title at the left, names of the axes, steps written short."""
    # Players and units are named by the user: a "$" in them begins no mathematics.
    ax.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False)
    ax.set_xlabel(x, color=INK, parse_math=False)
    ax.set_ylabel(y, color=INK, parse_math=False)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: short(number)))


def smoothed(values: np.ndarray, weight: float) -> np.ndarray:
    """Exponential average [N] in which the newest value weighs `weight`; begins at the first."""
    out = np.array(values, float)
    for i in range(1, len(out)):
        out[i] = weight * values[i] + (1 - weight) * out[i - 1]
    return out


@dataclass(frozen=True)
class Line:
    """A curve y over x [N]; `bands` are (name, low, high) around it, the widest first."""

    name: str
    x: np.ndarray
    y: np.ndarray
    bands: tuple[tuple[str, np.ndarray, np.ndarray], ...] = ()


def draw(ax: Axes, lines: Iterable[Line], log: bool = False) -> None:
    """Draw curves in colours of their own, with a legend; a single curve's bands are named.

    Axes become logarithmic if asked for and if there is a point to draw on them.
    """
    lines = list(lines)
    log = log and any(((line.x > 0) & (line.y > 0)).any() for line in lines)
    for i, line in enumerate(lines):
        colour, seen = COLOURS[i % len(COLOURS)], np.isfinite(line.y)
        if log:
            seen &= (line.x > 0) & (line.y > 0)
        x = line.x[seen]
        mark = "o" if len(x) == 1 else None
        ax.plot(x, line.y[seen], color=colour, linewidth=1.8, marker=mark, label=line.name)
        for n, (name, low, high) in enumerate(line.bands):
            ax.fill_between(
                x,
                low[seen],
                high[seen],
                color=colour,
                alpha=0.15 + 0.2 * n,
                linewidth=0,
                label=name if len(lines) == 1 else None,
            )
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        ax.yaxis.set_minor_formatter(FuncFormatter(lambda number, _: between(ax, number)))
        ax.tick_params(which="minor", colors=INK, labelsize=9)
    handles, names = ax.get_legend_handles_labels()
    if len(names) > 1:
        ax.legend(handles, names, frameon=False, fontsize=9, labelcolor=INK)


def players_of(curves: Curves, measure: str) -> list[str]:
    """Players of which a run records a measure."""
    ends = f"/{measure}"
    return [tag[5 : -len(ends)] for tag in curves if tag.startswith("eval/") and tag.endswith(ends)]


def of_player(curves: Curves, axis: str, player: str, measure: str) -> Line:
    """A measure of a player: over several instances their median and percentile bands."""
    tag, name = f"eval/{player}/{measure}", player.replace("_", " ")
    percent = sorted(int(name[len(tag) + 2 :]) for name in curves if name.startswith(f"{tag}/p"))
    if not percent:
        wide = curves.get(f"{tag}/half_width")
        y = curves[tag]
        interval = () if wide is None else (("95 % interval", y - wide, y + wide),)
        return Line(name, curves[axis], y, interval)
    pairs = zip(percent, reversed(percent), strict=True)
    bands = tuple(
        (f"{a} to {b} %", curves[f"{tag}/p{a}"], curves[f"{tag}/p{b}"]) for a, b in pairs if a < b
    )
    median = curves.get(f"{tag}/p50")
    middle, y = ("mean", curves[tag]) if median is None else ("median", median)
    return Line(f"{name}, {middle}", curves[axis], y, bands)


def exploitability(curves: Curves, axis: str, unit: str) -> Figure | None:
    """Exploitability of every player over the run, both axes logarithmic."""
    players = players_of(curves, "exploitability")
    if not players:
        return None
    figure, (ax,) = canvas(6.4, 4.2)
    draw(ax, [of_player(curves, axis, player, "exploitability") for player in players], log=True)
    label(ax, "Distance to Nash", axis, f"exploitability ({unit})")
    ax.grid(which="minor", color=PALE, linewidth=0.4)
    return figure


def matches(curves: Curves, axis: str, unit: str) -> Figure | None:
    """What every player wins from each opponent over the run, with 95 % intervals."""
    names = [match[1] for tag in curves if (match := AGAINST.fullmatch(tag))]
    opponents = list(dict.fromkeys(names))
    if not opponents:
        return None
    figure, axes = canvas(1 + 4 * len(opponents), 3.8, 1, len(opponents))
    sampled = any(tag.endswith("/half_width") for tag in curves)
    won = f"won ({unit})" + (", 95 % interval" if sampled else "")
    for ax, opponent in zip(axes, opponents, strict=True):
        measure = f"against/{opponent}"
        players = players_of(curves, measure)
        draw(ax, [of_player(curves, axis, player, measure) for player in players])
        ax.axhline(0, color=INK, linewidth=0.8)
        label(ax, f"Against {opponent}", axis, won)
    return figure


def networks(
    curves: Curves,
    axis: str,
    unit: str,
    selves: Mapping[str, Sequence[tuple[int, Measurement]]],
) -> Figure | None:
    """A row a player: what it wins from each bot over the run, and in the end from earlier selves.

    Args:
        selves: by player, what it won from itself at so many decisions; without any no figure.
    """
    if not selves:
        return None
    names = [match[1] for tag in curves if (match := AGAINST.fullmatch(tag))]
    bots = [name for name in dict.fromkeys(names) if name != EARLIER_SELF]
    columns = len(bots) + 1
    figure, axes = canvas(1 + 3.4 * columns, 3.2 * len(selves), len(selves), columns)
    rows = [axes[i : i + columns] for i in range(0, len(axes), columns)]
    for (player, met), row in zip(selves.items(), rows, strict=True):
        then = np.array([(at, won.value, won.half_width or 0) for at, won in met], float).T
        band = (("95 % interval", then[1] - then[2], then[1] + then[2]),)
        lines = [of_player(curves, axis, player, f"against/{bot}") for bot in bots]
        titles = [*(f"{player} against {bot}" for bot in bots), f"{player} against earlier selves"]
        for ax, line, title in zip(
            row, [*lines, Line(player, then[0], then[1], band)], titles, strict=True
        ):
            draw(ax, [line])
            ax.axhline(0, color=INK, linewidth=0.8)
            label(ax, title, axis, f"won ({unit})")
        row[-1].set_xlabel("decisions of the earlier self", color=INK)
    return figure


def outcomes(matches: Sequence[tuple[str, Outcomes]]) -> Figure | None:
    """How often each result of a hand was, in percent: a panel for each match and its title."""
    if not matches:
        return None
    columns = min(len(matches), 3)
    rows = ceil(len(matches) / columns)
    figure, axes = canvas(1 + 3.8 * columns, 3.2 * rows, rows, columns)
    for ax in axes[len(matches) :]:
        ax.set_visible(False)
    for ax, (title, ended) in zip(axes, matches, strict=False):
        results, hands = np.array(ended.results), np.array(ended.hands)
        share = 100 * hands / hands.sum()
        width = 0.9 * float(np.diff(results).min(initial=1))
        ax.bar(results, share, width, color=COLOURS[0])
        mean = float(results @ hands / hands.sum())
        ax.axvline(mean, color=COLOURS[1], label=f"mean {mean:.2f}")
        ax.legend(frameon=False, fontsize=9, labelcolor=INK)
        label(ax, title, f"won in a hand ({ended.unit})", "hands (%)")
    return figure


def losses(curves: Curves, axis: str, smoothing: float) -> Figure | None:
    """Every loss over the run, a panel each."""
    tags = [tag for tag in curves if tag.startswith("loss/")]
    if not tags:
        return None
    columns = min(len(tags), 3)
    rows = ceil(len(tags) / columns)
    figure, axes = canvas(1 + 3.8 * columns, 3.2 * rows, rows, columns)
    for ax in axes[len(tags) :]:
        ax.set_visible(False)
    for tag, ax in zip(tags, axes, strict=False):
        seen = np.isfinite(curves[tag])
        draw(ax, [Line(tag, curves[axis][seen], smoothed(curves[tag][seen], smoothing))])
        averaged = f", exponential average {smoothing:g}" if smoothing < 1 else ""
        label(ax, f"{tag[5:].replace('_', ' ').capitalize()} loss{averaged}", axis, "loss")
    return figure
