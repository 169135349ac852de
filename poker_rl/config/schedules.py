"""Schedules, by which a setting such as a learning rate changes in the course of a run.

The horizon of a schedule is the number of steps over which it changes. The annotation of the field
determines the unit of a step: `lr: ScheduleOverDecisions` counts decisions, and
`lr: ScheduleOverUpdates` counts updates. Settings give a horizon in three ways:

    horizon: null    the whole budget
    horizon: 0.8     a share of the budget, between 0 and 1
    horizon: 3.2e6   a number of steps, 1 or more, which does not depend on the budget

When a run begins, horizons are converted to steps and written into its config. The schedules of a
run that is resumed with a larger budget are therefore unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import sqrt
from typing import Annotated, Any, NamedTuple, Protocol, get_args

from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    PositiveFloat,
    PositiveShare,
    Range,
    error_prefix,
    format_value,
)
from poker_rl.config.target_classes import get_field_annotation, split_target_and_settings

STEP_RANGE = Range(1)
StepCount = Annotated[float, STEP_RANGE]


class Schedule(Protocol):
    """Protocol of schedules, which give the value of a setting at each step of a run."""

    def value(self, step: int) -> float:
        """Return the value after `step` steps."""


class StepUnit(NamedTuple):
    """Unit in which a schedule counts steps, as part of a field's annotation.

    A horizon can be a share of the budget only if the budget has the same unit.
    """

    unit: str  # counted unit, such as updates
    divided_by: str = ""  # setting that divides the count, such as `instances`; empty: none


ScheduleOverDecisions = Annotated[Schedule, StepUnit("decisions")]
ScheduleOverInstanceDecisions = Annotated[Schedule, StepUnit("decisions", "instances")]
ScheduleOverUpdates = Annotated[Schedule, StepUnit("updates")]
ScheduleOverGradientSteps = Annotated[Schedule, StepUnit("gradient steps of its own")]


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
class StableDecay(Linear):
    """Schedule that stays at `start`, and goes linearly to `end` in the last part of the horizon.

    It is the warmup-stable-decay schedule of MiniCPM (arXiv:2404.06395) without the warmup.
    """

    decay_share: PositiveShare  # share of the horizon, at its end, in which the value decays

    def value(self, step: int) -> float:
        fraction_left = (1 - min(step / self.horizon, 1.0)) / self.decay_share
        return self.end + min(fraction_left, 1.0) * (self.start - self.end)


@dataclass(kw_only=True, frozen=True)
class LogLinear(Linear):
    """Schedule that goes geometrically from `start` to `end` over the horizon, and stays there."""

    start: PositiveFloat
    end: PositiveFloat

    def value(self, step: int) -> float:
        fraction_done = min(step / self.horizon, 1.0)
        return float(self.start ** (1 - fraction_done) * self.end**fraction_done)


@dataclass(kw_only=True, frozen=True)
class InverseSqrt(Constant):
    """Schedule that stays at `start` over the horizon, and then decays like 1/sqrt(step)."""

    horizon: StepCount

    def value(self, step: int) -> float:
        return self.start / sqrt(max(step / self.horizon, 1.0))


def convert_horizons_to_steps(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings with all horizons converted to steps.

    Without a valid budget, horizons remain as they are; `build` rejects such settings later.
    """
    algo, budget = config.get("algo"), config.get("budget")
    if not isinstance(algo, Mapping) or budget not in STEP_RANGE:
        return dict(config)
    return {**config, "algo": _convert_horizons(algo, "algo", budget, config.get("budget_unit"))}


def _convert_horizons(
    config: Mapping[str, Any], path: str, budget: Any, budget_unit: object
) -> dict[str, Any]:
    """Return an object's settings with all horizons converted to steps, also in nested objects."""
    if "_target_" not in config:
        return dict(config)  # `build` will reject settings without a class
    target, settings = split_target_and_settings(config, path)
    converted = dict(config)
    for name in (field.name for field in fields(target)):
        value = settings.get(name)
        if not isinstance(value, Mapping):
            continue
        step_unit = _find_step_unit_in_annotation(get_field_annotation(target, name))
        if step_unit is None:
            converted[name] = _convert_horizons(value, f"{path}.{name}", budget, budget_unit)
        elif "horizon" in value:
            divisor = config.get(step_unit.divided_by)
            if divisor not in STEP_RANGE:
                divisor = 1  # no divisor, or one that `build` will reject
            with error_prefix(f"{path}.{name}.horizon"):
                horizon = _convert_horizon_to_steps(
                    value, budget / divisor, step_unit.unit, budget_unit
                )
            converted[name] = {**value, "horizon": horizon}
    return converted


def _convert_horizon_to_steps(
    schedule: Mapping[str, Any], budget_steps: float, unit: str, budget_unit: object
) -> Any:
    """Return a horizon in steps of `unit`; a share of the budget needs `budget_unit` == `unit`."""
    horizon = schedule["horizon"]
    if horizon in STEP_RANGE:
        return horizon
    if horizon is not None and horizon not in Range(0, 1, exclude_low=True):
        raise ConfigError(
            f"{format_value(horizon)} is neither a number of steps (1 or more), nor a share of"
            " the budget (between 0 and 1), nor null for the whole budget"
        )
    if unit == budget_unit:
        share = 1.0 if horizon is None else horizon
        return float(max(1, round(share * budget_steps)))  # a number below 1 would mean a share
    if schedule.get("start") == schedule.get("end"):
        return 1.0  # the horizon of a constant schedule has no effect
    raise ConfigError(
        f"can't follow the budget, which is in {budget_unit}, as this schedule counts {unit}; give"
        " a number of those, or one number in place of the schedule"
    )


def _find_step_unit_in_annotation(annotation: Any) -> StepUnit | None:
    """Return the `StepUnit` in a field's annotation; None if the field is no schedule."""
    if isinstance(annotation, StepUnit):
        return annotation
    return next(filter(None, map(_find_step_unit_in_annotation, get_args(annotation))), None)


def find_exhausted_learning_rate(
    config: Mapping[str, Any], path: str, budget: int, budget_unit: str
) -> str | None:
    """Return the key of a learning rate that is 0 at the end of the budget, or None if none is.

    Schedules that count other steps than the budget are left out.
    """
    target, settings = split_target_and_settings(config, path)
    for name in (field.name for field in fields(target)):
        schedule = settings.get(name)
        step_unit = _find_step_unit_in_annotation(get_field_annotation(target, name))
        if step_unit is None or step_unit.unit != budget_unit or not isinstance(schedule, Mapping):
            continue
        if not (name == "lr" or name.endswith("_lr")) or schedule.get("end") != 0:
            continue
        budget_steps = budget / settings.get(step_unit.divided_by, 1)
        if schedule["start"] > 0 and schedule["horizon"] <= budget_steps:
            return f"{path}.{name}"
    return None
