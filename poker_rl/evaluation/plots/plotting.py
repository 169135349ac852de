"""Style sheet of all figures, panels of curves, and footnotes.

The colors are those of Okabe and Ito, which can be distinguished with any color vision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from poker_rl.storage.disk import atomic_replacement

# A player with one of these names has the same color in every figure, and so have its instances.
PLAYER_COLORS = {
    "current": "#0072B2",
    "weight_average": "#D55E00",
    "average": "#009E73",
    "greedy": "#CC79A7",
}
OTHER_COLORS = ("#E69F00", "#56B4E9", "#666666")
INK_COLOR, GRAY_COLOR, GRID_COLOR = "#333333", "#777777", "#E4E4E4"
STYLE: Any = {  # settings of matplotlib with which every figure is drawn
    "axes.axisbelow": True,
    "axes.edgecolor": INK_COLOR,
    "axes.labelcolor": INK_COLOR,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK_COLOR,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.titlesize": 11,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.labelcolor": INK_COLOR,
    "lines.linewidth": 1.8,
    "text.color": INK_COLOR,
    "text.parse_math": False,  # names chosen by users may contain "$"
}
# Text in SVG files is stored as characters, which can be searched and read aloud. A fixed salt
# gives equal figures equal identifiers in SVG. Journals require PDF fonts of type 42.
FILE_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "poker-rl", "pdf.fonttype": 42}
# Figures are saved without a date, so that equal figures give equal files.
METADATA: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
MAX_PANEL_COLUMNS = 3
LINE_STYLES: Any = ("-", "--", ":")  # for the first, second and further curves of one color
MAX_LEGEND_NAMES_INSIDE = 5  # a longer legend is drawn beside the axes
FOOTNOTE_LINE_HEIGHT = 7 * 1.2 / 72  # inches
TITLE_CHARACTERS_PER_INCH, FOOTNOTE_CHARACTERS_PER_INCH = 13, 17
LEGEND_LINE_LENGTH = 28  # a legend with longer names is drawn beside the axes
MIN_LOG_RATIO = 4  # a logarithmic axis needs this ratio of the largest to the smallest value


@dataclass(frozen=True)
class CurveLine:
    """Curve of y over x [N].

    Attributes:
        bands: shaded areas around the curve, the widest first, as (name, low [N], high [N]).
        color: color of the curve; None to choose a free one.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    bands: tuple[tuple[str, np.ndarray, np.ndarray], ...] = ()
    color: str | None = None


@dataclass(frozen=True)
class Panel:
    """Curves in one panel of a figure; `log_scale` permits logarithmic axes, see `draw_panel`.

    `x_range` and `y_range` are [low, high] of the axes; None: chosen by the curves.
    """

    title: str
    lines: Sequence[CurveLine]
    y_label: str
    log_scale: bool = False
    x_range: Sequence[float] | None = None
    y_range: Sequence[float] | None = None


