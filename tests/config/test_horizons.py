"""Horizons of schedules: what follows the budget, what does not, and step sizes that came to 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import code, runs

from poker_rl.config.compose import compose_config, initialize_hydra
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, to_plain_dict
from poker_rl.config.option_listing import list_options_by_group
from poker_rl.config.schedule_horizons import find_exhausted_learning_rate, resolve_horizons

pytestmark = pytest.mark.usefixtures("here")


def linear(steps: int) -> dict[str, float]:
    """Those of an APU with a linear reward, over so many steps of a learner's own."""
    return {"epsilon": 20000, "actor_lr": steps, "critic_lr": steps, "entropy_coef": 0.9 * steps}


# Of every algorithm with its default budget, and of every experiment.
HORIZONS: Mapping[str, Mapping[str, float]] = {
    "algo=actor_critic": {"kl_uniform_coef": 1.6e6, "actor_lr": 2e6, "critic_lr": 2e6},
    "algo=apu": {"epsilon": 20000},
    "algo=mmd": {"lr": 4e6, "entropy_coef": 3.2e6, "kl_old_coef": 3.2e6},
    "algo=nfsp_ppo": {"lr": 4e6, "entropy_coef": 4e6},
    "algo=ppo": {"lr": 4e6, "entropy_coef": 3.2e6},
    "algo=sd_cfr": {"regret_lr": 2e6, "average_lr": 2e6},
    "algo=vine": {"actor_lr": 4e6, "critic_lr": 4e6, "entropy_coef": 3.2e6},
    "algo=vpg": {"entropy_coef": 1.6e6, "actor_lr": 2e6},
    "experiment=ac_fhp": {
        "kl_uniform_coef": 80e6,
        "actor_lr": 100e6,
        "critic_lr": 100e6,
        "average_policy.lr": 24000,
    },
    "experiment=ac_lhe": {"kl_uniform_coef": 80e6, "actor_lr": 100e6, "critic_lr": 100e6},
    "experiment=ac_leduc": {"kl_uniform_coef": 75e6, "actor_lr": 90e6, "critic_lr": 90e6},
    "experiment=apu": {"epsilon": 20000},
    "experiment=apu_ctrl": {"epsilon": 20000},
    "experiment=apu_fc": {"epsilon": 20000},
    "experiment=apu_none": {"epsilon": 20000},
    "experiment=apu_linear": linear(6000),
    "experiment=apu_ctrl_linear": linear(6000),
    "experiment=apu_fc_linear": linear(33000) | {"entropy_coef": 30000},
    "experiment=apu_linear_from_one": linear(2600),
    "experiment=apu_ctrl_linear_from_one": linear(2600),
    "experiment=apu_fc_linear_from_one": linear(13000),
    "experiment=apu_none_linear": linear(54000),
    "experiment=dual_apu_linear": linear(75000),
    "experiment=dual_apu_ctrl_linear": linear(30000),
    "experiment=dual_apu_fc_linear": linear(90000),
    "experiment=dual_apu_none_linear": linear(90000),
    "experiment=best_response": {"lr": 8e6, "entropy_coef": 6.4e6},
    "experiment=best_response_leduc": {"lr": 2e6, "entropy_coef": 1.6e6},
    "experiment=big2_ppo": {"clip_coef": 150e6, "lr": 150e6, "entropy_coef": 150e6},
    "experiment=big2_ppo_fast": {"lr": 16e6, "entropy_coef": 16e6},
    "experiment=big2_ppo_long": {"lr": 100e6, "entropy_coef": 100e6},
    "experiment=dual_apu": {"epsilon": 20000},
    "experiment=dual_apu_ctrl": {"epsilon": 20000},
    "experiment=dual_apu_fc": {"epsilon": 20000},
    "experiment=dual_apu_none": {"epsilon": 20000},
    "experiment=k1_ppo": {"entropy_coef": 1.6e6, "actor_lr": 2e6},
    "experiment=k1_vpg": {"entropy_coef": 1.6e6, "actor_lr": 2e6},
    "experiment=nfsp_2000": {"epsilon": 1e6},
    "experiment=nfsp_2000_code": {"epsilon": 1e6},
    "experiment=nfsp_2100": {"epsilon": 1e6},
    "experiment=nfsp_2100_code": {"epsilon": 3e6},
    "experiment=big2_ppo_deep": {"lr": 70e6, "entropy_coef": 70e6},
    "experiment=nfsp_2200": {"epsilon": 3e6},
    "experiment=nfsp_2300": {"epsilon": 1e6},
    "experiment=nfsp_2300_code": {"epsilon": 3e6},
    "experiment=nfsp_fhp": {"lr": 4.5e5, "average_policy.lr": 4.5e5},
    "experiment=nfsp_leduc": {"epsilon": 1e5},
    "experiment=nfsp_leduc_tuned": {"epsilon": 2e5, "lr": 2.5e5, "average_policy.lr": 2.5e5},
    "experiment=nfsp_lhe": {"lr": 1.5e5, "average_policy.lr": 1.5e5},
    "experiment=nfsp_lhe_multi": {"lr": 4.5e5, "average_policy.lr": 4.5e5},
    "experiment=nfsp_lhe_paper": {"epsilon": 1e5},
    "experiment=nfsp_nlhe": {"lr": 10e6, "entropy_coef": 10e6},
    "experiment=nfsp_nlhe_20": {"lr": 5e6, "entropy_coef": 5e6},
    "experiment=nfsp_nolimit_leduc": {"lr": 20e6, "entropy_coef": 20e6, "average_policy.lr": 39000},
    "experiment=ppo_fhp": {"lr": 32e6, "entropy_coef": 32e6},
    "experiment=ppo_kuhn": {"lr": 16e6, "entropy_coef": 14e6},
    "experiment=ppo_leduc": {"lr": 5e6, "entropy_coef": 5e6},
    "experiment=ppo_lhe": {"lr": 32e6, "entropy_coef": 32e6},
    "experiment=ppo_lhe_6p": {"lr": 100e6, "entropy_coef": 100e6},
    "experiment=ppo_lhe_6p_fc": {"lr": 100e6, "entropy_coef": 100e6},
    "experiment=ppo_lhe_6p_none": {"lr": 100e6, "entropy_coef": 100e6},
    "experiment=big2_vine": {"actor_lr": 330e6, "critic_lr": 330e6, "entropy_coef": 330e6},
    "experiment=sd_cfr_kuhn": {"regret_lr": 8e6, "average_lr": 8e6},
    "experiment=sd_cfr_leduc": {"regret_lr": 16e6, "average_lr": 16e6},
}


