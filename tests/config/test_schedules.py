"""Values of schedules, horizons that follow the budget, and learning rates of 0."""

import pytest
import yaml
from commands import list_runs, run_command

from poker_rl.config.schedules import (
    Constant,
    InverseSqrt,
    Linear,
    LogLinear,
    StableDecay,
    find_exhausted_learning_rate,
)

pytestmark = pytest.mark.usefixtures("working_folder")


def horizons(node, key=""):
    """Yield the dotted key and the horizon of each schedule in nested settings."""
    for name, value in node.items():
        if isinstance(value, dict):
            yield from horizons(value, f"{key}.{name}".lstrip("."))
        elif name == "horizon":
            yield key, value


K1, TEN = "experiment=k1_ppo", "algo.instances=10"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("algo=ppo budget=1e7", {"lr": 1e7, "entropy_coef": 8e6}),
        ("algo=ppo budget=1e7 algo.lr.horizon=0.25", {"lr": 2.5e6, "entropy_coef": 8e6}),
        (f"algo=ppo {TEN}", {"lr": 4e5, "entropy_coef": 3.2e5}),  # of one instance
        # schedules of actor_critic count the decisions of all instances, those of ppo of one
        (f"algo=actor_critic {TEN}", {"kl_uniform_coef": 1.6e6, "actor_lr": 2e6, "critic_lr": 2e6}),
        (f"algo=ppo budget=20 evaluate_every=10 {TEN}0", {"lr": 1.0, "entropy_coef": 1.0}),
        ("experiment=ppo_leduc budget=1e7", {"lr": 5e6, "entropy_coef": 5e6}),
        # the horizon of a constant has no effect, so the unit of the budget does not matter
        (f"{K1} algo.entropy_coef.horizon=null", {"entropy_coef": 1.0, "actor_lr": 2e6}),
        ("algo=ppo budget_unit=hands algo.lr=1e-3 algo.entropy_coef=0.1", {}),
    ],
)
def test_horizons_follow_the_budget(arguments, expected, started_configs, capsys):
    assert run_command("train", *arguments.split()) == 0
    assert dict(horizons(started_configs[0]["algo"])) == expected
    capsys.readouterr()  # drop what the run printed
    assert run_command("train", "--cfg", "job", *arguments.split()) == 0
    assert yaml.safe_load(capsys.readouterr().out)["algo"] == started_configs[0]["algo"]


FALLING = {"start": 1e-3, "end": 0.0, "horizon": 4e6}


@pytest.mark.parametrize(
    ("algo", "settings", "expected"),
    [
        ("ppo.PPO", {"lr": FALLING}, "algo.lr"),
        ("ppo.PPO", {"lr": FALLING | {"horizon": 5e6}}, None),
        ("ppo.PPO", {"lr": FALLING | {"start": 0.0}}, None),
        ("ppo.PPO", {"lr": FALLING | {"end": 1e-5}}, None),
        ("ppo.PPO", {"entropy_coef": FALLING}, None),
        ("ppo.PPO", {"lr": FALLING, "instances": 2}, None),  # 2 M decisions an instance
        ("dqn.DQN", {"lr": FALLING}, None),  # counts updates, not decisions
        ("vpg.VPG", {"lr": 0.1, "critic_lr": FALLING}, "algo.critic_lr"),
    ],
)
def test_learning_rate_that_is_0_at_the_end_of_the_budget_is_found(algo, settings, expected):
    config = {"_target_": f"poker_rl.algos.{algo}", **settings}
    assert find_exhausted_learning_rate(config, "algo", 4_000_000, "decisions") == expected


# A run of two iterations, at whose end the learning rate is 0.
SHORT = ["train", "algo=ppo", "algo.tables=8", "algo.minibatches=1", "budget=250"]
SHORT += ["evaluate_every=250", "checkpoint_every=250", "evaluation.deals=30"]


def read_all_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_run_whose_learning_rate_is_0_is_not_resumed(get_refusal):
    assert run_command(*SHORT) == 0
    (folder,) = list_runs()
    before = read_all_files(folder)
    message = get_refusal("train", f"resume={folder}", "budget=500")
    assert message.startswith("budget: algo.lr falls to 0 within 250 decisions")
    assert message.endswith("start a new run with warm_start=FOLDER")
    assert "\n" not in message
    refusal = get_refusal("train", f"resume={folder}")
    assert refusal.startswith("budget: the run has already done ")
    assert " of 250 decisions; algo.lr falls to 0 " in refusal
    assert read_all_files(folder) == before


def test_schedules_have_their_values_at_given_steps():
    stable = StableDecay(start=0.8, end=0.2, decay_share=0.4, horizon=100)
    for schedule, values in (
        (Constant(start=0.3), {0: 0.3, 10**9: 0.3}),
        (Linear(start=0.12, end=0.0, horizon=1e6), {0: 0.12, 250_000: 0.09, 10**6: 0, 10**7: 0}),
        (stable, {0: 0.8, 60: 0.8, 80: 0.5, 100: 0.2, 10**6: 0.2}),
        (LogLinear(start=0.4, end=0.1, horizon=100), {0: 0.4, 50: 0.2, 100: 0.1, 500: 0.1}),
        (InverseSqrt(start=0.08, horizon=100), {0: 0.08, 100: 0.08, 400: 0.04, 10_000: 0.008}),
    ):
        assert {step: schedule.value(step) for step in values} == pytest.approx(values)
