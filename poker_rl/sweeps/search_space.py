"""What a study searches: the values that settings are tried with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from poker_rl.config.build import convert_fields
from poker_rl.config.messages import shown
from poker_rl.config.settings import Refused

Space = dict[str, BaseDistribution]
Value = bool | int | float | str | None


@dataclass(kw_only=True, frozen=True)
class Interval:
    """The values from `low` to `high`, both among them."""

    low: float
    high: float
    log: bool  # drawn evenly on a logarithmic scale

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            if not isfinite(getattr(self, end)):
                raise Refused(f"{end}: is not finite")
        if not self.low < self.high:
            raise Refused(f"low: {self.low:g} is not below high, {self.high:g}")
        if self.log and not self.low > 0:
            raise Refused(f"low: {self.low:g} has no logarithm; give one above 0, or log: false")

    def distribution(self, whole: bool) -> BaseDistribution:
        """The same for Optuna, perhaps of whole numbers only."""
        if whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)


def space_of(node: object) -> Space:
    """What YAML says of the values to try, by the setting's dotted key.

    Raises:
        Refused: if it names nothing, or not values.
    """
    if not isinstance(node, Mapping) or not node:
        example = "{algo.lr.start: {low: 1e-4, high: 1e-2, log: true}}"
        raise Refused(f"space: names nothing to search; give keys and their values, as {example}")
    for key in node:
        within = [other for other in node if str(other).startswith(f"{key}.")]
        if within:
            raise Refused(f"space.{key}: holds {within[0]}, which is searched too; give one")
    return {str(key): _values(one, f"space.{key}") for key, one in node.items()}


def _values(node: object, key: str) -> BaseDistribution:
    if isinstance(node, Mapping) and node.keys() == {"choices"}:
        choices = node["choices"]
        if not isinstance(choices, list) or not choices:
            raise Refused(f"{key}.choices: {shown(choices)} is not a list of values")
        for one in choices:
            if not isinstance(one, Value):
                raise Refused(f"{key}.choices: {shown(one)} is no single value; write it as text")
            if [type(other) for other in choices if other == one].count(type(one)) > 1:
                raise Refused(f"{key}.choices: {shown(choices)} has one twice")
        return CategoricalDistribution(choices)
    if not isinstance(node, Mapping) or "choices" in node:
        what = "{low: 1e-4, high: 1e-2, log: true} or {choices: [a, b]}"
        raise Refused(f"{key}: {shown(node)} is neither; allowed: {what}")
    try:
        interval = Interval(**convert_fields(Interval, node, key, {}))
    except Refused as error:
        raise Refused(str(error) if str(error).startswith(key) else f"{key}.{error}") from None
    return interval.distribution(whole=all(isinstance(node[end], int) for end in ("low", "high")))


def override(key: str, value: Value) -> str:
    """A setting as the command line takes it, a number with all its digits."""
    text = str(value)
    if value is None or isinstance(value, bool):
        text = "null" if value is None else text.lower()
    return f"{key}={text}"


def drawn(space: Space, trial: Trial) -> dict[str, Value]:
    """The settings that a trial is given."""
    values: dict[str, Value] = {}
    for key, one in space.items():
        if isinstance(one, CategoricalDistribution):
            values[key] = trial.suggest_categorical(key, one.choices)
        elif isinstance(one, IntDistribution):
            values[key] = trial.suggest_int(key, one.low, one.high, log=one.log)
        elif isinstance(one, FloatDistribution):
            values[key] = trial.suggest_float(key, one.low, one.high, log=one.log)
    return values


def samples(space: Space) -> Iterator[dict[str, Any]]:
    """Settings in which every bound and every choice comes at least once, in few combinations."""
    ends: dict[str, tuple[Any, ...]] = {}
    for key, one in space.items():
        if isinstance(one, CategoricalDistribution):
            ends[key] = tuple(one.choices)
        elif isinstance(one, IntDistribution | FloatDistribution):
            ends[key] = (one.low, one.high)
    for number in range(max(map(len, ends.values()))):
        yield {key: values[number % len(values)] for key, values in ends.items()}
