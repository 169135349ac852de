"""Figures of policies, by information set or by starting hand. Imports matplotlib."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poker_rl.evaluation.plots.plotting import (
    INK_COLOR,
    add_footnote,
    create_panels,
    draw_cell_text,
    set_figure_title,
)
from poker_rl.evaluation.plots.result_figures import shorten_player_name
from poker_rl.evaluation.starting_hand_grid import (
    StartingHandGrid,
    compute_hand_grid,
    list_preflop_situations,
    supports_hand_grid,
)
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.players.player import Player

ACTION_COLORS = (
    *("#C9D3DC", "#56B4E9", "#D55E00", "#009E73"),
    *("#CC79A7", "#E69F00", "#0072B2", "#F0E442"),
)
# Fold, check or call, bet or raise, in the order of a grid's cells from left to right
ACTION_TYPE_NAMES = {2: "bet or raise", 1: "check or call", 0: "fold"}
MAX_INFOSETS = 2000  # cells for more information sets would be too small
PIXELS_PER_CELL = 50  # pixels across the width of a cell
MAX_LABELED_COLUMNS = 8  # with more columns, probabilities do not fit in the cells


def draw_policy(tree: GameTree, probs: np.ndarray, title: str) -> Figure | None:
    """Draw a policy [I, A], with a cell for each information set.

    Each panel belongs to a seat and a number of known cards. Its rows are these cards, without
    suits if suits have no meaning, and its columns are the actions so far. Return None if there are
    too many cells, or if names of information sets do not have the form "seat cards actions".
    """
    game, seats = tree.game, tree.game.seats
    if tree.infoset_count > MAX_INFOSETS or game.action_count > len(ACTION_COLORS):
        return None
    name_parts = [(*name.split(" "), "")[:3] for name in tree.infoset_names]
    round_of_infoset = np.unique([len(name[1]) for name in name_parts], return_inverse=True)[1]
    # Suits matter only for flushes, which hands of one or two cards can't make.
    merges_suits = (
        isinstance(game, PokerGame)
        and len(game.suits) > 1
        and game.hole_cards + sum(game.board_cards) <= 2
    )
    if isinstance(game, PokerGame) and merges_suits:
        card_pattern = re.compile(f"([{game.ranks}])[{game.suits}]")
        name_parts = [
            (seat, card_pattern.sub(r"\1", cards), line) for seat, cards, line in name_parts
        ]
    rounds = int(round_of_infoset.max()) + 1
    panels = [
        np.flatnonzero((round_of_infoset == round_index) & (tree.infoset_seat == seat))
        for round_index in range(rounds)
        for seat in range(seats)
    ]
    if not all(map(len, panels)) or max(name.count(" ") for name in tree.infoset_names) > 2:
        return None
    row_counts = [len({name_parts[i][1] for i in panel}) for panel in panels]
    column_count = max(len({name_parts[i][2] for i in panel}) for panel in panels)
    round_rows = [max(row_counts[r * seats : (r + 1) * seats]) for r in range(rounds)]
    width = 2 + seats * max(2.4, min(5.5, 0.8 * column_count))
    height = 1.4 + sum(0.5 + (0.22 if rows > 12 else 0.42) * rows for rows in round_rows)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rounds, seats, squeeze=False, height_ratios=round_rows)
    for i, (panel, ax) in enumerate(zip(panels, axes.ravel(), strict=True)):
        panel_title = f"seat {i % seats}" + f", round {i // seats + 1}" * (rounds > 1)
        _draw_panel(ax, [name_parts[infoset] for infoset in panel], probs[panel], panel_title)
    used_actions = np.flatnonzero(tree.legal_mask.any(0)).tolist()
    color_by_name = {game.action_name(a): ACTION_COLORS[a] for a in used_actions}
    _add_color_legend(figure, color_by_name, "outside right upper")
    set_figure_title(figure, f"{title}, in per cent")
    note = (
        "exact, the policy's own probabilities; rows are the cards seen, columns the actions so far"
        " by their first letters"
    )
    add_footnote(figure, note + "; mean over suits, which have no meaning here" * merges_suits)
    return figure


def _draw_panel(
    ax: Axes, name_parts: Sequence[tuple[str, ...]], probs: np.ndarray, title: str
) -> None:
    """Draw the policy [N, A], the mean over information sets with the same cards and actions."""
    card_labels = list(dict.fromkeys(name[1] for name in name_parts))
    action_labels = sorted({name[2] for name in name_parts}, key=lambda line: (len(line), line))
    positions = [
        (card_labels.index(card), action_labels.index(line)) for _, card, line in name_parts
    ]
    cells = np.full((len(card_labels), len(action_labels), probs.shape[1]), np.nan)
    for position in set(positions):
        cells[position] = probs[[position == other for other in positions]].mean(0)
    is_labelled = len(action_labels) <= MAX_LABELED_COLUMNS
    draw_cells(ax, cells, ACTION_COLORS, title, is_labelled)
    _label_cells(ax, card_labels, [text or "start" for text in action_labels])
    if not is_labelled:
        ax.tick_params(axis="x", rotation=90)


def _label_cells(ax: Axes, row_labels: Sequence[str], column_labels: Sequence[str]) -> None:
    is_crowded = max(len(row_labels), len(column_labels)) > 12
    ax.set_xticks(np.arange(len(column_labels)) + 0.5, column_labels)
    ax.set_yticks(np.arange(len(row_labels)) + 0.5, row_labels, parse_math=False)
    ax.tick_params(length=0, labelsize=7 if is_crowded else 9, colors=INK_COLOR)


def _add_color_legend(
    figure: Figure, color_by_name: Mapping[str, str], position: Any, columns: int = 1
) -> None:
    figure.legend(
        [Patch(color=color) for color in color_by_name.values()],
        list(color_by_name),
        loc=position,
        ncols=columns,
        borderpad=0,
        frameon=False,
        labelcolor=INK_COLOR,
    )


def draw_cells(
    ax: Axes, probs: np.ndarray, colors: Sequence[str], title: str, is_labelled: bool = False
) -> None:
    """Draw cells [rows, columns, A], divided from the left in proportion to their probabilities.

    Empty cells are NaN. With `is_labelled`, probabilities of at least 0.25 are written into the
    cells, in per cent.
    """
    rows, columns, action_count = probs.shape
    pixels = (np.arange(PIXELS_PER_CELL) + 0.5) / PIXELS_PER_CELL
    cumulative_probs = np.cumsum(np.nan_to_num(probs), axis=-1)[..., None, :]
    action_of_pixel = (pixels[:, None] >= cumulative_probs).sum(-1).clip(max=action_count - 1)
    image = np.array([to_rgb(color) for color in colors])[action_of_pixel]
    image[np.isnan(probs[..., 0])] = 1
    ax.imshow(
        image.reshape(rows, columns * PIXELS_PER_CELL, 3),
        aspect="auto",
        interpolation="nearest",
        extent=(0, columns, rows, 0),
    )
    ax.hlines(np.arange(rows + 1), 0, columns, color="white", linewidth=0.8)
    ax.vlines(np.arange(columns + 1), 0, rows, color="white", linewidth=1.5)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", fontsize=9, color=INK_COLOR, parse_math=False)
    for row, column, action in np.argwhere(probs >= 0.25) if is_labelled else ():
        prob, start = probs[row, column, action], probs[row, column, :action].sum()
        is_dark = colors[action] not in ACTION_COLORS[:2]
        draw_cell_text(ax, column + start + prob / 2, row + 0.5, f"{100 * prob:.0f}", is_dark)


def build_hand_grid_figures(game: Game, players: Mapping[str, Player]) -> dict[str, Figure]:
    """Return figures by name with each player's policy before the flop; {} if no hold'em.

    Of a variable number of seats the largest is used, and of several instances the first.
    """
    if not supports_hand_grid(game):
        return {}
    assert isinstance(game, DisplayedPoker)
    figures = {}
    for name, player in players.items():
        grids = [
            compute_hand_grid(game, player.select_instance(0), record, [], title)
            for title, record in list_preflop_situations(game, len(game.definitions) - 1)
        ]
        if grids:
            figures[f"starting_hands_{name}"] = draw_hand_grids(grids, name, game.ranks)
    return figures


def draw_hand_grids(grids: Sequence[StartingHandGrid], player_name: str, ranks: str) -> Figure:
    """Draw each grid in a panel, with each cell divided in proportion to action probabilities."""
    figure, axes = create_panels(len(grids))
    color_by_name = {name: ACTION_COLORS[action] for action, name in ACTION_TYPE_NAMES.items()}
    for grid, ax in zip(grids, axes, strict=True):
        cells = grid.probs[..., list(ACTION_TYPE_NAMES)]
        draw_cells(ax, cells, list(color_by_name.values()), grid.title)
        _label_cells(ax, ranks[::-1], ranks[::-1])
    # A legend in the margin leaves the grids their width.
    _add_color_legend(figure, color_by_name, "outside upper right", columns=len(color_by_name))
    title = f"Starting hands: {shorten_player_name(player_name)}"
    set_figure_title(figure, title.replace("_", " "))
    note = "exact, the policy's own probabilities; suited hands above the diagonal, offsuit below"
    add_footnote(figure, note)
    return figure
