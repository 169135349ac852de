"""Settings of `poker-rl tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from poker_rl.config.validation import (
    ConfigError,
    NonNegativeInt,
    PositiveInt,
    Probability,
    Range,
    Seed,
)


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
        if not self.seeds:
            raise ConfigError("seeds: is empty; give at least one, as [0]")
        if len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds: {self.seeds} has one twice, whose runs would be the same")
