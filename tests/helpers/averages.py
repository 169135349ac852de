"""Settings of an average policy, as tests change them."""

from __future__ import annotations

from typing import Any

from poker_rl.config.schedules import Constant
from poker_rl.learning.average import AverageSettings
from poker_rl.learning.memory import Uniform


def average(**changed: Any) -> AverageSettings:
    settings: dict[str, Any] = {
        "capacity": 1000,
        "rule": Uniform(),
        "updates": 1,
        "batch": 32,
        "optimiser": "adam",
        "lr": Constant(start=1e-3),
        "gradient_norm": 1.0,
        "power": 0.0,
    }
    return AverageSettings(**settings | changed)