def horizons(node: Mapping[str, Any], key: str = "") -> Iterator[tuple[str, Any]]:
    """The horizons below a node, by the dotted key of their schedule."""
    for name, value in node.items():
        if isinstance(value, dict):
            yield from horizons(value, f"{key}.{name}".lstrip("."))
        elif name == "horizon":
            yield key, value


def test_every_option_has_the_horizons_that_its_figures_were_made_with() -> None:
    found = {}
    options = list_options_by_group([SHIPPED_OPTION_DIR])
    with initialize_hydra([SHIPPED_OPTION_DIR]):
        for choice in [f"{g}={name}" for g in ("algo", "experiment") for name in options[g]]:
            settings = resolve_horizons(to_plain_dict(compose_config([choice]).config))
            if of_this := dict(horizons(settings["algo"])):
                found[choice] = of_this
    assert found == HORIZONS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("algo=ppo budget=1e7", {"lr": 1e7, "entropy_coef": 8e6}),
        ("algo=ppo budget=1e7 algo.lr.horizon=3e6", {"lr": 3e6, "entropy_coef": 8e6}),
        ("algo=ppo budget=1e7 algo.lr.horizon=0.25", {"lr": 2.5e6, "entropy_coef": 8e6}),
        ("algo=ppo algo.instances=10", {"lr": 4e5, "entropy_coef": 3.2e5}),  # each plays so many
        ("algo=vpg algo.instances=10", {"entropy_coef": 1.6e5, "actor_lr": 2e5}),
        # counts the decisions of all instances
        (
            "algo=actor_critic algo.instances=10",
            {"kl_uniform_coef": 1.6e6, "actor_lr": 2e6, "critic_lr": 2e6},
        ),
        (
            "algo=ppo budget=20 evaluate_every=10 algo.instances=100",
            {"lr": 1.0, "entropy_coef": 1.0},
        ),
        ("experiment=ppo_leduc budget=1e7", {"lr": 5e6, "entropy_coef": 5e6}),
        # what does not change needs no horizon
        (
            "experiment=k1_ppo algo.entropy_coef.horizon=null",
            {"entropy_coef": 1.0, "actor_lr": 2e6},
        ),
        ("algo=ppo budget_unit=hands algo.lr=1e-3 algo.entropy_coef=0.1", {}),
    ],
)
def test_horizons_follow_the_budget(
    arguments: str, expected: dict[str, float], asked: list[dict[str, Any]], capsys: Any
) -> None:
    assert code("train", *arguments.split()) == 0
    assert dict(horizons(asked[0]["algo"])) == expected
    assert code("train", "--cfg", "job", *arguments.split()) == 0
    assert yaml.safe_load(capsys.readouterr().out)["algo"] == asked[0]["algo"]


