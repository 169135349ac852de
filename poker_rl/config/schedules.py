"""Schedules: settings, such as learning rates, that change in the course of a run.

The horizon of a schedule is the number of steps over which it changes. In YAML it may also depend
on the budget, see `schedule_horizons`. The annotation of a setting says what counts as a step, such
as a decision in `lr: ScheduleOverDecisions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple, Protocol

from poker_rl.config.validation import NonNegativeFloat, PositiveFloat, PositiveShare, Range

StepCount = Annotated[float, Range(1)]


class Schedule(Protocol):
    """Protocol of schedules: the value of a setting depends on the progress of a run."""

    def value(self, step: int) -> float:
        """Return the value after `step` steps."""


class StepUnit(NamedTuple):
    """Unit in which a schedule counts steps, as part of the annotation of a setting.

    A horizon can depend on the budget only if the budget has the same unit.
    """

    unit: str  # a `budget_unit`, or a description of another unit
    divided_by: str = ""  # name of a setting; the steps are the counted units divided by its value


ScheduleOverDecisions = Annotated[Schedule, StepUnit("decisions")]
ScheduleOverInstanceDecisions = Annotated[Schedule, StepUnit("decisions", "instances")]
ScheduleOverUpdates = Annotated[Schedule, StepUnit("updates")]
ScheduleOverOwnSteps = Annotated[Schedule, StepUnit("gradient steps of its own")]


@dataclass(kw_only=True, frozen=True)
class Constant:
    """Schedule with a constant value."""

    start: NonNegativeFloat

    def value(self, step: int) -> float:
        return self.start


@dataclass(kw_only=True, frozen=True)
class Linear:
    """Straight line from `start` to `end` over the horizon, then constant `end`."""

    start: NonNegativeFloat
    end: NonNegativeFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_done = min(step / self.horizon, 1.0)
        return (1 - fraction_done) * self.start + fraction_done * self.end


@dataclass(kw_only=True, frozen=True)
class StableDecay:
    """Constant `start`, then a straight line to `end` in the last part of the horizon.

    It is the warmup-stable-decay schedule of MiniCPM (arXiv:2404.06395) without the warmup.
    """

    start: NonNegativeFloat
    end: NonNegativeFloat
    decay_share: PositiveShare  # share of the horizon in which the value decays
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_left = (1 - min(step / self.horizon, 1.0)) / self.decay_share
        return self.end + min(fraction_left, 1.0) * (self.start - self.end)


@dataclass(kw_only=True, frozen=True)
class LogLinear:
    """Straight line on a logarithmic scale over the horizon, then constant `end`."""

    start: PositiveFloat
    end: PositiveFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_done = min(step / self.horizon, 1.0)
        return float(self.start ** (1 - fraction_done) * self.end**fraction_done)


@dataclass(kw_only=True, frozen=True)
class InverseSqrt:
    """Constant `start` over the horizon, then a decay in proportion to 1/sqrt(step)."""

    start: NonNegativeFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        return self.start / sqrt(max(step / self.horizon, 1.0))
