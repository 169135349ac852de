"""Root settings of a run, those that belong to no group of options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from poker_rl.config.validation import (
    ConfigError,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Range,
    Seed,
    format_value,
)

# Names that lead to other folders, such as ../a, do not match.
FILE_NAME_PATTERN = re.compile(r"\w[\w.+=-]{0,59}")


@dataclass(kw_only=True, frozen=True)
class RootConfig:
    """Root settings; a comment in conf/config.yaml explains each of them."""

    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt
    precision: Literal["highest", "high", "medium"]
    workers: Annotated[int, Range(1, 1000)]
    budget: PositiveInt
    budget_unit: Literal["decisions", "hands", "updates", "iterations"]
    evaluate_every: PositiveInt
    checkpoint_every: PositiveInt
    figures: bool
    opponents: list[str]
    opponent_weights: list[PositiveFloat] | None
    self_interval: PositiveInt
    model_id: NonNegativeInt | None
    outputs: str
    name: str | None
    resume: str | None
    warm_start: str | None

    def __post_init__(self) -> None:
        if not self.outputs:
            raise ConfigError("outputs: give a folder, such as outputs=outputs")
        if self.name is not None and not FILE_NAME_PATTERN.fullmatch(self.name):
            raise ConfigError(
                f"name: {format_value(self.name)} is no name of a folder; allowed: up to 60"
                " letters, digits and . _ + - =, a letter, digit or _ first"
            )
