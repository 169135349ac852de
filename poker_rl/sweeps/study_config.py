"""Settings of `poker-rl tune`: those of a study, and its search space (values to try per key)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from poker_rl.config.validation import (
    ConfigError,
    NonNegativeInt,
    PositiveInt,
    Probability,
    Range,
    Seed,
    format_value,
)

SearchSpace = dict[str, BaseDistribution]
Value = bool | int | float | str | None
EXAMPLE = "{low: 1e-4, high: 1e-2, log: true}"


@dataclass(kw_only=True, frozen=True)
class TuneConfig:
    """Settings of `poker-rl tune` without the search space."""

    tune: str | None
    train_overrides: list[str]
    seeds: list[Seed]
    metric: str
    direction: Literal["minimize", "maximize"]
    trials: PositiveInt
    startup_trials: NonNegativeInt
    pruner: Literal["median", "hyperband", "none"]
    warmup_share: Probability
    heartbeat_interval: Annotated[int, Range(1, 3600)]
    out: str | None

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds: {self.seeds}; give at least one, as [0], and each once")


def parse_search_space(config: object) -> SearchSpace:
    """Return Optuna's distribution for each dotted key of the setting `search_space`."""
    if not isinstance(config, Mapping) or not config:
        raise ConfigError(
            f"search_space: is empty; give keys and values, as {{algo.lr: {EXAMPLE}}}"
        )
    return {
        str(key): _parse_distribution(value, f"search_space.{key}") for key, value in config.items()
    }


def _parse_distribution(config: object, key: str) -> BaseDistribution:
    try:
        match config:
            case {"choices": [_, *_] as choices, **rest} if not rest:
                if all(isinstance(choice, Value) for choice in choices):
                    return CategoricalDistribution(choices)
            case {
                "low": int() | float() as low,
                "high": int() | float() as high,
                "log": bool() as log,
                **rest,
            } if not rest and isfinite(low) and isfinite(high):
                if isinstance(low, int) and isinstance(high, int):
                    return IntDistribution(low, high, log=log)
                return FloatDistribution(low, high, log=log)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None
    raise ConfigError(f"{key}: {format_value(config)}; allowed: {EXAMPLE} or {{choices: [a, b]}}")


def format_override(key: str, value: Value) -> str:
    """Return a setting as an override KEY=VALUE, with all digits of a number."""
    text = str(value)
    if value is None or isinstance(value, bool):
        text = "null" if value is None else text.lower()
    return f"{key}={text}"


def suggest_settings(search_space: SearchSpace, trial: Trial) -> dict[str, Value]:
    """Return the values that Optuna suggests for a trial, by key of the search space."""
    values: dict[str, Value] = {}
    for key, values_to_try in search_space.items():
        match values_to_try:
            case CategoricalDistribution(choices=choices):
                values[key] = trial.suggest_categorical(key, choices)
            case IntDistribution(low=low, high=high, log=log):
                values[key] = trial.suggest_int(key, low, high, log=log)
            case FloatDistribution(low=low, high=high, log=log):
                values[key] = trial.suggest_float(key, low, high, log=log)
    return values


def iterate_extreme_settings(search_space: SearchSpace) -> Iterator[dict[str, Any]]:
    """Yield a few settings that together contain every bound and every choice of all keys."""
    values = [
        d.choices if isinstance(d, CategoricalDistribution) else (d.low, d.high)  # type: ignore[attr-defined]
        for d in search_space.values()
    ]
    for number in range(max(map(len, values))):
        yield {
            key: choices[number % len(choices)]
            for key, choices in zip(search_space, values, strict=True)
        }
