"""Figures of policies, each information set a cell. Imports matplotlib: import it only to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from poker_rl.evaluation.drawing import INK, footnote
from poker_rl.evaluation.equilibrium import CARDS, SITUATIONS
from poker_rl.games.tree import Tree

ACTIONS = ("#C9D3DC", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#0072B2", "#F0E442")
MOST_INFOSETS = 2000  # more cells than that can't be told apart
RESOLUTION = 100  # shades a cell is wide
LETTERS = {"f": "f fold", "c": "c check or call", "r": "r bet or raise"}  # of actions so far
FEW_COLUMNS = 8  # up to so many, probabilities fit in the cells


def policy(tree: Tree, probabilities: np.ndarray, title: str) -> Figure | None:
    """A policy [I, A], each cell divided by the probabilities of its actions.

    A panel for each seat and number of cards seen; rows are these cards, columns the actions so
    far, as the names of information sets tell them. None if there are too many cells to tell apart.
    """
    if tree.size > MOST_INFOSETS or tree.game.actions > len(ACTIONS):
        return None
    names = [(*name.split(" "), "")[:3] for name in tree.names]  # seat, cards, actions so far
    rounds = np.unique([len(cards) for _, cards, _ in names], return_inverse=True)[1]
    count, seats = int(rounds.max()) + 1, tree.game.seats
    panels = [
        np.flatnonzero((rounds == one) & (tree.owner == seat))
        for one in range(count)
        for seat in range(seats)
    ]
    shapes = [(len({names[i][1] for i in p}), len({names[i][2] for i in p})) for p in panels]
    heights = [max(rows for rows, _ in shapes[s * seats : (s + 1) * seats]) for s in range(count)]
    widest = max(columns for _, columns in shapes)
    figure = Figure(
        figsize=(
            2 + seats * max(2.4, min(5.5, 0.8 * widest)),
            1.4 + sum(0.5 + (0.22 if rows > 12 else 0.42) * rows for rows in heights),
        ),
        layout="constrained",
    )
    axes = figure.subplots(count, seats, squeeze=False, height_ratios=heights)
    for panel, ax, i in zip(panels, axes.ravel(), range(len(panels)), strict=True):
        where = f"seat {i % seats}" + (f", round {i // seats + 1}" if count > 1 else "")
        cells(ax, [names[infoset] for infoset in panel], probabilities[panel], where)
    actions = [tree.game.action_name(a) for a in range(tree.game.actions)]
    used = np.flatnonzero(tree.legal.any(0))
    figure.legend(
        [Patch(color=ACTIONS[a]) for a in used],
        [actions[a] for a in used],
        loc="outside right upper",
        frameon=False,
        labelcolor=INK,
    )
    figure.suptitle(f"{title}, in per cent", x=0.01, ha="left", fontsize=11, color=INK)
    footnote(figure, f"exact, the policy's own probabilities; {legend(tree.names, actions)}")
    return figure


def legend(names: Sequence[str], actions: Sequence[str]) -> str:
    """How to read the names of information sets in the rows and columns of `policy`.

    Args:
        actions: the names of the game's actions, of which a line may hold the first letters.
    """
    lines = "".join(name.partition(" ")[2].partition(" ")[2] for name in names)
    letters = {name[0] for name in actions}
    words = [
        meaning for letter, meaning in LETTERS.items() if letter in lines and letter in letters
    ]
    if any(sign.isdigit() for sign in lines) and "r" in letters:
        words.append("a number: the chips raised to")
    cards = "rows are the cards seen" + (", own | board" if "|" in "".join(names) else "")
    return f"{cards}; columns are the actions so far{': ' if words else ''}{', '.join(words)}"


def cells(ax: Axes, names: Sequence[tuple[str, ...]], chances: np.ndarray, title: str) -> None:
    """One panel of `policy`: information sets [N] by name and their probabilities [N, A]."""
    cards = list(dict.fromkeys(name[1] for name in names))
    lines = sorted({name[2] for name in names}, key=lambda line: (len(line), line))
    shades = (np.arange(RESOLUTION) + 0.5) / RESOLUTION
    colours = np.array([to_rgb(colour) for colour in ACTIONS])
    image = np.ones((len(cards), len(lines), RESOLUTION, 3))
    for (_, own, line), chance in zip(names, chances, strict=True):
        row, column = cards.index(own), lines.index(line)
        taken = np.searchsorted(np.cumsum(chance), shades).clip(max=len(chance) - 1)
        image[row, column] = colours[taken]
        if len(lines) <= FEW_COLUMNS:
            starts = np.cumsum(chance) - chance
            for action in np.flatnonzero(chance >= 0.2):
                ax.text(
                    column + starts[action] + chance[action] / 2,
                    row + 0.5,
                    f"{chance[action]:.0%}".rstrip("%"),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if action >= 2 else INK,
                )
    ax.imshow(
        image.reshape(len(cards), -1, 3),
        aspect="auto",
        interpolation="nearest",
        extent=(0, len(lines), len(cards), 0),
    )
    ax.set_xticks(np.arange(len(lines)) + 0.5, [line or "start" for line in lines])
    ax.set_yticks(np.arange(len(cards)) + 0.5, cards, parse_math=False)
    ax.hlines(np.arange(len(cards) + 1), 0, len(lines), color="white", linewidth=1.5)
    ax.vlines(np.arange(len(lines) + 1), 0, len(cards), color="white", linewidth=3)
    ax.spines[:].set_visible(False)
    small = max(len(lines), len(cards)) > 12
    ax.tick_params(length=0, labelsize=7 if small else 9, colors=INK)
    if len(lines) > FEW_COLUMNS:
        ax.tick_params(axis="x", rotation=90)
    ax.set_title(title, loc="left", fontsize=9, color=INK)


@dataclass(frozen=True)
class Bets:
    """A heat map of `bets`: the situations [S] shown, by number, of a policy [4, 3]."""

    title: str
    bets: np.ndarray
    situations: Sequence[int]


def kuhn(rows: Sequence[Sequence[Bets]], title: str) -> Figure:
    """Heat maps of Kuhn poker policies, card x situation, in a grid with rows of any length."""
    columns = max(len(row) for row in rows)
    shown = max(len(panel.situations) for row in rows for panel in row)
    figure = Figure(
        figsize=(1.2 + columns * (0.5 + 1.05 * shown), 0.8 + 2.6 * len(rows)), layout="constrained"
    )
    axes = figure.subplots(len(rows), columns, squeeze=False)
    image = None
    for line, row in zip(axes, rows, strict=True):
        for ax in line[len(row) :]:
            ax.set_visible(False)
        for ax, panel in zip(line, row, strict=False):
            image = heatmap(ax, panel)
    if image is not None:
        bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=30)
        bar.set_label("probability of a bet or a call", color=INK)
        bar.ax.tick_params(labelsize=9, colors=INK)
        bar.outline.set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    footnote(figure, "exact, the policy's own probabilities; rows are the player's card")
    return figure


def heatmap(ax: Axes, panel: Bets):  # type: ignore[no-untyped-def]
    """One heat map, the numbers in its cells; returns the image."""
    shown = panel.bets[list(panel.situations)].T  # [cards, situations]
    image = ax.imshow(shown, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), chance in np.ndenumerate(shown):
        colour = "white" if chance > 0.55 else INK
        ax.text(column, row, f"{chance:.2f}", ha="center", va="center", color=colour, fontsize=10)
    names = [SITUATIONS[i].replace(" ", "\n", 1) for i in panel.situations]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(CARDS)), CARDS)
    ax.tick_params(length=0, labelsize=9, colors=INK)
    ax.spines[:].set_visible(False)
    ax.hlines([0.5, 1.5], -0.5, len(names) - 0.5, color="white", linewidth=2)
    ax.vlines(np.arange(1, len(names)) - 0.5, -0.5, 2.5, color="white", linewidth=2)
    ax.set_title(panel.title, loc="left", fontsize=9, color=INK)
    return image
