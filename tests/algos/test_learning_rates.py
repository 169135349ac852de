"""Step sizes and bounds of gradients reach the optimiser of the network that they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from poker_rl.algos.algorithm import Algorithm
from poker_rl.algos.algorithm_loader import load_algorithm
from poker_rl.games.game_loader import load_game

# What makes a learner learn in its first iterations, and its networks by the keys of their steps.
Networks = dict[str, Callable[[Any], nn.Module]]
EARLY = ("algo.learning_starts=100",)
LEARNERS: dict[str, tuple[tuple[str, ...], Networks]] = {
    "ppo": ((), {"lr": lambda one: one._actor_critic}),
    "vpg": ((), {"actor_lr": lambda one: one._actor, "critic_lr": lambda one: one._critic}),
    "actor_critic": (
        (),
        {"actor_lr": lambda one: one._actor, "critic_lr": lambda one: one._critic},
    ),
    "apu": (
        ("algo.variant=dual_apu",),
        {
            "actor_lr": lambda one: one._networks["actor"],
            "critic_lr": lambda one: one._networks["critic"],
        },
    ),
    "dqn": (EARLY, {"lr": lambda one: one._q_network}),
    "nfsp": (
        (*EARLY, "algo.eta=0.5"),
        {
            "lr": lambda one: one._q_network,
            "average_policy.lr": lambda one: one._average_policy.module,
        },
    ),
    "nfsp_ppo": (
        (),
        {
            "lr": lambda one: one._actor_critic,
            "average_policy.lr": lambda one: one._averages.average_policy.module,
        },
    ),
    "vine": (
        ("algo.batch_size=16",),
        {"actor_lr": lambda one: one._actor, "critic_lr": lambda one: one._critic},
    ),
    "sd_cfr": (
        ("algo.traversals=100",),
        {
            "regret_lr": lambda one: one._regret_network,
            "average_lr": lambda one: one._average_network,
        },
    ),
}
FALLS = "{_target_: poker_rl.config.schedules.Linear, start: 1e-2, end: 0.0, horizon: 1.0}"
STAYS = "{_target_: poker_rl.config.schedules.Linear, start: 1e-2, end: 1e-2, horizon: 1.0}"


def learner(name: str, *overrides: str) -> Algorithm:
    return load_algorithm(name, load_game("kuhn"), *LEARNERS[name][0], *overrides)


def weights(module: nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in module.parameters()])


def learnt(one: Algorithm, networks: Networks, times: int) -> None:
    """Have it learn until every network has moved, and so many times more."""
    before = {key: weights(module(one)) for key, module in networks.items()}
    for _ in range(20):
        one.learn()
        if not any(torch.equal(weights(networks[key](one)), old) for key, old in before.items()):
            break
    for _ in range(times):
        one.learn()


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, (_, keys) in LEARNERS.items() for key in keys]
)
def test_a_step_size_that_came_to_0_moves_its_own_network_no_more(name: str, key: str) -> None:
    networks = LEARNERS[name][1]
    sizes = {other: FALLS if other == key else STAYS for other in networks}
    one = learner(name, *(f"++algo.{other}={size}" for other, size in sizes.items()))
    learnt(one, networks, times=1)
    before = {other: weights(module(one)) for other, module in networks.items()}
    for _ in range(3):
        one.learn()
    still = [
        other for other, old in before.items() if torch.equal(weights(networks[other](one)), old)
    ]
    assert still == [key]


@pytest.mark.parametrize(("name", "key"), [("ppo", "lr"), ("vpg", "entropy_coef")])
def test_schedules_count_the_decisions_of_one_instance(name: str, key: str) -> None:
    one: Any = learner(name, "algo.instances=4")
    one.learn()
    done = one.progress.decisions
    assert one.learn()[f"schedule/{key}"] == pytest.approx(getattr(one, key).value(done // 4))
    assert getattr(one, key).value(done // 4) != getattr(one, key).value(done)


def test_exploration_counts_the_decisions_of_one_agent() -> None:
    falls = "{_target_: poker_rl.config.schedules.Linear, start: 0.5, end: 0.0, horizon: 1000.0}"
    one: Any = learner("dqn", "algo.network_sharing=per_seat", f"++algo.epsilon={falls}")
    while not (done := one.progress.decisions):
        one.learn()
    assert one.learn()["schedule/epsilon"] == one.epsilon.value(done // 2) > one.epsilon.value(done)
