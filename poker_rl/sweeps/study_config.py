"""Settings of `poker-rl tune`: those of a study, and its search space (values to try per key)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from poker_rl.config.validation import (
    ConfigError,
    NonNegativeInt,
    PositiveInt,
    Probability,
    Seed,
    format_value,
)

SearchSpace = dict[str, BaseDistribution]
Value = bool | int | float | str | None
EXAMPLE = "{low: 1e-4, high: 1e-2, log: true}"


@dataclass(kw_only=True, frozen=True)
class TuneConfig:
    """Settings of `poker-rl tune` without the search space; conf/tune.yaml explains them."""

    tune: str | None
    train_overrides: list[str]
    seeds: list[Seed]
    metric: str
    direction: Literal["minimize", "maximize"]
    trials: PositiveInt
    startup_trials: NonNegativeInt
    pruner: Literal["median", "hyperband", "none"]
    warmup_share: Probability
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
            case {"low": int(low), "high": int(high), "log": bool(log), **rest} if not rest:
                return IntDistribution(low, high, log=log)
            case {
                "low": int() | float() as low,
                "high": int() | float() as high,
                "log": bool(log),
                **rest,
            } if not rest:
                return FloatDistribution(low, high, log=log)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None
    raise ConfigError(f"{key}: {format_value(config)}; allowed: {EXAMPLE} or {{choices: [a, b]}}")


def format_overrides(values: Mapping[str, Value]) -> list[str]:
    """Return settings as overrides KEY=VALUE, with all digits of numbers."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in values.items()
    ]
