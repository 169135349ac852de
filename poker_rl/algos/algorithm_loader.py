"""Construction of algorithms from an option of `conf/algo` or from a run's config."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.build import build_instance_of
from poker_rl.config.plugins import resolve_target
from poker_rl.config.process_setup import set_one_thread_by_default
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.learning.learner_services import LearnerContext
from poker_rl.learning.opponents import OpponentSettings
from poker_rl.nets.net_config import NetConfig

CPU = torch.device("cpu")
# The config groups and keys that `load_algorithm` may override.
LEARNER_KEYS = ("algo", "net", "budget", "budget_unit", "experiment")


def load_algorithm(
    name: str,
    game: Game,
    *overrides: str,
    seed: int = 0,
    device: torch.device = CPU,
) -> Algorithm:
    """Build the untrained algorithm of `poker-rl train algo=NAME`, for self-play.

    It also limits the process to one thread, unless `poker_rl.config.set_threads` was called.

    Args:
        name: an option of `conf/algo` or of a plug-in.
        overrides: settings as on the command line, such as `algo.gamma=0.9` or `net=mlp_large`.
            `budget=1e7` sets the length of schedules that span the whole budget.

    Raises:
        ConfigError: if there is no such algorithm, a setting is invalid, or the algorithm does not
            support this game.
    """
    from poker_rl.config.compose import compose_plain_config  # here, since importing hydra is slow

    if isinstance(game, str):
        raise ConfigError(f'game: "{game}" is a name; give a game, such as load_game("{game}")')
    config = convert_horizons_to_steps(
        compose_plain_config([f"algo={name}", *overrides], allowed_groups=LEARNER_KEYS)
    )
    return build_algorithm(config, game, device, seed)


def build_algorithm(
    config: Mapping[str, Any],
    game: Game,
    device: torch.device,
    seed: int,
    opponents: OpponentSettings | None = None,
    workers: int = 1,
    rank: int = 0,
) -> Algorithm:
    """Build the algorithm that a run's config describes; other arguments as in `LearnerContext`.

    Args:
        config: settings with `algo` and, if it needs networks, `net`; horizons are in steps, see
            `convert_horizons_to_steps`.

    Raises:
        ConfigError: if a setting is invalid, `net` is missing, or the algorithm does not support
            `net`, `opponents` or several processes.
    """
    set_one_thread_by_default()
    algorithm_class, _ = resolve_target(config["algo"], "algo")
    if workers > 1 and getattr(algorithm_class, "per_process_parts", None) is None:
        raise ConfigError(f"workers: {algorithm_class.__name__} learns in one process; allowed: 1")
    net = build_instance_of(NetConfig, config["net"], "net") if "net" in config else None
    # `build_instance_of` gets `net` and `opponents` only so that it does not prefix errors about
    # them with "algo: ".
    context: dict[str, Any] = {"game": game, "seed": seed, "net": net, "opponents": opponents}
    runtime_arguments = dict(context)
    if "context" not in signature(algorithm_class).parameters:
        for key in ("net", "opponents"):
            if context[key] is not None:
                raise ConfigError(f"{key}: {algorithm_class.__name__} takes none")
    elif net is None:
        raise ConfigError(f"net: missing, {algorithm_class.__name__} needs one")
    else:
        context |= {"device": device, "workers": workers, "rank": rank}
        runtime_arguments["context"] = LearnerContext(**context)
    algorithm: Algorithm = build_instance_of(Algorithm, config["algo"], "algo", **runtime_arguments)
    return algorithm
