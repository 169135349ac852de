"""Figures of a run's curves and of its matches. Imports matplotlib: import it only to draw."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from poker_rl.evaluation.drawing import (
    INK,
    PALE,
    Line,
    canvas,
    colours,
    draw,
    footnote,
    label,
    panels,
    shaded,
)
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import Outcomes
from poker_rl.storage.folder import read_rows

AGAINST = re.compile(r"eval/\w+/against/(.+?)((?:/p\d+)?(?:/half_width)?)")
COUNTERS = ("hands", "decisions", "updates", "iterations")

EARLIER_SELF = "earlier_self"

Curves = Mapping[str, np.ndarray]


def read(metrics: Path) -> dict[str, np.ndarray]:
    """Columns of a metrics.jsonl by tag, [rows] float64, NaN where a row lacks the tag.

    They stand as in the newest row, in which the headline player comes first.
    """
    rows = read_rows(metrics)
    tags = dict.fromkeys(tag for row in reversed(rows) for tag in row)
    return {tag: np.array([row.get(tag, np.nan) for row in rows], float) for tag in tags}


def smoothed(values: np.ndarray, weight: float) -> np.ndarray:
    """Exponential average [N] in which the newest value weighs `weight`; begins at the first."""
    out = np.array(values, float)
    for i in range(1, len(out)):
        out[i] = weight * values[i] + (1 - weight) * out[i - 1]
    return out


def players_of(curves: Curves, measure: str) -> list[str]:
    """Players of which a run records a measure."""
    ends = f"/{measure}"
    return [tag[5 : -len(ends)] for tag in curves if tag.startswith("eval/") and tag.endswith(ends)]


def of_player(curves: Curves, axis: str, player: str, measure: str) -> Line:
    """A measure of a player: over several instances their median and percentile bands."""
    tag, name = f"eval/{player}/{measure}", player.replace("_", " ")
    players = list(dict.fromkeys(tag.split("/")[1] for tag in curves if tag.startswith("eval/")))
    if players[1:] and player == players[0]:
        name += " (headline)"
    levels = re.compile(re.escape(tag) + r"/p(\d+)")
    percent = sorted(int(found[1]) for name in curves if (found := levels.fullmatch(name)))
    if not percent:
        wide = curves.get(f"{tag}/half_width")
        there = np.isfinite(curves[tag])  # not all rows need to have it
        curves = {name: column[there] for name, column in curves.items()}
        wide = None if wide is None else wide[there]
        y = curves[tag]
        interval = () if wide is None else (("95 % interval", y - wide, y + wide),)
        return Line(name, curves[axis], y, interval, player)
    pairs = zip(percent, reversed(percent), strict=True)
    bands = tuple(
        (f"{a} to {b} %", curves[f"{tag}/p{a}"], curves[f"{tag}/p{b}"]) for a, b in pairs if a < b
    )
    median = curves.get(f"{tag}/p50")
    middle, y = ("mean", curves[tag]) if median is None else ("median", median)
    return Line(f"{name}, {middle}", curves[axis], y, bands, player)


def opponents_of(curves: Curves) -> list[str]:
    """Whom the players of a run meet in matches."""
    names = [match[1] for tag in curves if (match := AGAINST.fullmatch(tag))]
    return list(dict.fromkeys(names))


def brief(player: str) -> str:
    """A player without the folders of its path, for a title; `paths` tells of them."""
    return player.rpartition("/")[2]


def paths(players: Sequence[str]) -> str:
    """The players that `brief` cuts, in full, to end a footnote with; nothing if it cuts none."""
    cut = [player for player in dict.fromkeys(players) if brief(player) != player]
    return f"; in full: {', '.join(cut)}" if cut else ""


def exploitability(curves: Curves, axis: str, unit: str, others: str | None) -> Figure | None:
    """Exploitability of every player over the run, both axes logarithmic.

    Args:
        others: the player in every seat but the first, if that is what was measured.
    """
    players = players_of(curves, "exploitability")
    if not players:
        return None
    figure, (ax,) = canvas(6.4, 4.2)
    lines = [of_player(curves, axis, player, "exploitability") for player in players]
    draw(ax, lines, log=True)
    label(ax, "Distance to Nash", axis, f"exploitability ({unit})")
    ax.grid(which="minor", color=PALE, linewidth=0.4)
    beside = "" if others is None else f"; {brief(others)} in every seat but the first"
    footnote(figure, f"exact, over the whole game tree{beside}{shaded(lines)}")
    return figure


def matches(curves: Curves, axis: str, unit: str) -> Figure | None:
    """What every player wins from each opponent over the run, with 95 % intervals."""
    opponents = opponents_of(curves)
    if not opponents:
        return None
    figure, (axes,) = panels(1, len(opponents))
    lines: list[Line] = []
    for ax, opponent in zip(axes, opponents, strict=True):
        measure = f"against/{opponent}"
        players = players_of(curves, measure)
        found = [of_player(curves, axis, player, measure) for player in players]
        draw(ax, found)
        ax.axhline(0, color=INK, linewidth=0.8)
        label(ax, f"Against {brief(opponent)}", axis, f"won ({unit})")
        lines += found
    footnote(figure, f"matches{shaded(lines)}{paths(opponents)}")
    return figure


def networks(
    curves: Curves,
    axis: str,
    unit: str,
    selves: Mapping[str, Sequence[tuple[int, Measurement]]],
) -> Figure | None:
    """A block a player: what it wins from each bot over the run, in the end from earlier selves.

    Args:
        selves: by player, what it won from itself at so many decisions; without any no figure.
    """
    if not selves:
        return None
    bots = [name for name in opponents_of(curves) if name != EARLIER_SELF]
    figure, blocks = panels(len(selves), len(bots) + 1)
    for (player, met), (*axes, last) in zip(selves.items(), blocks, strict=True):
        for ax, bot in zip(axes, bots, strict=True):
            if player not in players_of(curves, f"against/{bot}"):
                ax.set_visible(False)  # of one copy of a player a run records nothing
                continue
            draw(ax, [of_player(curves, axis, player, f"against/{bot}")])
            label(ax, f"{player} against {brief(bot)}", axis, f"won ({unit})")
        then = np.array([(at, won.value, won.half_width or 0) for at, won in met], float).T
        band = (("95 % interval", then[1] - then[2], then[1] + then[2]),)
        draw(last, [Line(player.replace("_", " "), then[0], then[1], band, player)])
        title = f"{player} against earlier selves"
        label(last, title, "decisions of the earlier self", f"won ({unit})")
        for ax in (*axes, last):
            ax.axhline(0, color=INK, linewidth=0.8)
    footnote(figure, f"matches; shaded: 95 % interval{paths(bots)}")
    return figure


def outcomes(matches: Sequence[tuple[str, str, Outcomes]]) -> Figure | None:
    """How often each result of a hand was, in per cent, in matches (player, opponent, results)."""
    if not matches:
        return None
    figure, (axes,) = panels(1, len(matches))
    colour_of = colours(player for player, _, _ in matches)
    for ax, (player, opponent, ended) in zip(axes, matches, strict=True):
        results, hands = np.array(ended.results), np.array(ended.hands)
        share = 100 * hands / hands.sum()
        width = 0.9 * float(np.diff(results).min(initial=1))
        ax.bar(results, share, width, color=colour_of[player])
        mean = float(results @ hands / hands.sum())
        ax.axvline(mean, color=INK, linestyle="--", label=f"mean {mean:.2f}")
        ax.legend(frameon=False, fontsize=9, labelcolor=INK)
        title = f"{player} against {brief(opponent)}"
        label(ax, title, f"won in a hand ({ended.unit})", f"% of {hands.sum():,} hands")
    opponents = [opponent for _, opponent, _ in matches]
    footnote(figure, f"every hand of the matches{paths(opponents)}")
    return figure


def losses(curves: Curves, axis: str, smoothing: float) -> Figure | None:
    """Every loss over the run, a panel each."""
    tags = [tag for tag in curves if tag.startswith("loss/")]
    if not tags:
        return None
    figure, (axes,) = panels(1, len(tags))
    for tag, ax in zip(tags, axes, strict=True):
        seen = np.isfinite(curves[tag])
        line = Line(tag, curves[axis][seen], smoothed(curves[tag][seen], smoothing), player="loss")
        draw(ax, [line])
        averaged = f", exponential average {smoothing:g}" if smoothing < 1 else ""
        label(ax, f"{tag[5:].replace('_', ' ').capitalize()} loss{averaged}", axis, "loss")
    footnote(figure, "each point is the mean of the updates since the point before")
    return figure