@rc_context(STYLE)
def create_figure_and_axes(
    count: int, columns: int = MAX_PANEL_COLUMNS, size: tuple[float, float] | None = None
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its `count` axes, at most `columns` in a row; `size` is in inches."""
    columns = min(count, columns)
    rows = ceil(count / columns)
    size = size or ((6.4, 4.2) if count == 1 else (1 + 3.8 * columns, 0.4 + 3.2 * rows))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for index, ax in enumerate(axes):
        ax.tick_params(which="both", colors=INK_COLOR, labelsize=9)
        ax.grid(color=GRID_COLOR, linewidth=0.8)
        ax.set_visible(index < count)
    return figure, axes[:count]


def format_short_number(number: float) -> str:
    """Format a number with the suffix k, M or B if it is large: 20k, 1.5M."""
    for size, suffix in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.4g}{suffix}"
    return f"{number:.4g}"


def wrap_text(text: str, line_length: float) -> str:
    """Wrap text at spaces, and break words that are longer than a line."""
    return fill(text, int(line_length), break_on_hyphens=False)


def strip_player_folders(player: str) -> str:
    """Return a player's name for a title: the last part if the name is a path."""
    return player.rpartition("/")[2]


@rc_context(STYLE)
def draw_panel(ax: Axes, panel: Panel, x_label: str) -> None:
    """Draw curves with their bands and a legend; it names the bands if there is only one curve.

    A curve of a single point is drawn as a marker, and its bands as vertical bars. If `log_scale`,
    axes with a wide range of positive values are logarithmic; such an x axis still shows x = 0.
    """
    lines = panel.lines
    all_x = np.concatenate([*(line.x for line in lines), []])
    all_y = np.concatenate([*(line.y for line in lines), []])
    positive_x, positive_y = all_x[all_x > 0], all_y[all_y > 0]
    log_x, log_y = (
        panel.log_scale and len(values) > 0 and values.max() >= MIN_LOG_RATIO * values.min()
        for values in (positive_x, positive_y)
    )
    log_y = log_y and (panel.y_range is None or panel.y_range[0] > 0)
    own_colors = {line.color for line in lines}
    free_colors = [color for color in PLAYER_COLORS.values() if color not in own_colors]
    ax.set_prop_cycle(color=[*OTHER_COLORS, *free_colors])  # for curves without a color
    color_counts: Counter[Any] = Counter()
    for i, line in enumerate(lines):
        is_visible = np.isfinite(line.y) & ((line.y > 0) | (not log_y))
        x, y = line.x[is_visible], line.y[is_visible]
        marker = "o" if len(x) == 1 else None
        label = wrap_text(line.name, LEGEND_LINE_LENGTH)
        (curve,) = ax.plot(x, y, color=line.color, marker=marker, label=label)
        color = curve.get_color()
        curve.set_linestyle(LINE_STYLES[min(color_counts[color], 2)])
        color_counts[color] += 1
        for n, (name, low, high) in enumerate(line.bands):
            interval = x, low[is_visible], high[is_visible]
            options: Any = {"color": color, "alpha": 0.2 * n + (0.45 if len(x) == 1 else 0.15)}
            options["label"] = name if len(lines) == 1 else ""
            if len(x) == 1:  # each bar is thinner than those drawn before it
                ax.vlines(*interval, linewidth=3 * (len(lines) - i + n), **options)
            else:
                ax.fill_between(*interval, linewidth=0, **options)
    if (all_y < 0).any():
        ax.axhline(0, color=INK_COLOR, linewidth=0.8)
    if log_x:
        first_tick, least = [0.0] if 0 in all_x else [], float(positive_x.min())
        ax.set_xscale("symlog", linthresh=least, linscale=0.3 if first_tick else 0.01)
    if log_y:
        ax.set_yscale("log")
    ax.set(xlim=panel.x_range, ylim=panel.y_range)  # before the ticks, which depend on the ranges
    ax.xaxis.set_major_formatter(lambda number, position: format_short_number(number))
    if log_x:
        set_log_ticks(ax.xaxis, 0.95 * least, first_tick)
    elif len(unique_x := np.unique(all_x)) == 1:
        ax.set_xticks(unique_x)
    else:
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    if log_y:
        set_log_ticks(ax.yaxis)
    handles, names = ax.get_legend_handles_labels()
    if len(names) > 1:
        is_large = len(names) > MAX_LEGEND_NAMES_INSIDE or any("\n" in name for name in names)
        placement: Any = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if is_large else {}
        ax.legend(handles, names, **placement)
    inches = ax.get_position().width * ax.get_figure().get_figwidth()  # type: ignore[union-attr]
    ax.set_title(wrap_text(panel.title, TITLE_CHARACTERS_PER_INCH * inches))
    ax.set(xlabel=x_label, ylabel=panel.y_label)


def set_log_ticks(axis: Axis, low: float = 0.0, more_ticks: Sequence[float] = ()) -> None:
    """Set the ticks of a logarithmic axis: powers of ten, with values between if they are few.

    An axis whose ends differ by less than a factor of 2 gets equally spaced ticks.
    `low` replaces the lower end of the axis if that is not positive. `more_ticks` are added.
    """
    start, high = axis.get_view_interval()
    low = start if start > 0 else low
    multiples = (1, 2, 3, 5) if high < 10 * low else (1, 3) if high < 1000 * low else (1,)
    log_ticks = np.array(LogLocator(subs=multiples).tick_values(low, high))
    if high < 2 * low:
        log_ticks = np.array(MaxNLocator(5).tick_values(low, high))
    is_inside = (log_ticks >= low) & (log_ticks <= high)
    axis.set_major_locator(FixedLocator([*more_ticks, *log_ticks[is_inside].tolist()]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda number, position: format_short_number(number))


def draw_panels(panels: Sequence[Panel], x_label: str) -> Figure:
    """Draw panels of curves with a common x axis."""
    figure, axes = create_figure_and_axes(len(panels))
    for ax, panel in zip(axes, panels, strict=True):
        draw_panel(ax, panel, x_label)
    return figure


def set_figure_title(figure: Figure, title: str) -> None:
    """Set the title of a figure at its left edge."""
    with rc_context(STYLE):
        figure.suptitle(title, x=0.01, ha="left", wrap=True)


def add_footnote(figure: Figure, text: str) -> None:
    """Add small gray text at the foot of a figure; make the figure higher by the text's height."""
    lines = wrap_text(text, FOOTNOTE_CHARACTERS_PER_INCH * figure.get_figwidth())
    line_count = lines.count("\n") + bool(lines)
    figure.set_figheight(figure.get_figheight() + FOOTNOTE_LINE_HEIGHT * line_count)
    existing_text = figure.get_supxlabel()
    full_text = f"{existing_text}\n{lines}" if existing_text else lines
    figure.supxlabel(full_text, x=0.01, ha="left", fontsize=7, color=GRAY_COLOR, parse_math=False)


def save_figure(figure: Figure, path: Path, footnote: str = "") -> None:
    """Save a figure in the format of the path's suffix, with an additional footnote."""
    if footnote:
        add_footnote(figure, footnote)
    file_format = path.suffix[1:]
    options: Any = {"metadata": METADATA[file_format]} if file_format in METADATA else {}
    with atomic_replacement(path) as temporary_path, rc_context(FILE_STYLE):
        figure.savefig(temporary_path, format=file_format, dpi=150, **options)
