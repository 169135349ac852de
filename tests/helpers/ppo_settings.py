"""Settings of PPO for small games, as tests change them."""

from __future__ import annotations

from typing import Any

from poker_rl.config.schedules import Constant
from poker_rl.learning.earlier import EarlierSettings


def ppo_settings(**changed: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "tables": 64,
        "steps": 8,
        "epochs": 2,
        "minibatches": 2,
        "gamma": 1.0,
        "gae_lambda": 0.95,
        "clip": Constant(start=0.2),
        "lr": Constant(start=3e-3),
        "adam_epsilon": 1e-5,
        "gradient_norm": 0.5,
        "entropy": Constant(start=0.1),
        "even": "actions",
        "magnet": None,
        "magnet_every": 100,
        "last": None,
        "value": 0.5,
        "clip_value": False,
        "normalise": False,
        "reward_scale": 2.0,
        "critic": "own",
        "shared": 0,
        "last_scale": 0.01,
        "weight_average": 0.95,
        "average": None,
        "earlier": EarlierSettings(share=0.0, every=1, keep=1),
        "members": "shared",
        "instances": 1,
        "seating": "fixed",
        "ask_forced": True,
    }
    return settings | changed
