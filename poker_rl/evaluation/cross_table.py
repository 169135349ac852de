"""The figure of a cross table. Imports matplotlib: import it only to draw."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from poker_rl.evaluation.columns import number
from poker_rl.evaluation.drawing import INK, footnote, wrapped
from poker_rl.evaluation.figures import brief, paths
from poker_rl.evaluation.tournament import Results

CELL = 0.85  # inches a cell is wide
NAME = 18  # characters of a player's name in a line
LINEAR = 0.1  # of the largest result: up to it colours are proportional, beyond it to the logarithm


def cross_table(results: Results) -> Figure:
    """A heat map with the number and its interval in each cell, the players by rank.

    A cell says by its number, its sign included, what its colour says.
    """
    names, count = results.names, len(results.names)
    won = np.full((count, count), np.nan)
    for (row, column), one in results.won.items():
        won[names.index(row), names.index(column)] = one.value
    most = float(np.nanmax(np.abs(won))) or 1.0
    # A sign and a logarithm: one result of thousands would make all others look like nothing.
    shade = np.sign(won) * np.log1p(np.abs(won) / (LINEAR * most))
    limit = np.log1p(1 / LINEAR)
    side = CELL * count
    figure = Figure(figsize=(max(2.6 + side, 5.5), 2.2 + 0.62 * side), layout="constrained")
    ax = figure.subplots()
    ax.imshow(shade, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), value in np.ndenumerate(won):
        if np.isnan(value):
            continue
        one = results.won[names[row], names[column]]
        text = number(one.value, one.half_width).replace("-", "\N{MINUS SIGN}")
        sign = "+" if value > 0 else ""
        dark = abs(shade[row, column]) > 0.6 * limit
        ax.text(
            column,
            row,
            (sign + text).replace(" ± ", "\n± "),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else INK,
        )
    told = [wrapped(brief(name), NAME) for name in names]
    ax.set_xticks(range(count), told, rotation=30, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    rows = [f"{one.rank}. {name}" for one, name in zip(results.standings, told, strict=True)]
    ax.set_yticks(range(count), rows, parse_math=False)
    for label in ax.get_xticklabels():
        label.set_parse_math(False)
    ax.tick_params(length=0, labelsize=9, colors=INK)
    ax.spines[:].set_visible(False)
    ax.hlines(np.arange(1, count) - 0.5, -0.5, count - 0.5, color="white", linewidth=2)
    ax.vlines(np.arange(1, count) - 0.5, -0.5, count - 0.5, color="white", linewidth=2)
    figure.suptitle(
        f"{results.game.name}: {results.meaning}, {results.unit}",
        x=0.01,
        ha="left",
        fontsize=11,
        color=INK,
        wrap=True,
        parse_math=False,
    )
    footnote(figure, f"{results.rule}; players by rank{paths(names)}")
    return figure
