"""Figures of grids of starting hands. Imports matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
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
    StartingHandGrid,
    compute_hand_grid,
    list_flop_situations,
    list_preflop_situations,
    supports_hand_grid,
)
from poker_rl.games.cards import MAX_RANKS
from poker_rl.games.game import Game
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.players.player import Player

ACTION_TYPE_NAMES = ("fold", "check or call", "bet or raise")
ACTION_TYPE_ORDER = [2, 1, 0]  # from the left of a cell: raise, call, fold


def build_hand_grid_figures(game: Game, players: Mapping[str, Player]) -> dict[str, Figure]:
    """Return figures by name of each player's policy before the flop and on it; {} if no hold'em.

    In a game with a variable number of seats, the largest number is drawn. If a player has several
    instances, the first is drawn.
    """
    if not supports_hand_grid(game):
        return {}
    assert isinstance(game, DisplayedPoker)
    figures, variant = {}, len(game.definitions) - 1
    for name, player in players.items():
        for key, heading, situations in (
            ("starting_hands", "Starting hands", list_preflop_situations(game, variant)),
            ("flop", "On the flop", list_flop_situations(game, variant)),
        ):
            grids = [
                compute_hand_grid(game, player.select_instance(0), record, board, title)
                for title, board, record in situations
            ]
            if grids:
                title = f"{heading}: {shorten_player_name(name).replace('_', ' ')}"
                figures[f"{key}_{name}"] = draw_hand_grids(grids, title, game.ranks)
    return figures


def draw_hand_grids(grids: Sequence[StartingHandGrid], title: str, ranks: str) -> Figure:
    """Draw each grid in a panel, with each cell divided in proportion to action probabilities."""
    figure, axes = create_panels(len(grids))
    colors = [ACTION_COLORS[action_type] for action_type in ACTION_TYPE_ORDER]
    for grid, ax in zip(grids, axes, strict=True):
        draw_cells(ax, grid.probs[..., ACTION_TYPE_ORDER], colors)
        ax.set_xticks(np.arange(MAX_RANKS) + 0.5, list(ranks[::-1]))
        ax.set_yticks(np.arange(MAX_RANKS) + 0.5, list(ranks[::-1]))
        ax.tick_params(length=0, labelsize=7, colors=INK_COLOR)
        ax.set_title(grid.title, loc="left", fontsize=8, color=INK_COLOR, parse_math=False)
    figure.legend(
        [Patch(color=color) for color in colors],
        [ACTION_TYPE_NAMES[action_type] for action_type in ACTION_TYPE_ORDER],
        loc="outside upper right",  # beside the title, so that the grids have the full width
        ncols=len(ACTION_TYPE_ORDER),
        borderpad=0,
        frameon=False,
        labelcolor=INK_COLOR,
        fontsize=8,
    )
    set_figure_title(figure, title)
    add_footnote(
        figure,
        "exact, the policy's own probabilities; suited hands above the diagonal, offsuit below",
    )
    return figure
