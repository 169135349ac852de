"""What all figures share: colours, axes, ticks, curves and the words at the foot.

This module imports matplotlib, so import it only to draw. Colours are Okabe and Ito's, told apart
with any colour vision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import ceil, floor, log10
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, Locator, MaxNLocator, NullFormatter

from poker_rl.storage.disk import replaced

# A player has the same colour in every figure, whatever else is drawn there.
PLAYERS = {
    "current": "#0072B2",
    "weight_average": "#D55E00",
    "average": "#009E73",
    "greedy": "#CC79A7",
}
OTHERS = ("#E69F00", "#56B4E9", "#666666")
INK, GREY, PALE = "#333333", "#777777", "#E4E4E4"
MOST_COLUMNS = 3  # of panels side by side
DASHES = ("-", "--", ":")  # of the first, second and third line of a colour
MOST_TICKS = 7  # on a logarithmic axis
DPI = 150
MOST_INSIDE = 5  # names of a legend within the axes; a longer one stands beside them
FOOT_LINE = 7 * 1.2 / 72  # inches
TITLE_CHARACTERS, FOOT_CHARACTERS = 13, 17  # in an inch of a line


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name: a player's own, or the next that is free.

    A copy of a player, `average.7`, has the player's colour.
    """
    names = list(dict.fromkeys(names))
    own = {name: PLAYERS[kind] for name in names if (kind := name.partition(".")[0]) in PLAYERS}
    free = cycle([*OTHERS, *(colour for colour in PLAYERS.values() if colour not in own.values())])
    return {name: own.get(name) or next(free) for name in names}


def dashes(colour_of: Mapping[str, str]) -> dict[str, str]:
    """A style for each name, so that lines of one colour can be told apart."""
    before: Counter[str] = Counter()
    style_of = {}
    for name, colour in colour_of.items():
        style_of[name] = DASHES[min(before[colour], len(DASHES) - 1)]
        before[colour] += 1
    return style_of


