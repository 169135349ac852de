"""Curves of groups of runs: the mean over seeds and the range, a panel each figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.evaluation.columns import numbered
from poker_rl.evaluation.drawing import DPI, Line, canvas, footnote, label, panels
from poker_rl.evaluation.drawing import draw as draw_lines
from poker_rl.evaluation.report import AGAINST
from poker_rl.reports.groups import Group
from poker_rl.reports.means import on_common_axis
from poker_rl.reports.table import Figures
from poker_rl.storage.disk import replaced

DISTANCES = ("exploitability", "nash_conv")  # drawn over logarithmic axes
# Letters stay letters, which are smaller than their outlines and can be searched and read aloud;
# the names of parts depend on the picture alone.
SVG: Any = {"svg.fonttype": "none", "svg.hashsalt": "poker-rl", "font.family": "sans-serif"}
UNDATED: Any = {".png": {}, ".svg": {"Date": None}}  # the same picture is the same file


def draw(tables: Sequence[Figures]) -> Figure:
    """The curves of every figure of every game."""
    wanted = [(table, name) for table in tables for name in table.names]
    numbers = numbered(group.label for table in tables for group in table.groups)
    if len(wanted) == 1:
        figure, axes = canvas(7.5, 4.5)
    else:
        figure, (axes,) = panels(1, len(wanted))
    for ax, (table, name) in zip(axes, wanted, strict=True):
        lines = [
            line_of(table, group, name, numbers.get(group.label, group.label))
            for group in table.groups
        ]
        draw_lines(ax, [line for line in lines if line is not None], log=name.endswith(DISTANCES))
        units = {table.about(group, name, "unit") for group in table.groups} - {""}
        measure = name.removeprefix("eval/")
        label(
            ax, table.game, table.x, f"{measure} ({', '.join(sorted(units))})" if units else measure
        )
    kinds = {table.about(group, name, "kind") for table, name in wanted for group in table.groups}
    words = ["exact"] * any(kind.startswith("exact") for kind in kinds)
    words += ["won in matches"] * any(kind.startswith(AGAINST) for kind in kinds)
    several = any(len(table.counted(group)) > 1 for table in tables for group in table.groups)
    if several:
        words.append(
            "mean over seeds, shaded: lowest to highest; between the points of a run a straight"
            " line, and no curve goes on where a run of it ends"
        )
    footnote(figure, "; ".join(words))
    for table in tables:
        for group in table.groups:
            called = f"{numbers.get(group.label, '')} {group.label}".strip()
            footnote(figure, f"{called}: {table.game}, {what_is_drawn(table, group)}")
    return figure


def what_is_drawn(table: Figures, group: Group) -> str:
    """Whose numbers a curve shows: seeds, and the folders that the runs lie in."""
    runs = table.counted(group)
    if not runs:
        return "no run that counts"
    seeds = ", ".join(str(run.cfg.get("seed")) for run in runs)
    player = f"{table.player(group)}, " if table.player(group) != "-" else ""
    parents = ", ".join(dict.fromkeys(str(run.folder.parent) for run in runs))
    return f"{player}seed{'s' * (len(runs) > 1)} {seeds}, in {parents}"


def line_of(table: Figures, group: Group, name: str, called: str) -> Line | None:
    """The mean of a figure over the runs of a group that count, and the range; None of none.

    Args:
        name: of the figure.
        called: what the legend calls the group.
    """
    curves = [run.points(run.tag_of(name), table.x) for run in table.counted(group)]
    curves = [(places, values) for places, values in curves if len(places)]
    return over_runs(called, curves) if curves else None


def over_runs(called: str, curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> Line:
    """The mean of curves and, of several, their range.

    Args:
        called: what the legend calls them.
        curves: places, rising, and values there of each run, one of them at least.
    """
    places, values = on_common_axis(curves)
    band = (("lowest to highest run", values.min(0), values.max(0)),) if len(curves) > 1 else ()
    return Line(called, places, values.mean(0), band)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as its name says, .png or .svg."""
    with replaced(path) as beside, rc_context(SVG):
        figure.savefig(beside, format=path.suffix[1:], dpi=DPI, metadata=UNDATED[path.suffix])