def test_a_number_is_a_schedule_that_stays(asked: list[dict[str, Any]]) -> None:
    own = Path("mine/experiment/own.yaml")
    own.parent.mkdir(parents=True)
    own.write_text("# @package _global_\n# Own\nalgo:\n  lr: 3e-4\n")
    assert code("train", "algo=ppo", "algo.lr=3e-4") == 0
    assert code("train", "--config-dir", "mine", "algo=ppo", "experiment=own") == 0
    assert [cfg["algo"]["lr"] for cfg in asked] == [3e-4, 3e-4]


DOWN = {"start": 1e-3, "end": 0.0, "horizon": 4e6}


@pytest.mark.parametrize(
    ("algo", "budget", "expected"),
    [
        ({"gamma": 1, "lr": DOWN}, 4_000_000, "algo.lr"),
        ({"actor_lr": 0.1, "average_policy": {"lr": DOWN}}, 4_000_000, "algo.average_policy.lr"),
        ({"lr": DOWN}, 3_000_000, None),
        ({"lr": DOWN | {"end": 1e-5}}, 4_000_000, None),
        ({"lr": DOWN | {"start": 0.0}}, 4_000_000, None),
        ({"entropy_coef": DOWN}, 4_000_000, None),
    ],
)
def test_learning_rates_that_are_0_at_the_end_of_the_budget(
    algo: dict[str, Any], budget: int, expected: str | None
) -> None:
    assert find_exhausted_learning_rate(algo, "algo", budget) == expected


# A run of two iterations, and its step size at 0 in the end.
SHORT = ["train", "algo=ppo", "algo.tables=8", "algo.minibatches=1", "budget=250"]
SHORT += ["evaluate_every=250", "checkpoint_every=250", "evaluation.deals=30"]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_resumed_run_keeps_its_schedules_and_is_refused_where_they_came_to_0(
    refused: Callable[..., str],
) -> None:
    assert code(*SHORT) == 0
    (folder,) = runs()
    before = contents(folder)
    message = refused("train", f"resume={folder}", "budget=500")
    assert message.startswith("budget: algo.lr of this run falls to 0 within its 250 decisions")
    assert message.endswith("start a new run with warm_start=FOLDER")
    assert "\n" not in message
    assert refused("train", f"resume={folder}") == message
    assert contents(folder) == before


def test_a_run_is_refused_where_the_step_size_of_its_average_came_to_0(
    refused: Callable[..., str],
) -> None:
    nfsp = ["train", "game=kuhn", "algo=nfsp", "budget=600", "algo.learning_starts=1"]
    nfsp += [
        "algo.batch_size=2",
        "algo.average_policy.batch_size=2",
        "evaluate_every=600",
        "checkpoint_every=600",
    ]
    nfsp += ["evaluation.deals=30", "algo.lr=1e-3"]
    falls = ["algo.average_policy.lr._target_=poker_rl.config.schedules.Linear"]
    falls += ["+algo.average_policy.lr.end=0.0", "+algo.average_policy.lr.horizon=2"]
    assert code(*nfsp, *falls) == 0
    (folder,) = runs()
    message = refused("train", f"resume={folder}", "budget=1200")
    assert message.startswith("budget: algo.average_policy.lr of this run falls to 0 ")


def test_a_resumed_run_whose_step_size_is_not_0_keeps_its_schedules() -> None:
    assert code(*SHORT, "algo.lr.end=1e-4") == 0
    (folder,) = runs()
    assert code("train", f"resume={folder}", "budget=500") == 0
    cfg = yaml.safe_load((folder / "config.yaml").read_text())
    assert dict(horizons(cfg["algo"])) == {"lr": 250.0, "entropy_coef": 200.0}
    # whoever chose 0 for good knows
    assert code(*SHORT, "algo.lr=0") == 0
    constant = next(run for run in runs() if run != folder)
    assert code("train", f"resume={constant}", "budget=500") == 0
