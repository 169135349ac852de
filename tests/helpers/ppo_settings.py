"""Settings of PPO for small games, as tests change them."""

from __future__ import annotations

from typing import Any

from poker_rl.config.schedules import Constant
from poker_rl.learning.opponent_pool import OpponentPoolSettings


def ppo_settings(**changed: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "tables": 64,
        "rollout_steps": 8,
        "epochs": 2,
        "minibatches": 2,
        "gamma": 1.0,
        "gae_lambda": 0.95,
        "clip_coef": Constant(start=0.2),
        "lr": Constant(start=3e-3),
        "max_grad_norm": 0.5,
        "entropy_coef": Constant(start=0.1),
        "entropy_over": "actions",
        "kl_old_coef": None,
        "value_coef": 0.5,
        "clip_value_loss": False,
        "normalize_advantages": False,
        "reward_scale": 2.0,
        "critic_view": "own",
        "shared_layers": 0,
        "output_init_scale": 0.01,
        "ema_decay": 0.95,
        "average_policy": None,
        "opponent_pool": OpponentPoolSettings(play_prob=0.0, snapshot_interval=1, capacity=1),
        "network_sharing": "shared",
        "instances": 1,
        "seating": "fixed",
        "include_forced_moves": True,
    }
    return settings | changed
