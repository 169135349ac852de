"""Means and interquartile means (IQM) over seeds, their 95 % intervals, and performance profiles.

The IQM, the stratified bootstrap and the performance profile are those of rliable (Agarwal et al.,
arXiv:2108.13264). A stratum consists of the runs of one game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

from poker_rl.evaluation.plots.plotting import CurveLine

Band = Literal["interval", "range"]
Statistic = Literal["mean", "iqm"]
RESAMPLE_COUNT = 2000  # number of bootstrap samples


def estimate_with_interval(
    values: Sequence[float], statistic: Statistic = "mean"
) -> tuple[float, float | None, float | None]:
    """Return the mean or IQM of values [seeds], and its interval's ends (None for one seed)."""
    columns = estimate_columns_with_interval(np.array(values, float)[:, None], statistic)
    center, low, high = (column.item() for column in columns)
    return (center, None, None) if len(values) == 1 else (center, low, high)


def estimate_columns_with_interval(
    values: np.ndarray, statistic: Statistic
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean or IQM of each column of `values` [seeds, N], and its 95 % interval.

    The three arrays [N] are the values and both ends of their intervals, which are equal if there
    is only one seed.
    """
    mean, count = values.mean(0), len(values)
    if count == 1:
        return mean, mean, mean
    if statistic == "iqm":
        return compute_iqm(values), *bootstrap_interval([values], compute_iqm)
    deviation = values.std(0, ddof=1) / np.sqrt(count)
    half_width = compute_student_quantile(count - 1) * deviation
    return mean, mean - half_width, mean + half_width


def compute_iqm(values: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half of the values along the first axis."""
    cut = len(values) // 4
    return np.asarray(np.sort(values, axis=0)[cut : len(values) - cut].mean(0))


def bootstrap_interval(
    strata: Sequence[np.ndarray], compute: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower ends [N] and upper ends [N] of the 95 % bootstrap intervals of N statistics.

    `strata` has an array [runs, N] for each game; the runs of each game are resampled separately.
    `compute` returns the N statistics of an array [all runs, N] with the runs of all games.
    """
    generator = np.random.default_rng(0)  # a fixed seed, so that equal runs have equal intervals
    samples = []
    for _ in range(RESAMPLE_COUNT):
        resampled = [part[generator.integers(len(part), size=len(part))] for part in strata]
        samples.append(compute(np.concatenate(resampled)))
    low, high = np.percentile(samples, (2.5, 97.5), axis=0)
    return low, high


def compute_performance_profile(
    strata: Sequence[np.ndarray], thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share of runs whose score exceeds each of N thresholds, and its interval.

    The three arrays [N] are the share and both ends of its 95 % interval. `strata` has the scores
    [runs] of each game.
    """
    exceeds = [(scores[:, None] > thresholds).astype(float) for scores in strata]
    share, ends = np.concatenate(exceeds).mean(0), bootstrap_interval(exceeds, lambda r: r.mean(0))
    return share, *ends


def average_curves(
    legend_name: str,
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
    band: Band = "interval",
    statistic: Statistic = "mean",
    color: str | None = None,
) -> CurveLine:
    """Return the mean or IQM of curves, in the range of x values that all of them cover.

    A curve is a pair (ascending x values, y values), and is linear between these points. `band` is
    the 95 % interval of the mean or IQM, or the range from the lowest to the highest curve.
    """
    x_values = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    x_values = x_values[(x_values >= start) & (x_values <= end)]
    values = np.stack([np.interp(x_values, run_x, run_values) for run_x, run_values in curves])
    center, low, high = estimate_columns_with_interval(values, statistic)
    if band == "range":
        low, high = values.min(0), values.max(0)
    bands = ((band, low, high),) * (len(curves) > 1)
    return CurveLine(legend_name, x_values, center, bands, color=color)


@cache
def compute_student_quantile(degrees_of_freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution, to six digits.

    The density is integrated with the substitution t = sqrt(df) tan(angle), where df is
    `degrees_of_freedom`: over the angle, it is proportional to cos(angle)^(df - 1).
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    cumulative_density = np.cumsum(np.cos(angles[:-1] + step / 2) ** (degrees_of_freedom - 1))
    angle = np.interp(0.975, cumulative_density / cumulative_density[-1], angles[1:])
    return float(np.sqrt(degrees_of_freedom) * np.tan(angle))
