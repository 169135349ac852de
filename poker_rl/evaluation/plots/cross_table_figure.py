"""Figure of a tournament's cross table. Imports matplotlib."""

from __future__ import annotations

from itertools import product

import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from poker_rl.evaluation.matches.tournament import TournamentResults
from poker_rl.evaluation.plots.plotting import (
    INK_COLOR,
    add_footnote,
    draw_cell_text,
    set_figure_title,
    wrap_text,
)
from poker_rl.evaluation.plots.run_figures import shorten_player_name

CELL_WIDTH = 0.85  # inches
NAME_LINE_LENGTH = 18  # characters in a line of a player's name
LINEAR_SHARE = 0.1  # the color scale is linear up to this share of the largest result


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
    ax.set_xticks(
        range(player_count), wrapped_names, rotation=30, ha="left", rotation_mode="anchor"
    )
    ax.xaxis.tick_top()
    rows = [f"{rank}. {name}" for rank, name in enumerate(wrapped_names, start=1)]
    ax.set_yticks(range(player_count), rows, parse_math=False)
    for label in ax.get_xticklabels():
        label.set_parse_math(False)
    ax.tick_params(length=0, labelsize=9, colors=INK_COLOR)
    ax.spines[:].set_visible(False)
    borders = np.arange(1, player_count) - 0.5
    for draw_lines in (ax.hlines, ax.vlines):
        draw_lines(borders, -0.5, player_count - 0.5, color="white", linewidth=2)
    title = f"{results.game.name}: {results.cell_meaning}, {results.results[0].unit}"
    set_figure_title(figure, title)
    add_footnote(figure, f"{results.description}; players by rank")
    return figure
