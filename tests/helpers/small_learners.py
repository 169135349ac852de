"""Settings with which an iteration of any learner with networks takes milliseconds."""

from functools import cache

from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import SHIPPED_OPTION_DIR

SMALL = {
    "tables": 16,
    "rollout_steps": 4,
    "hands_per_iteration": 20,
    "epochs": 1,
    "minibatches": 2,
    "episodes_per_iteration": 2,
    "training_period": 2,
    "agent_switch_period": 4,
    "actor_copy_period": 4,
    "gradient_steps": 1,
    "train_freq": 8,
    "batch_size": 8,
    "replay_capacity": 500,
    "learning_starts": 8,
    "traversals": 8,
    "average_rows": 16,
    "regret_gradient_steps": 1,
    "average_gradient_steps": 1,
    "capacity": 500,
}


@cache
def list_small_overrides(algo):
    """Return the overrides for an option of `conf/algo`."""
    config = compose_plain_config([f"algo={algo}"])["algo"]
    parts = {"algo": config, "algo.average_policy": config.get("average_policy") or {}}
    keys = [(prefix, key) for prefix, part in parts.items() for key in SMALL if key in part]
    return [f"{prefix}.{key}={SMALL[key]}" for prefix, key in keys]


def _list_learners():
    """Return the overrides of one option for each class that has networks, by its name."""
    learners = {}
    classes = set()
    for path in sorted((SHIPPED_OPTION_DIR / "algo").glob("*.yaml")):
        config = compose_plain_config([f"algo={path.stem}"])
        target = config["algo"]["_target_"]
        if "net" in config and target not in classes:
            classes.add(target)
            learners[path.stem] = list_small_overrides(path.stem)
    return learners


LEARNERS = _list_learners()
