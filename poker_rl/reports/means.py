"""Figures over seeds: the mean, Student's 95 % interval, curves over a common axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from poker_rl.reports.trained import Trained


@cache
def student(freedom: int, share: float = 0.975) -> float:
    """The quantile of Student's t distribution.

    With x = sqrt(freedom) tan(angle) the density is that of the angle, cos(angle)^(freedom - 1), up
    to a factor; its sum over a fine grid is good to six digits.
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    middles = angles[:-1] + step / 2
    below = np.cumsum(np.cos(middles) ** (freedom - 1))
    angle = np.interp(share, below / below[-1], angles[1:])
    return float(np.sqrt(freedom) * np.tan(angle))


@dataclass(frozen=True)
class Mean:
    """A figure of several runs."""

    values: tuple[float, ...]  # of each run, at least one

    @property
    def mean(self) -> float:
        """Over the runs."""
        return float(np.mean(self.values))

    @property
    def half_width(self) -> float | None:
        """Of the 95 % interval of the mean, by Student's t; None of one run."""
        runs = len(self.values)
        if runs < 2:
            return None
        return student(runs - 1) * float(np.std(self.values, ddof=1) / np.sqrt(runs))


def value_at(run: Trained, tag: str, x: str, at: float | None) -> float | None:
    """A run's last value of a tag, up to a place on the axis if one is given; None without any."""
    places, values = run.points(tag, x)
    if at is not None:
        values = values[places <= at]
    return float(values[-1]) if len(values) else None


def on_common_axis(
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Curves of several runs where all of them have one: places [N] and values [runs, N].

    The places are those of all runs. A run has values at others than its own by a straight line
    between the two beside it, and none before its first or after its last.

    Args:
        curves: places, rising, and values there of each run, one of them at least.
    """
    places = np.unique(np.concatenate([own for own, _ in curves]))
    first, last = max(own[0] for own, _ in curves), min(own[-1] for own, _ in curves)
    places = places[(places >= first) & (places <= last)]
    return places, np.stack([np.interp(places, own, values) for own, values in curves])
