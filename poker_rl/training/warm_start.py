"""Warm start: copy the networks and average networks of another run into a new run.

The opponent pool is copied too if both runs have one. Optimizers, counters, schedules, tables and
random generators start in their initial states.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl.algos.algorithm import Algorithm, NetworkLearner
from poker_rl.config.plugins import load_class
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.storage import checkpoint
from poker_rl.storage.run_folder import read_run_folder

# Settings of the algorithm that must be equal in both runs: they define the shapes of the networks,
# the unit of their values, or the weights of iterations in the averages of deep_cfr.
EQUAL_ALGO_SETTINGS = {
    *("network_sharing", "instances", "shared_layers", "iteration_weight_power"),
    *("reward_type", "reward_power", "reward_scale", "reward_unit"),
}


def warm_start_from_run(
    spec: str, config: Mapping[str, Any], algorithm: Algorithm, game: Game
) -> str:
    """Load the networks and averages of another run into the algorithm of a new run.

    `spec` is the other run's folder, or FOLDER@DECISIONS to require a certain checkpoint. Return
    FOLDER@DECISIONS of the checkpoint that was loaded.
    """
    if not isinstance(algorithm, NetworkLearner):
        raise ConfigError(f"{config['names']['algo']} has no networks that could be taken over")
    folder, expected = Path(spec), ""
    if not folder.exists() and "@" in spec:
        path, _, expected = spec.rpartition("@")
        folder = Path(path)
    old, _ = read_run_folder(folder)
    state = checkpoint.load_checked(folder / checkpoint.STATE_FILE)
    try:
        decisions = str(state["progress"]["decisions"])
        if expected not in ("", decisions):
            raise ConfigError(
                f"{folder} is now at {decisions} decisions, not at {expected}, and only its latest"
                " checkpoint can be used for a warm start"
            )
        compared = []  # keys of settings that have to be equal, with the old and the new value
        for part in ("algo", "net"):
            names = old[part]["_target_"], config[part]["_target_"]
            is_same_class = load_class(names[0]) is load_class(names[1])
            if not is_same_class and names[0] not in algorithm.warm_start_sources:
                compared.append((f"{part}._target_", *names))
        for name, value in game.to_dict().items():
            compared.append((f"game.{name}", state["game"].get(name), value))
        for name in (old["net"] | config["net"]).keys() - {"_target_"}:
            compared.append((f"net.{name}", old["net"].get(name), config["net"].get(name)))
        for name in sorted(EQUAL_ALGO_SETTINGS & config["algo"].keys()):
            compared.append((f"algo.{name}", old["algo"].get(name), config["algo"][name]))
        for key, old_value, value in compared:
            if old_value != value:
                raise ConfigError(f"{folder} has {key} {old_value}, and this run {value}")
        try:
            algorithm.warm_start(state["algorithm"])
        except RuntimeError as error:
            raise ConfigError(f"{folder} has networks of other shapes") from error
        except ConfigError as error:
            raise ConfigError(f"{folder} does not fit this run: algo.{error}") from None
    except checkpoint.LOAD_STATE_ERRORS as error:
        raise ConfigError(f"{folder} does not contain a complete run: {error}") from error
    return f"{folder}@{decisions}"
