"""Figures with cells: policies by information set or starting hand, and cross tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poker_rl.evaluation.matches.tournament_lineups_and_ranking import TournamentResults
from poker_rl.evaluation.plots.plotting import (
    INK_COLOR,
    STYLE,
    add_footnote,
    create_figure_and_axes,
    set_figure_title,
    strip_player_folders,
    wrap_text,
)
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
# Names of the action types, in the order of their colors in a grid cell from left to right.
ACTION_TYPE_NAMES = {2: "bet or raise", 1: "check or call", 0: "fold"}
MAX_INFOSETS = 2000  # cells for more information sets would be too small
PIXELS_PER_CELL = 50  # pixels across the width of a cell
MAX_LABELED_COLUMNS = 8  # with more columns, probabilities do not fit in the cells
MAX_LARGE_LABELS = 12  # with more rows or columns, the names of rows and columns are smaller
CELL_WIDTH = 0.85  # inches, in a cross table
NAME_LINE_LENGTH = 18  # characters in a line of a player's name
LINEAR_SHARE = 0.1  # the color scale is linear up to this share of the largest result
POLICY_NOTE = "exact, the policy's own probabilities; "


@rc_context(STYLE)
def draw_policy(tree: GameTree, probs: np.ndarray, player_name: str) -> Figure | None:
    """Draw a player's policy [I, A], with a cell for each information set.

    Each panel belongs to a seat and a round of the game. Its rows are the cards that the seat sees,
    and its columns are the actions so far. Return None if there are too many information sets or
    actions, if a panel would be empty, or if the names of information sets do not have the form
    "seat cards actions".
    """
    game, seats = tree.game, tree.game.seats
    if tree.infoset_count > MAX_INFOSETS or game.action_count > len(ACTION_COLORS):
        return None
    words = [(*name.split(" "), "", "")[:3] for name in tree.infoset_names]
    _, cards, lines = zip(*words, strict=True)
    round_of_infoset = np.unique([len(text) for text in cards], return_inverse=True)[1]
    note = "rows are the cards seen, columns the actions so far by their first letters"
    # Suits matter only for flushes. A hand of one or two cards can't make one, so drop the suits.
    if isinstance(game, PokerGame) and game.hole_cards + sum(game.board_cards) <= 2:
        cards = tuple(re.sub(f"([{game.ranks}])[{game.suits}]", r"\1", text) for text in cards)
        note += "; mean over suits, which have no meaning here" * (len(game.suits) > 1)
    rounds = int(round_of_infoset.max()) + 1
    panels = [
        np.flatnonzero((round_of_infoset == round_index) & (tree.infoset_seat == seat))
        for round_index in range(rounds)
        for seat in range(seats)
    ]
    if not all(map(len, panels)) or max(name.count(" ") for name in tree.infoset_names) > 2:
        return None
    row_counts = [len({cards[i] for i in panel}) for panel in panels]
    column_count = max(len({lines[i] for i in panel}) for panel in panels)
    round_rows = np.reshape(row_counts, (rounds, seats)).max(1).tolist()
    width = 2 + seats * max(2.4, min(5.5, 0.8 * column_count))
    height = 1.4 + sum(0.5 + (0.22 if rows > 12 else 0.42) * rows for rows in round_rows)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rounds, seats, squeeze=False, height_ratios=round_rows)
    for i, (panel, ax) in enumerate(zip(panels, axes.ravel(), strict=True)):
        positions = [(cards[infoset], lines[infoset]) for infoset in panel]
        panel_title = f"seat {i % seats}" + f", round {i // seats + 1}" * (rounds > 1)
        _draw_policy_panel(ax, positions, probs[panel], panel_title)
    used_actions = np.flatnonzero(tree.legal_mask.any(0)).tolist()
    color_by_name = {game.action_name(a): ACTION_COLORS[a] for a in used_actions}
    _add_color_legend(figure, color_by_name, "outside right upper")
    name = strip_player_folders(player_name).replace("_", " ")
    set_figure_title(figure, f"Policy: {name}, in per cent")
    add_footnote(figure, POLICY_NOTE + note)
    return figure


def _draw_policy_panel(
    ax: Axes, positions: Sequence[tuple[str, str]], probs: np.ndarray, title: str
) -> None:
    """Draw the policy [N, A] at N pairs (known cards, actions so far); average equal pairs."""
    rows = list(dict.fromkeys(card for card, _ in positions))
    columns = sorted({line for _, line in positions}, key=lambda line: (len(line), line))
    cells = np.full((len(rows), len(columns), probs.shape[1]), np.nan)
    for card, line in set(positions):
        is_here = [position == (card, line) for position in positions]
        cells[rows.index(card), columns.index(line)] = probs[is_here].mean(0)
    is_labelled = len(columns) <= MAX_LABELED_COLUMNS
    draw_action_prob_cells(ax, cells, ACTION_COLORS, title, is_labelled)
    _label_rows_and_columns(ax, rows, [text or "start" for text in columns])
    if not is_labelled:
        ax.tick_params(axis="x", rotation=90)


def _label_rows_and_columns(
    ax: Axes, row_labels: Sequence[str], column_labels: Sequence[str], **column_options: Any
) -> None:
    ax.set_xticks(np.arange(len(column_labels)) + 0.5, column_labels, **column_options)
    ax.set_yticks(np.arange(len(row_labels)) + 0.5, row_labels)
    is_crowded = max(len(row_labels), len(column_labels)) > MAX_LARGE_LABELS
    ax.tick_params(length=0, labelsize=7 if is_crowded else 9, colors=INK_COLOR)
    ax.spines[:].set_visible(False)


def _add_color_legend(
    figure: Figure, color_by_name: Mapping[str, str], position: Any, columns: int = 1
) -> None:
    patches = [Patch(color=color, label=name) for name, color in color_by_name.items()]
    figure.legend(handles=patches, loc=position, ncols=columns, borderpad=0, fontsize=10)


def draw_action_prob_cells(
    ax: Axes, probs: np.ndarray, colors: Sequence[str], title: str, is_labelled: bool = False
) -> None:
    """Draw cells, each filled with colored bars as wide as its `probs` [rows, columns, A].

    A cell with NaN stays empty. With `is_labelled`, probabilities of at least 0.25 are written into
    the cells, in per cent.
    """
    rows, columns, action_count = probs.shape
    pixels = (np.arange(PIXELS_PER_CELL) + 0.5) / PIXELS_PER_CELL
    cumulative_probs = np.cumsum(np.nan_to_num(probs), axis=-1)[..., None, :]
    action_of_pixel = (pixels[:, None] >= cumulative_probs).sum(-1).clip(max=action_count - 1)
    image = np.array([to_rgb(color) for color in colors])[action_of_pixel]
    image[np.isnan(probs[..., 0])] = 1
    image = image.reshape(rows, columns * PIXELS_PER_CELL, 3)
    ax.imshow(image, aspect="auto", interpolation="nearest", extent=(0, columns, rows, 0))
    ax.hlines(np.arange(rows + 1), 0, columns, color="white", linewidth=0.8)
    ax.vlines(np.arange(columns + 1), 0, rows, color="white", linewidth=1.5)
    ax.grid(False)
    ax.set_title(title, fontsize=9)
    for row, column, action in np.argwhere(probs >= 0.25) if is_labelled else ():
        prob, start = probs[row, column, action], probs[row, column, :action].sum()
        is_dark = colors[action] not in ACTION_COLORS[:2]
        _draw_cell_text(ax, column + start + prob / 2, row + 0.5, f"{100 * prob:.0f}", is_dark)


def _draw_cell_text(ax: Axes, x: float, y: float, text: str, is_dark: bool) -> None:
    color = "white" if is_dark else INK_COLOR
    ax.text(x, y, text, ha="center", va="center", fontsize=8, color=color)


def build_hand_grid_figures(game: Game, players: Mapping[str, Player]) -> dict[str, Figure]:
    """Return a figure of each player's policy before the flop, by name of the figure.

    The result is {} unless the game is hold'em with a full deck. If the number of seats varies from
    hand to hand, the figures are for the largest number. If a player has several instances, its
    figure is for the first one.
    """
    if not supports_hand_grid(game):
        return {}
    assert isinstance(game, DisplayedPoker)
    situations, figures = list_preflop_situations(game, len(game.definitions) - 1), {}
    for name, player in players.items() if situations else ():
        player = player.select_instance(0)
        grids = [compute_hand_grid(game, player, rec, [], title) for title, rec in situations]
        figures[f"starting_hands_{name}"] = draw_hand_grids(grids, name, game.ranks)
    return figures


@rc_context(STYLE)
def draw_hand_grids(grids: Sequence[StartingHandGrid], player_name: str, ranks: str) -> Figure:
    """Draw each grid in a panel, whose cells show the action probabilities as colored bars."""
    figure, axes = create_figure_and_axes(len(grids))
    color_by_name = {name: ACTION_COLORS[action] for action, name in ACTION_TYPE_NAMES.items()}
    for grid, ax in zip(grids, axes, strict=True):
        cells = grid.probs[..., list(ACTION_TYPE_NAMES)]
        draw_action_prob_cells(ax, cells, list(color_by_name.values()), grid.title)
        _label_rows_and_columns(ax, ranks[::-1], ranks[::-1])
    # The legend is above the grids, because beside them it would take width from them.
    _add_color_legend(figure, color_by_name, "outside upper right", columns=len(color_by_name))
    title = f"Starting hands: {strip_player_folders(player_name)}"
    set_figure_title(figure, title.replace("_", " "))
    add_footnote(figure, f"{POLICY_NOTE}suited hands above the diagonal, offsuit below")
    return figure


@rc_context(STYLE)
def draw_cross_table(results: TournamentResults) -> Figure:
    """Draw a heat map of what each player (row) won from each other player, ordered by rank."""
    names, count = results.player_names, len(results.player_names)
    cells = [[results.find_result(a, f"won/{b}") for b in names] for a in names]
    winnings = np.array([[np.nan if r is None else r.value for r in row] for row in cells], float)
    limit = float(np.nanmax(np.abs(winnings))) or 1.0
    # On a linear color scale, one very large result would make all other cells pale.
    norm = SymLogNorm(LINEAR_SHARE * limit, vmin=-limit, vmax=limit)
    size = max(2.6 + CELL_WIDTH * count, 5.5), 2.2 + 0.62 * CELL_WIDTH * count
    figure = Figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    ax.imshow(winnings, cmap="PuOr", norm=norm, aspect="auto", extent=(0, count, count, 0))
    for row, column in np.argwhere(np.isfinite(winnings)):
        result = cells[row][column]
        assert result is not None
        text = "+" * (result.value > 0) + result.value_and_interval_text.replace(" ± ", "\n± ")
        is_dark = abs(norm(result.value) - 0.5) > 0.3
        text = text.replace("-", "\N{MINUS SIGN}")
        _draw_cell_text(ax, column + 0.5, row + 0.5, text, is_dark)
    short_names = [strip_player_folders(name) for name in names]
    wrapped_names = [
        wrap_text(short if short_names.count(short) == 1 else name, NAME_LINE_LENGTH)
        for name, short in zip(names, short_names, strict=True)
    ]
    rows = [f"{rank}. {name}" for rank, name in enumerate(wrapped_names, start=1)]
    _label_rows_and_columns(ax, rows, wrapped_names, rotation=30, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    for draw_lines in (ax.hlines, ax.vlines):
        draw_lines(np.arange(1, count), 0, count, color="white", linewidth=2)
    title = f"{results.game.name}: {results.cell_meaning}, {results.results[0].unit}"
    set_figure_title(figure, title)
    add_footnote(figure, f"{results.description}; players by rank")
    return figure