def canvas(
    width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure in inches and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        style(ax)
    return figure, axes


def panels(blocks: int, count: int) -> tuple[Figure, list[list[Axes]]]:
    """A figure of blocks of `count` panels each, a few side by side, and the axes by block."""
    columns = min(count, MOST_COLUMNS)
    rows = ceil(count / columns)
    figure, axes = canvas(1 + 3.8 * columns, 0.4 + 3.2 * rows * blocks, rows * blocks, columns)
    size = rows * columns
    found = []
    for start in range(0, len(axes), size):
        found.append(axes[start : start + count])
        for ax in axes[start + count : start + size]:
            ax.set_visible(False)
    return figure, found


def style(ax: Axes) -> None:
    """Axes without a box, with a quiet grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)
    ax.tick_params(which="both", colors=INK, labelsize=9)
    ax.grid(color=PALE, linewidth=0.8)
    ax.set_axisbelow(True)


def short(number: float) -> str:
    """A number of steps as people write it: 20k, 1.5M."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"


class Steps(Formatter):
    """Ticks written by `short`."""

    def __call__(self, number: float, position: int | None = None) -> str:
        return short(number)


class Numbers(Formatter):
    """Ticks of an axis written alike: all as decimals, or all with an exponent, as in 2e-5."""

    def __call__(self, number: float, position: int | None = None) -> str:
        return self.format_ticks([number])[0]

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        """The words of all ticks."""
        values = [0.0 if abs(value) < 1e-15 else float(value) for value in values]
        if all(1e-4 <= abs(value) < 1e6 for value in values if value):
            return [f"{value:g}" for value in values]
        return [self._scientific(value) for value in values]

    @staticmethod
    def _scientific(value: float) -> str:
        digits, _, exponent = f"{value:.4e}".partition("e")
        return f"{float(digits):g}e{int(exponent)}" if value else "0"


class Decades(Locator):
    """Some round numbers on a logarithmic axis, as evenly spaced as there are.

    Args:
        most: how many there may be.
    """

    def __init__(self, most: int = MOST_TICKS) -> None:
        self.most = most

    def __call__(self) -> Sequence[float]:
        return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The ticks between two positive numbers."""
        powers = range(floor(log10(vmin)), ceil(log10(vmax)) + 1)
        for leading in ((1, 2, 5), (1, 3), (1,)):
            ticks = [digit * 10.0**power for power in powers for digit in leading]
            ticks = [tick for tick in ticks if vmin <= tick <= vmax]
            if len(ticks) <= self.most:
                break
        if len(ticks) < 3:  # less than a power of ten
            linear = MaxNLocator(4).tick_values(vmin, vmax)
            return [float(tick) for tick in linear if vmin <= tick <= vmax]
        return ticks[:: ceil(len(ticks) / self.most)]


def wrapped(words: str, characters: float) -> str:
    """Words in lines of so many characters; what is longer, such as a path, is broken too."""
    return fill(words, int(characters), break_on_hyphens=False)


def label(ax: Axes, title: str, x: str, y: str) -> None:
    """Title at the left, names of the axes, ticks of one style."""
    inches = ax.get_position().width * ax.get_figure().get_figwidth()  # type: ignore[union-attr]
    title = wrapped(title, TITLE_CHARACTERS * inches)
    # Folders, players and units are named by the user: a "$" in them begins no mathematics.
    ax.set_title(title, loc="left", fontsize=11, color=INK, parse_math=False)
    ax.set_xlabel(x, color=INK, parse_math=False)
    ax.set_ylabel(y, color=INK, parse_math=False)
    for axis, written in ((ax.xaxis, Steps()), (ax.yaxis, Numbers())):
        axis.set_major_formatter(written)
        axis.set_minor_formatter(NullFormatter())
        if axis.get_scale() == "log":
            axis.set_major_locator(Decades())


@dataclass(frozen=True)
class Line:
    """A curve y over x [N]; `bands` are (name, low, high) around it, the widest first.

    `player` is whose colour it has; without one it has a colour of its own name.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    bands: tuple[tuple[str, np.ndarray, np.ndarray], ...] = ()
    player: str | None = None

    @property
    def painted(self) -> str:
        """The name that its colour stands for."""
        return self.player or self.name


def draw(ax: Axes, lines: Iterable[Line], log: bool = False) -> None:
    """Draw curves with a legend; a single curve's bands are named.

    A point that stands alone gets a mark, and bars in place of its bands. If `log` is asked for, an
    axis becomes logarithmic if there is anything to show on it: a positive y, two positive x.
    """
    lines = list(lines)
    colour_of = colours(line.painted for line in lines)
    dash_of = dashes(colour_of)
    log_y = log and any((line.y > 0).any() for line in lines)
    log_x = log_y and len({x for line in lines for x in line.x[(line.x > 0) & (line.y > 0)]}) > 1
    drawn: set[float] = set()
    for i, line in enumerate(lines):
        colour, seen = colour_of[line.painted], np.isfinite(line.y)
        seen &= (line.y > 0) | (not log_y)
        seen &= (line.x > 0) | (not log_x)
        x = line.x[seen]
        drawn |= set(x.tolist())
        mark = "o" if len(x) == 1 else None
        ax.plot(
            x,
            line.y[seen],
            dash_of[line.painted],
            color=colour,
            linewidth=1.8,
            marker=mark,
            label=line.name,
        )
        for n, (name, low, high) in enumerate(line.bands):
            strength, named = 0.15 + 0.2 * n, name if len(lines) == 1 else ""
            if len(x) == 1:
                ax.vlines(
                    x,
                    low[seen],
                    high[seen],
                    colors=colour,
                    alpha=strength + 0.3,
                    linewidth=3 * (len(lines) - i + n),  # narrower than what it may cover
                    label=named,
                )
            else:
                ax.fill_between(
                    x,
                    low[seen],
                    high[seen],
                    color=colour,
                    alpha=strength,
                    linewidth=0,
                    label=named,
                )
    if log_x:
        ax.set_xscale("log")
    elif len(drawn) == 1:
        ax.set_xticks(list(drawn))
    else:
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    if log_y:
        ax.set_yscale("log")
    handles, names = ax.get_legend_handles_labels()
    if len(names) > 1:
        beside: Any = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        where = beside if len(names) > MOST_INSIDE else {}
        ax.legend(handles, names, frameon=False, fontsize=9, labelcolor=INK, **where)


def shaded(lines: Iterable[Line]) -> str:
    """What the bands around curves are, to end a sentence with; nothing if there are none."""
    names = dict.fromkeys(name for line in lines for name, _, _ in line.bands)
    return f"; shaded: {', '.join(names)}" if names else ""


def footnote(figure: Figure, words: str) -> None:
    """Add words in small grey letters at the foot of a figure, below those that are there.

    It grows by them, so that its axes keep their size.
    """
    lines = wrapped(words, FOOT_CHARACTERS * figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + FOOT_LINE * (lines.count("\n") + bool(lines)))
    above = figure.get_supxlabel()
    text = f"{above}\n{lines}" if above else lines
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color=GREY, parse_math=False)


def save(figure: Figure, path: Path, origin: str) -> None:
    """Write a figure as PNG, `origin` at its foot: whose numbers these are."""
    footnote(figure, origin)
    with replaced(path) as beside:
        figure.savefig(beside, format="png", dpi=DPI)
