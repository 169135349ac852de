"""Settings of an average policy, as tests change them."""

from __future__ import annotations

from typing import Any

from poker_rl.config.schedules import Constant
from poker_rl.learning.average_policy import AveragePolicySettings
from poker_rl.learning.buffers.replay_buffer import UniformReservoir


def average_settings(**changed: Any) -> AveragePolicySettings:
    settings: dict[str, Any] = {
        "capacity": 1000,
        "insertion_rule": UniformReservoir(),
        "gradient_steps": 1,
        "batch_size": 32,
        "optimizer": "adam",
        "lr": Constant(start=1e-3),
        "max_grad_norm": 1.0,
        "iteration_weight_power": 0.0,
    }
    return AveragePolicySettings(**settings | changed)
