"""The search space of a study: the settings to search and the values to try."""

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
from poker_rl.config.error_hints import format_value
from poker_rl.config.validation import ConfigError

SearchSpace = dict[str, BaseDistribution]
Value = bool | int | float | str | None


@dataclass(kw_only=True, frozen=True)
class Interval:
    """Interval of values from `low` to `high`, both included."""

    low: float
    high: float
    log: bool  # sample uniformly on a logarithmic scale


def parse_search_space(config: object) -> SearchSpace:
    """Return Optuna's distribution for each dotted key of the setting `search_space`.

    Raises:
        ConfigError: if the setting is empty, or a value is neither an interval nor a list.
    """
    if not isinstance(config, Mapping) or not config:
        example = "{algo.lr.start: {low: 1e-4, high: 1e-2, log: true}}"
        raise ConfigError(f"search_space: is empty; give keys and their values, as {example}")
    for key in config:
        nested = [other for other in config if str(other).startswith(f"{key}.")]
        if nested:
            raise ConfigError(
                f"search_space.{key}: contains {nested[0]}, which is searched too; give one"
            )
    return {
        str(key): _parse_distribution(value, f"search_space.{key}") for key, value in config.items()
    }


def _parse_distribution(config: object, key: str) -> BaseDistribution:
    if isinstance(config, Mapping) and config.keys() == {"choices"}:
        choices = config["choices"]
        if not isinstance(choices, list) or not choices:
            raise ConfigError(f"{key}.choices: {format_value(choices)} is not a list of values")
        for choice in choices:
            if not isinstance(choice, Value):
                raise ConfigError(
                    f"{key}.choices: {format_value(choice)} is no single value; write it as text"
                )
            if [type(other) for other in choices if other == choice].count(type(choice)) > 1:
                raise ConfigError(f"{key}.choices: {format_value(choices)} has one twice")
        return CategoricalDistribution(choices)
    if not isinstance(config, Mapping) or "choices" in config:
        allowed = "{low: 1e-4, high: 1e-2, log: true} or {choices: [a, b]}"
        raise ConfigError(f"{key}: {format_value(config)} is neither; allowed: {allowed}")
    interval = Interval(**convert_fields(Interval, config, key, {}))
    if not (isfinite(interval.low) and isfinite(interval.high)):
        raise ConfigError(f"{key}: low and high must be finite")
    try:
        if all(isinstance(config[bound], int) for bound in ("low", "high")):
            return IntDistribution(int(interval.low), int(interval.high), log=interval.log)
        return FloatDistribution(interval.low, interval.high, log=interval.log)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


def format_override(key: str, value: Value) -> str:
    """Return a setting as an override key=value, with all digits of a number."""
    text = str(value)
    if value is None or isinstance(value, bool):
        text = "null" if value is None else text.lower()
    return f"{key}={text}"


def suggest_settings(search_space: SearchSpace, trial: Trial) -> dict[str, Value]:
    """Return the value that Optuna suggests for each key of the search space in a trial."""
    values: dict[str, Value] = {}
    for key, one in search_space.items():
        if isinstance(one, CategoricalDistribution):
            values[key] = trial.suggest_categorical(key, one.choices)
        elif isinstance(one, IntDistribution):
            values[key] = trial.suggest_int(key, one.low, one.high, log=one.log)
        elif isinstance(one, FloatDistribution):
            values[key] = trial.suggest_float(key, one.low, one.high, log=one.log)
    return values


def iterate_extreme_settings(search_space: SearchSpace) -> Iterator[dict[str, Any]]:
    """Yield the fewest combinations of settings that together have every bound and every choice."""
    values = [
        one.choices if isinstance(one, CategoricalDistribution) else (one.low, one.high)  # type: ignore[attr-defined]
        for one in search_space.values()
    ]
    for number in range(max(map(len, values))):
        yield {
            key: choices[number % len(choices)]
            for key, choices in zip(search_space, values, strict=True)
        }
