"""Figures of grids of starting hands. Imports matplotlib: import it only to draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poker_rl.evaluation.drawing import INK, footnote, panels
from poker_rl.evaluation.grid import Grid, hand_name
from poker_rl.evaluation.policies import ACTIONS
from poker_rl.games.cards import RANKS

RESOLUTION = 40  # shades a cell is wide
MOST_NAMED = 2  # panels whose cells are named; drawing the names of more would take seconds
NAMES = ("fold", "check or call", "bet or raise")
ORDER = [2, 1, 0]  # from the left of a cell: raise, call, fold


def draw(blocks: Sequence[Sequence[Grid]], title: str, ranks: str) -> Figure:
    """Blocks of grids, a panel each; a cell is divided by the chances of what is done there."""
    if all(len(block) == 1 for block in blocks):
        blocks = [[grid for block in blocks for grid in block]]  # side by side
    named = sum(map(len, blocks)) <= MOST_NAMED
    figure, axes = panels(len(blocks), max(map(len, blocks)))
    for block, row in zip(blocks, axes, strict=True):
        for grid, ax in zip(block, row, strict=False):
            panel(ax, grid, ranks, named)
        for ax in row[len(block) :]:
            ax.set_visible(False)
    used = [kind for kind in ORDER if any(grid.legal[kind] for block in blocks for grid in block)]
    figure.legend(
        [Patch(color=ACTIONS[kind]) for kind in used],
        [NAMES[kind] for kind in used],
        loc="outside upper right",  # beside the title: at the side it would take a column's width
        ncols=len(used),
        borderpad=0,
        frameon=False,
        labelcolor=INK,
        fontsize=8,
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK, parse_math=False)
    footnote(
        figure,
        "exact, the policy's own probabilities; suited hands above the diagonal, offsuit below",
    )
    return figure


def panel(ax: Axes, grid: Grid, ranks: str, named: bool) -> None:
    """One grid, with the names of the hands in its cells, or else the ranks at its sides."""
    bounds = np.cumsum(np.nan_to_num(grid.chances[..., ORDER]), axis=-1)  # [13, 13, 3]
    shades = (np.arange(RESOLUTION) + 0.5) / RESOLUTION
    at = (shades[:, None] >= bounds[..., None, :]).sum(-1).clip(max=len(ORDER) - 1)
    image = np.array([to_rgb(ACTIONS[kind]) for kind in ORDER])[at]  # [13, 13, RESOLUTION, 3]
    image[np.isnan(grid.chances[..., 0])] = 1
    ax.imshow(
        image.reshape(RANKS, RANKS * RESOLUTION, 3),
        aspect="auto",
        interpolation="nearest",
        extent=(0, RANKS, RANKS, 0),
    )
    if named:
        for row, column in np.ndindex(RANKS, RANKS):
            name = hand_name(row, column, ranks)
            at_cell = ax.text(
                column + 0.5, row + 0.52, name, ha="center", va="center", fontsize=6, color=INK
            )
            at_cell.set_in_layout(False)  # it lies within the panel, and measuring it takes long
    ax.hlines(np.arange(RANKS + 1), 0, RANKS, color="white", linewidth=0.8)
    ax.vlines(np.arange(RANKS + 1), 0, RANKS, color="white", linewidth=0.8)
    middle, shown = np.arange(RANKS) + 0.5, [] if named else list(ranks[::-1])
    ax.set_xticks(middle[: len(shown)], shown)
    ax.set_yticks(middle[: len(shown)], shown)
    ax.tick_params(length=0, labelsize=7, colors=INK)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_title(grid.title, loc="left", fontsize=8, color=INK, parse_math=False)
