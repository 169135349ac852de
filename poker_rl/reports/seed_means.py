"""Means over seeds with Student's 95 % interval, and curves over a common axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from poker_rl.reports.run_data import RunData


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


@dataclass(frozen=True)
class SeedMean:
    """Mean of a measure over runs, of which there is at least one."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return float(np.mean(self.values))

    @property
    def half_width(self) -> float | None:
        """Half the 95 % t-interval of the mean; None for a single run."""
        runs = len(self.values)
        if runs < 2:
            return None
        return compute_student_quantile(runs - 1) * float(
            np.std(self.values, ddof=1) / np.sqrt(runs)
        )


def get_value_at(run: RunData, tag: str, x_axis: str, x_value: float | None) -> float | None:
    """Return a run's last value of a tag, at or before `x_value` if given; None without any."""
    x_values, values = run.get_points(tag, x_axis)
    if x_value is not None:
        values = values[x_values <= x_value]
    return float(values[-1]) if len(values) else None


def interpolate_to_common_axis(
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate curves linearly where all of them are defined.

    Args:
        curves: ascending positions on the axis and values of each run, at least one run.

    Returns:
        The positions of all runs in the common range, [N], and each run's values, [runs, N].
    """
    common_x = np.unique(np.concatenate([run_x for run_x, _ in curves]))
    start, end = max(run_x[0] for run_x, _ in curves), min(run_x[-1] for run_x, _ in curves)
    common_x = common_x[(common_x >= start) & (common_x <= end)]
    return common_x, np.stack([np.interp(common_x, run_x, values) for run_x, values in curves])
