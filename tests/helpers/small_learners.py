"""Settings with which an iteration of any learner with networks takes milliseconds."""

from functools import cache

from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import SHIPPED_OPTION_DIR

KEYS_OF_VALUE = {
    1: "epochs gradient_steps regret_gradient_steps average_gradient_steps",
    2: "minibatches episodes_per_iteration training_period",
    4: "rollout_steps agent_switch_period actor_copy_period",
    8: "train_freq batch_size learning_starts traversals",
    16: "tables average_rows",
    20: "hands_per_iteration",
    500: "replay_capacity capacity",
}
SMALL = {key: value for value, keys in KEYS_OF_VALUE.items() for key in keys.split()}


@cache
def list_small_overrides(algo):
    """Return the overrides that make iterations of an option of `conf/algo` small."""
    config = compose_plain_config([f"algo={algo}"])["algo"]
    parts = {"algo": config, "algo.average_policy": config.get("average_policy") or {}}
    keys = [(prefix, key) for prefix, part in parts.items() for key in SMALL if key in part]
    return [f"{prefix}.{key}={SMALL[key]}" for prefix, key in keys]


def _list_learners():
    """Return small overrides by option of `conf/algo`, one option per class with networks."""
    learners, classes = {}, set()
    for path in sorted((SHIPPED_OPTION_DIR / "algo").glob("*.yaml")):
        config = compose_plain_config([f"algo={path.stem}"])
        target = config["algo"]["_target_"]
        if "net" in config and target not in classes:
            classes.add(target)
            learners[path.stem] = list_small_overrides(path.stem)
    return learners


LEARNERS = _list_learners()
