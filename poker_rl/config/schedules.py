"""Schedules, by which a setting such as a learning rate changes in the course of a run.

The horizon of a schedule is the number of steps over which it changes. In YAML it may also be a
share of the budget, see `schedule_horizons`. What a step is depends on the annotation of the field:
`lr: ScheduleOverDecisions` counts decisions, `ScheduleOverUpdates` updates, see `StepUnit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple, Protocol

from poker_rl.config.validation import NonNegativeFloat, PositiveFloat, PositiveShare, Range

StepCount = Annotated[float, Range(1)]


class Schedule(Protocol):
    """Protocol of schedules, which give the value of a setting at each step of a run."""

    def value(self, step: int) -> float:
        """Return the value after `step` steps."""


class StepUnit(NamedTuple):
    """Unit in which a schedule counts steps, as part of a field's annotation.

    A horizon can be a share of the budget only if the budget has the same unit.
    """

    unit: str  # counted unit, such as updates
    divided_by: str = ""  # setting by which the number of counted units is divided


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
    """Schedule that goes linearly from `start` to `end` over the horizon, and then stays there."""

    start: NonNegativeFloat
    end: NonNegativeFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_done = min(step / self.horizon, 1.0)
        return (1 - fraction_done) * self.start + fraction_done * self.end


@dataclass(kw_only=True, frozen=True)
class StableDecay:
    """Schedule that stays at `start`, and goes linearly to `end` at the end of the horizon.

    It is the warmup-stable-decay schedule of MiniCPM (arXiv:2404.06395) without the warmup.
    """

    start: NonNegativeFloat
    end: NonNegativeFloat
    decay_share: PositiveShare  # share of the horizon, at its end, in which the value decays
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_left = (1 - min(step / self.horizon, 1.0)) / self.decay_share
        return self.end + min(fraction_left, 1.0) * (self.start - self.end)


@dataclass(kw_only=True, frozen=True)
class LogLinear:
    """Schedule that goes geometrically from `start` to `end` over the horizon, and stays there."""

    start: PositiveFloat
    end: PositiveFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        fraction_done = min(step / self.horizon, 1.0)
        return float(self.start ** (1 - fraction_done) * self.end**fraction_done)


@dataclass(kw_only=True, frozen=True)
class InverseSqrt:
    """Schedule that stays at `start` over the horizon, and then decays like 1/sqrt(step)."""

    start: NonNegativeFloat
    horizon: StepCount

    def value(self, step: int) -> float:
        return self.start / sqrt(max(step / self.horizon, 1.0))
