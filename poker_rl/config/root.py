"""The settings that belong to no group."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from poker_rl.config.messages import shown
from poker_rl.config.settings import Count, Natural, Range, Refused, Seed

FILE_NAME = re.compile(r"\w[\w.+=-]{0,59}")  # and no folder above, whatever the system


@dataclass(kw_only=True, frozen=True)
class Root:
    """The settings that belong to no group."""

    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    precision: Literal["highest", "high", "medium"]
    workers: Annotated[int, Range(1, 1000)]
    budget: Count
    budget_unit: Literal["decisions", "hands", "updates", "iterations"]
    evaluate_every: Count
    checkpoint_every: Count
    figures: bool
    opponent: str | None
    model_id: Natural | None
    outputs: str
    name: str | None
    resume: str | None
    warm_start: str | None

    def __post_init__(self) -> None:
        if not self.outputs:
            raise Refused("outputs: give a folder, such as outputs=outputs")
        try:
            self.outputs.encode()
        except UnicodeEncodeError:
            raise Refused("outputs: is not text in UTF-8; give another name") from None
        if self.name is not None and not FILE_NAME.fullmatch(self.name):
            raise Refused(
                f"name: {shown(self.name)} is no name of a folder; allowed: up to 60 letters,"
                " digits and . _ + - =, a letter, digit or _ first"
            )
