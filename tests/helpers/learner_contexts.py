"""Contexts and settings of learners on the CPU, as tests change them."""

import torch

from poker_rl.config.schedules import Constant
from poker_rl.learning.average_policy import AveragePolicySettings
from poker_rl.learning.buffers.replay_buffer import UniformReservoir
from poker_rl.learning.learner_services import LearnerContext
from poker_rl.learning.opponent_pool import OpponentPoolSettings
from poker_rl.learning.opponents import OpponentSettings


def cpu_context(game, net, seed=0, opponent=None):
    return LearnerContext(
        game=game, net=net, device=torch.device("cpu"), seed=seed, opponents=sole(opponent)
    )


def sole(opponent):
    """Return the settings of a single opponent; None for self-play."""
    return None if opponent is None else OpponentSettings(players={"fixed": opponent})


def average_settings(**changed):
    settings = {
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


def ppo_settings(**changed):
    settings = {
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
