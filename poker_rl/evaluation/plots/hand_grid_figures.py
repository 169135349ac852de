"""Figures of grids of starting hands. Imports matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poker_rl.evaluation.plots.plotting import (
    INK_COLOR,
    add_footnote,
    create_panels,
    set_figure_title,
)
from poker_rl.evaluation.plots.policy_figures import ACTION_COLORS, draw_cells
from poker_rl.evaluation.plots.run_figures import shorten_player_name
from poker_rl.evaluation.starting_hand_grid import (
    FLOPS_OF_TEXTURE,
    MADE_HANDS,
    StartingHandGrid,
    compute_flop_policies,
    compute_hand_grid,
    list_preflop_situations,
    supports_hand_grid,
)
from poker_rl.games.game import Game
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.players.player import Player

ACTION_TYPE_NAMES = ("fold", "check or call", "bet or raise")
ACTION_TYPE_ORDER = [2, 1, 0]  # indices of `ACTION_TYPE_NAMES` from left to right in a cell


def build_hand_grid_figures(game: Game, players: Mapping[str, Player]) -> dict[str, Figure]:
    """Return figures by name with each player's policy before and on the flop; {} if no hold'em.

    In a game with a variable number of seats, the largest number is used. If a player has several
    instances, the first is drawn.
    """
    if not supports_hand_grid(game):
        return {}
    assert isinstance(game, DisplayedPoker)
    figures, variant = {}, len(game.definitions) - 1
    for name, player in players.items():
        instance = player.select_instance(0)
        short_name = shorten_player_name(name).replace("_", " ")
        grids = [
            compute_hand_grid(game, instance, record, board, title)
            for title, board, record in list_preflop_situations(game, variant)
        ]
        if grids:
            title = f"Starting hands: {short_name}"
            figures[f"starting_hands_{name}"] = draw_hand_grids(grids, title, game.ranks)
        if policies := compute_flop_policies(game, instance, variant):
            figures[f"flop_{name}"] = draw_flop_policies(policies, f"On the flop: {short_name}")
    return figures


def draw_hand_grids(grids: Sequence[StartingHandGrid], title: str, ranks: str) -> Figure:
    """Draw each grid in a panel, with each cell divided in proportion to action probabilities."""
    figure, axes = create_panels(len(grids))
    labels = list(ranks[::-1])
    for grid, ax in zip(grids, axes, strict=True):
        _draw_panel(ax, grid.title, grid.probs, labels, labels)
    note = "exact, the policy's own probabilities; suited hands above the diagonal, offsuit below"
    _finish_figure(figure, title, note)
    return figure


def draw_flop_policies(policies: Sequence[tuple[str, np.ndarray]], title: str) -> Figure:
    """Draw each policy in a panel, with made hands as rows and flop textures as columns."""
    figure, axes = create_panels(len(policies))
    for (panel_title, probs), ax in zip(policies, axes, strict=True):
        _draw_panel(ax, panel_title, probs, MADE_HANDS, list(FLOPS_OF_TEXTURE), is_labelled=True)
    flops = "; ".join(f"{name}: {', '.join(flops)}" for name, flops in FLOPS_OF_TEXTURE.items())
    note = "in per cent, the policy's own probabilities; mean over all hands and the flops"
    _finish_figure(figure, title, f"{note} of each texture ({flops})")
    return figure


def _draw_panel(
    ax: Axes,
    title: str,
    probs: np.ndarray,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    is_labelled: bool = False,
) -> None:
    colors = [ACTION_COLORS[action_type] for action_type in ACTION_TYPE_ORDER]
    draw_cells(ax, probs[..., ACTION_TYPE_ORDER], colors, is_labelled)
    ax.set_xticks(np.arange(len(column_labels)) + 0.5, column_labels)
    ax.set_yticks(np.arange(len(row_labels)) + 0.5, row_labels)
    ax.tick_params(length=0, labelsize=8 if is_labelled else 7, colors=INK_COLOR)
    ax.set_title(title, loc="left", fontsize=8, color=INK_COLOR, parse_math=False)


def _finish_figure(figure: Figure, title: str, note: str) -> None:
    """Add the title, the legend of action types and the footnote to a figure."""
    figure.legend(
        [Patch(color=ACTION_COLORS[action_type]) for action_type in ACTION_TYPE_ORDER],
        [ACTION_TYPE_NAMES[action_type] for action_type in ACTION_TYPE_ORDER],
        loc="outside upper right",  # a legend in the margin leaves the grids their width
        ncols=len(ACTION_TYPE_ORDER),
        borderpad=0,
        frameon=False,
        labelcolor=INK_COLOR,
        fontsize=8,
    )
    set_figure_title(figure, title)
    add_footnote(figure, note)
