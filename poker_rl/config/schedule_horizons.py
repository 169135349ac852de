"""Conversion of the horizons of schedules to steps, and a check for learning rates that end at 0.

A horizon is the number of steps over which a schedule changes. Settings give it in three ways:

    horizon: null    the whole budget
    horizon: 0.8     a share of the budget, between 0 and 1
    horizon: 3.2e6   a number of steps, 1 or more, which does not depend on the budget

When a run begins, horizons are converted to steps and written into its config. The schedules of a
run that is resumed with a larger budget are therefore unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, TypeGuard, get_args, get_origin

from poker_rl.config.build import find_dataclass, get_field_annotation
from poker_rl.config.schedules import StepUnit
from poker_rl.config.validation import MAX_INTEGER, ConfigError


def convert_horizons_to_steps(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings with all horizons converted to steps.

    Without a valid budget, horizons remain as they are; `build` rejects such settings later.
    """
    algo, budget = config.get("algo"), config.get("budget")
    if not isinstance(algo, Mapping) or not _is_finite_number(budget):
        return dict(config)
    resolved = _resolve_settings(algo, "algo", float(budget), config.get("budget_unit"))
    return {**config, "algo": resolved}


def find_exhausted_learning_rate(config: Mapping[str, Any], path: str, budget: int) -> str | None:
    """Return the key of a learning rate that falls to 0 within the budget; None without one.

    The check assumes that steps of the schedule and the budget have the same unit.
    """
    for name, value in config.items():
        if not isinstance(value, Mapping):
            continue
        is_learning_rate = name == "lr" or name.endswith("_lr")
        if is_learning_rate and value.get("end") == 0 < value["start"]:
            if value["horizon"] <= budget:
                return f"{path}.{name}"
        elif found := find_exhausted_learning_rate(value, f"{path}.{name}", budget):
            return found
    return None


def _resolve_settings(
    config: Mapping[str, Any], path: str, budget: float, unit: object
) -> dict[str, Any]:
    """Return the settings of an object and its nested objects with horizons in steps."""
    if "_target_" not in config:
        return dict(config)  # `build` will reject settings without a class
    target = find_dataclass(config["_target_"], f"{path}._target_")
    field_names = {field.name for field in fields(target)}
    resolved = dict(config)
    for name, value in config.items():
        if name not in field_names or not isinstance(value, Mapping):
            continue
        step_unit = _find_step_unit(get_field_annotation(target, name))
        if step_unit is None:
            resolved[name] = _resolve_settings(value, f"{path}.{name}", budget, unit)
        elif "horizon" in value:
            divisor = config.get(step_unit.divided_by)
            if not _is_finite_number(divisor) or divisor < 1:
                divisor = 1  # `build` will reject this value
            steps = budget / divisor if step_unit.unit == unit else None
            horizon = _resolve_horizon(value, f"{path}.{name}", steps, step_unit, unit)
            resolved[name] = {**value, "horizon": horizon}
    return resolved


def _resolve_horizon(
    schedule: Mapping[str, Any],
    path: str,
    budget_steps: float | None,
    step_unit: StepUnit,
    unit: object,
) -> Any:
    """Return the horizon of a schedule in steps.

    `budget_steps` is the budget in steps of the schedule; None if the budget has another unit.
    """
    horizon = schedule["horizon"]
    share = 1.0 if horizon is None else horizon
    if not _is_finite_number(share) or (horizon is not None and share >= 1):
        return horizon
    if not share > 0:
        raise ConfigError(
            f"{path}.horizon: {horizon:g} is neither a number of steps (1 or more), nor a share of"
            " the budget (between 0 and 1), nor null for the whole budget"
        )
    if budget_steps is not None:
        return float(max(1, round(share * budget_steps)))  # a horizon below 1 would be a share
    if schedule.get("start") == schedule.get("end"):
        return 1.0  # the horizon of a constant schedule has no effect
    raise ConfigError(
        f"{path}.horizon: can't follow the budget, which is in {unit}, as this schedule counts"
        f" {step_unit.unit}; give a number of those, or one number in place of the schedule"
    )


def _find_step_unit(annotation: Any) -> StepUnit | None:
    """Return the `StepUnit` in a field's annotation; None if the field is no schedule."""
    if get_origin(annotation) is Annotated:
        return next((note for note in get_args(annotation)[1:] if isinstance(note, StepUnit)), None)
    units = [_find_step_unit(alternative) for alternative in get_args(annotation)]
    return next((unit for unit in units if unit is not None), None)


def _is_finite_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -MAX_INTEGER <= value <= MAX_INTEGER
