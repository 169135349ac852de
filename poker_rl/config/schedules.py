"""Settings that change in the course of a run, each over a horizon of its own.

A horizon is a number of steps. In YAML it may also follow the budget, as the whole of it or as a
share; `horizons` turns that into steps when a run begins, and from then on the run keeps them. What
a step is, each learner says at its setting: `lr: OverInstance` counts decisions of one instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple, Protocol

from poker_rl.config.settings import NonNegative, Positive, Range, Share

Steps = Annotated[float, Range(1)]


class Schedule(Protocol):
    """A number that depends on how far a run has come."""

    def value(self, step: int) -> float:
        """The setting after `step` steps."""


class Over(NamedTuple):
    """What the steps of a schedule are, part of a field's annotation.

    A horizon can follow the budget if both are counted in the same unit.
    """

    unit: str  # a unit of the budget, or in words what no budget counts
    each: str = ""  # the setting among which the unit is divided, such as `instances`


OverDecisions = Annotated[Schedule, Over("decisions")]
OverInstance = Annotated[Schedule, Over("decisions", "instances")]  # decisions of one instance
OverUpdates = Annotated[Schedule, Over("updates")]
OverOwnSteps = Annotated[Schedule, Over("gradient steps of its own")]  # of one network or learner


@dataclass(kw_only=True, frozen=True)
class Constant:
    """The same at every step."""

    start: NonNegative

    def value(self, step: int) -> float:
        return self.start


@dataclass(kw_only=True, frozen=True)
class Linear:
    """A straight line from start to end, then end."""

    start: NonNegative
    end: NonNegative
    horizon: Steps

    def value(self, step: int) -> float:
        done = min(step / self.horizon, 1.0)
        return (1 - done) * self.start + done * self.end


@dataclass(kw_only=True, frozen=True)
class StableDecay:
    """start, then in the last part of the horizon a straight line to end, then end.

    The warmup-stable-decay schedule of MiniCPM (arXiv:2404.06395), without the warmup.
    """

    start: NonNegative
    end: NonNegative
    decay: Share  # of the horizon, its last part
    horizon: Steps

    def value(self, step: int) -> float:
        left = (1 - min(step / self.horizon, 1.0)) / self.decay  # of the fall
        return self.end + min(left, 1.0) * (self.start - self.end)


@dataclass(kw_only=True, frozen=True)
class Log:
    """A straight line on a logarithmic scale from start to end, then end."""

    start: Positive
    end: Positive
    horizon: Steps

    def value(self, step: int) -> float:
        done = min(step / self.horizon, 1.0)
        return float(self.start ** (1 - done) * self.end**done)


@dataclass(kw_only=True, frozen=True)
class InverseSqrt:
    """start for the length of the horizon, from there on falling as 1/sqrt(step)."""

    start: NonNegative
    horizon: Steps

    def value(self, step: int) -> float:
        return self.start / sqrt(max(step / self.horizon, 1.0))
