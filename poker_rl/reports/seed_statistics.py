"""Means over seeds with Student's 95 % intervals, of numbers and of curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from poker_rl.evaluation.plots.plotting import CurveLine

Band = Literal["interval", "range"]


class Estimate(NamedTuple):
    """Mean over seeds with its 95 % interval; a single seed has no interval."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval; None without an interval."""
        return None if self.high is None or self.low is None else (self.high - self.low) / 2


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of the values of all seeds, with its interval."""
    columns = estimate_columns(np.array(values, float)[:, None])
    mean, low, high = (column.item() for column in columns)
    return Estimate(mean) if len(values) == 1 else Estimate(mean, low, high)


def estimate_columns(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean over the seeds of values [seeds, N], and the ends of its interval, [N]."""
    mean, count = values.mean(0), len(values)
    if count == 1:
        return mean, mean, mean
    deviation = values.std(0, ddof=1) / np.sqrt(count)
    half_width = compute_student_quantile(count - 1) * deviation
    return mean, mean - half_width, mean + half_width


def average_curves(
    legend_name: str,
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
    band: Band = "interval",
) -> CurveLine:
    """Return the mean of curves (ascending x values and y values) where all of them have values.

    The band is the 95 % interval of the mean, or the range from the lowest to the highest run.
    """
    x_values = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    x_values = x_values[(x_values >= start) & (x_values <= end)]
    values = np.stack([np.interp(x_values, run_x, run_values) for run_x, run_values in curves])
    center, low, high = estimate_columns(values)
    if band == "range":
        low, high = values.min(0), values.max(0)
    return CurveLine(legend_name, x_values, center, ((band, low, high),) * (len(curves) > 1))


@cache
def compute_student_quantile(degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution for a 95 % interval, to six digits.

    The distribution is integrated over angle, where x = sqrt(df) tan(angle) and the density is
    proportional to cos(angle)^(df - 1).
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    cumulative_density = np.cumsum(np.cos(angles[:-1] + step / 2) ** (degrees_of_freedom - 1))
    angle = np.interp(0.975, cumulative_density / cumulative_density[-1], angles[1:])
    return float(np.sqrt(degrees_of_freedom) * np.tan(angle))
