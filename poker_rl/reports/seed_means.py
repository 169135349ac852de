"""Means over seeds with Student's 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np


@cache
def compute_student_quantile(degrees_of_freedom: int, probability: float = 0.975) -> float:
    """Return a quantile of Student's t distribution to six digits.

    With x = sqrt(df) tan(angle), the density of the angle is proportional to cos(angle)^(df - 1),
    which is summed over a fine grid.
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    bin_centers = angles[:-1] + step / 2
    cumulative_density = np.cumsum(np.cos(bin_centers) ** (degrees_of_freedom - 1))
    angle = np.interp(probability, cumulative_density / cumulative_density[-1], angles[1:])
    return float(np.sqrt(degrees_of_freedom) * np.tan(angle))


def summarize_seeds(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of at least one run and half its 95 % t-interval; None for a single run."""
    mean, count = float(np.mean(values)), len(values)
    if count == 1:
        return mean, None
    quantile = compute_student_quantile(count - 1)
    return mean, quantile * float(np.std(values, ddof=1) / np.sqrt(count))
