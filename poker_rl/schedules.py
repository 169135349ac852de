"""Settings that change in the course of a run, each over a horizon of its own.

The horizon is independent of the budget, so that a longer run does not bend a schedule. Steps are
counted in whatever unit the algorithm names for the setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

from poker_rl.settings import NonNegative, Positive


class Schedule(Protocol):
    """A number that depends on how far a run has come."""

    def value(self, step: int) -> float:
        """The setting after `step` steps."""


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
    horizon: Positive

    def value(self, step: int) -> float:
        done = min(step / self.horizon, 1.0)
        return (1 - done) * self.start + done * self.end


@dataclass(kw_only=True, frozen=True)
class Log:
    """A straight line on a logarithmic scale from start to end, then end."""

    start: Positive
    end: Positive
    horizon: Positive

    def value(self, step: int) -> float:
        done = min(step / self.horizon, 1.0)
        return float(self.start ** (1 - done) * self.end**done)


@dataclass(kw_only=True, frozen=True)
class InverseSqrt:
    """start for the length of the horizon, from there on falling as 1/sqrt(step)."""

    start: NonNegative
    horizon: Positive

    def value(self, step: int) -> float:
        return self.start / sqrt(max(step / self.horizon, 1.0))
