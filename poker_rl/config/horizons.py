"""From what YAML says of a schedule's horizon to steps, and step sizes that have come to 0.

    horizon: null    the whole budget
    horizon: 0.8     that share of the budget, a number between 0 and 1
    horizon: 3.2e6   steps, from 1 on, whatever the budget is

Horizons that follow the budget are resolved when a run begins and written into its config, so that
a run that is resumed with a larger budget keeps its schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Annotated, Any, TypeGuard, get_args, get_origin

from poker_rl.config.build import annotation_of, find
from poker_rl.config.schedules import Over
from poker_rl.config.settings import LARGEST, Refused


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings with all horizons in steps; as they are if there is no budget (yet).

    Raises:
        Refused: if a horizon is none, or follows a budget that is counted in something else.
    """
    algo, budget = settings.get("algo"), settings.get("budget")
    if not isinstance(algo, Mapping) or not _is_number(budget) or not any(_following(algo)):
        return dict(settings)
    return {**settings, "algo": _node(algo, "algo", float(budget), settings.get("budget_unit"))}


def used_up(algorithm: Any, budget: int, unit: str) -> Iterator[str]:
    """The step sizes of a learner that are 0 from the end of a budget on, though they were not.

    Those that count steps of a network's own, which no budget tells, are looked at as they are now.
    """
    for key, steps in getattr(algorithm, "own_steps", dict)().items():
        schedule = attrgetter(key)(algorithm)
        if schedule.value(0) > 0 == schedule.value(steps):
            yield key
    for field in fields(algorithm) if is_dataclass(algorithm) else ():
        over = _over(annotation_of(type(algorithm), field.name))
        is_step_size = field.name == "lr" or field.name.endswith("_lr")
        if over is None or not is_step_size or not hasattr(algorithm.progress, over.unit):
            continue
        steps = getattr(algorithm.progress, over.unit)
        if over.unit == unit:
            steps = max(steps, budget)
        schedule = getattr(algorithm, field.name)
        each = getattr(algorithm, over.each) if over.each else 1
        if schedule.value(0) > 0 == schedule.value(steps // each):
            yield field.name


def _following(node: Mapping[str, Any]) -> Iterator[bool]:
    """Whether a horizon is anything but steps, for each below a node."""
    for name, value in node.items():
        if isinstance(value, Mapping):
            yield from _following(value)
        elif name == "horizon":
            yield not (_is_number(value) and value >= 1)


def _node(node: Mapping[str, Any], key: str, budget: float, unit: object) -> dict[str, Any]:
    """The settings of an object, the horizons of the schedules in it in steps."""
    target = find(node.get("_target_"), f"{key}._target_")
    names = {field.name for field in fields(target)}
    new = dict(node)
    for name, value in node.items():
        if name not in names or not isinstance(value, Mapping):
            continue
        over = _over(annotation_of(target, name))
        if over is None:
            new[name] = _node(value, f"{key}.{name}", budget, unit)
        elif "horizon" in value:
            each = node.get(over.each)
            copies = each if _is_number(each) and each >= 1 else 1  # `build` tells what is wrong
            steps = budget / copies if over.unit == unit else None
            horizon = _horizon(value, f"{key}.{name}", steps, over, unit)
            new[name] = {**value, "horizon": horizon}
    return new


def _horizon(
    schedule: Mapping[str, Any], key: str, budget: float | None, over: Over, unit: object
) -> Any:
    """The horizon of a schedule in steps.

    Args:
        budget: in steps of the schedule, None if it is counted in something else.
    """
    share = horizon = schedule["horizon"]
    if horizon is None:
        share = 1.0
    elif not _is_number(horizon) or horizon >= 1:
        return horizon
    elif not horizon > 0:
        raise Refused(
            f"{key}.horizon: {horizon:g} is neither a number of steps (1 or more), nor a share of"
            " the budget (between 0 and 1), nor null for the whole budget"
        )
    if budget is None:
        if schedule.get("start") == schedule.get("end"):
            return 1.0  # any will do: nothing changes on the way
        raise Refused(
            f"{key}.horizon: can't follow the budget, which is in {unit}, as this schedule counts"
            f" {over.unit}; give a number of those, or one number in place of the schedule"
        )
    return float(max(1, round(share * budget)))  # below 1 it would be read as a share again


def _over(annotation: Any) -> Over | None:
    """What the schedule that is declared so counts; None if it is no schedule."""
    if get_origin(annotation) is Annotated:
        return next((note for note in get_args(annotation)[1:] if isinstance(note, Over)), None)
    return next((over for part in get_args(annotation) if (over := _over(part))), None)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is one that steps can be counted by: finite, and not too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST
