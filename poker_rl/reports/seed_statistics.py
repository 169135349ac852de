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


def estimate(
    values: Sequence[float], statistic: Statistic = "mean"
) -> tuple[float, float | None, float | None]:
    """Return a statistic of the values of all seeds and the ends of its interval, None for one."""
    columns = estimate_columns(np.array(values, float)[:, None], statistic)
    center, low, high = (column.item() for column in columns)
    return (center, None, None) if len(values) == 1 else (center, low, high)


def estimate_columns(
    values: np.ndarray, statistic: Statistic
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a statistic over the seeds of values [seeds, N], and the ends of its interval, [N]."""
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
    """Return both ends [N] of the 95 % bootstrap interval of a statistic, [all runs, N] -> [N].

    `strata` has the values of the runs of each game, [runs, N]; runs are resampled game by game.
    """
    generator = np.random.default_rng(0)  # a fixed seed, so that equal runs have equal intervals
    samples = []
    for _ in range(RESAMPLE_COUNT):
        resampled = [part[generator.integers(len(part), size=len(part))] for part in strata]
        samples.append(compute(np.concatenate(resampled)))
    low, high = np.percentile(samples, (2.5, 97.5), axis=0)
    return low, high


def compute_profile(
    strata: Sequence[np.ndarray], thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share of runs whose score exceeds each threshold [N], with its interval.

    `strata` has the scores of the runs of each game, [runs].
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
    """Return the mean or IQM of curves (ascending x values and y values) where all have values.

    The band is the 95 % interval of it, or the range from the lowest to the highest run.
    """
    x_values = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    x_values = x_values[(x_values >= start) & (x_values <= end)]
    values = np.stack([np.interp(x_values, run_x, run_values) for run_x, run_values in curves])
    center, low, high = estimate_columns(values, statistic)
    if band == "range":
        low, high = values.min(0), values.max(0)
    bands = ((band, low, high),) * (len(curves) > 1)
    return CurveLine(legend_name, x_values, center, bands, color=color)


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
