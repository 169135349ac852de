"""Hints for error messages about a wrong name: similar names and those allowed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

# For each setting of this program, the names of the same setting in Stable-Baselines3, CleanRL,
# RLlib, OpenSpiel, PokerKit and Optuna.
NAMES_IN_OTHER_LIBRARIES = {
    "algo": "algorithm",
    "bet_sizes": "betting_abstraction",
    "budget": "total_timesteps total_steps num_timesteps timesteps timesteps_total training_steps",
    "checkpoint_every": "save_freq checkpoint_freq checkpoint_frequency save_model",
    "clip_coef": "clip_range clip_param clip_ratio clip_epsilon",
    "clip_value_loss": "clip_vloss clip_range_vf",
    "device": "cuda num_gpus",
    "entropy_coef": "entropy ent_coef entropy_coeff entropy_cost",
    "epochs": "n_epochs update_epochs num_epochs num_sgd_iter",
    "epsilon": "exploration_rate exploration_fraction start_e end_e epsilon_start",
    "evaluate_every": "eval_freq eval_every evaluation_interval",
    "gae_lambda": "lambda lambda_ gae_gamma",
    "game": "env env_id env_name gym_id",
    "hidden_sizes": "net_arch fcnet_hiddens hidden_layers_sizes hiddens",
    "lr": "learning_rate lr_schedule anneal_lr",
    "max_grad_norm": "grad_clip",
    "minibatches": "batch_size num_minibatches minibatch_size sgd_minibatch_size",
    "name": "exp_name run_name tb_log_name",
    "net": "policy model network policy_kwargs",
    "normalize_advantages": "norm_adv normalize_advantage",
    "replay_capacity": "buffer_size replay_buffer_capacity",
    "rollout_steps": "n_steps num_steps rollout_fragment_length rollout_length",
    "seats": "num_players players player_count",
    "stacks": "stack starting_stack starting_stacks",
    "startup_trials": "n_startup_trials",
    "tables": "num_envs n_envs num_envs_per_worker",
    "target_update_interval": "target_network_frequency update_target_network_every",
    "trials": "n_trials",
    "value_coef": "vf_coef vf_loss_coeff value_loss_coef critic_loss_coef",
    "workers": "num_workers num_env_runners",
}


def suggest_allowed(word: str, options: Iterable[str], dotted_keys: Collection[str] = ()) -> str:
    """Return a hint for a wrong word, such as "did you mean gamma? allowed: epochs, gamma".

    Args:
        options: the allowed words.
        dotted_keys: further keys that may be suggested, such as algo.gamma.
    """
    options = sorted(options)
    keys = sorted(dotted_keys or options, key=lambda key: (key.count("."), key))
    other_names = NAMES_IN_OTHER_LIBRARIES.items()
    names = [word, *(own_name for own_name, others in other_names if word in others.split())]
    matches = [
        key for key in keys for name in names if re.search(rf"(^|[._]){re.escape(name)}$", key)
    ]
    matches = [key for key in matches if key.count(".") == matches[0].count(".")]
    exact_matches = [key for key in matches if key.rpartition(".")[2] in names]
    suggestions = exact_matches or matches or get_close_matches(word, options, n=1)
    hint = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
    return f"{hint}allowed: {', '.join(options) or 'none'}"
