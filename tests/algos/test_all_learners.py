"""Opponents, iterations without a decision, and learning rates of all learners."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from learner_contexts import compose_learner, single_opponent
from small_learners import list_small_overrides
from toy_games import kuhn

from poker_rl.algos import create_algorithm
from poker_rl.config import ConfigError
from poker_rl.games import load_game
from poker_rl.players import load_player


@pytest.mark.parametrize(
    ("network_sharing", "seating", "learns"),
    [
        ("per_agent", "shuffled", False),
        ("per_seat", "fixed", False),
        ("per_seat", "shuffled", True),
        ("shared", "fixed", True),
    ],
)
def test_networks_that_only_the_opponent_plays_are_refused(network_sharing, seating, learns):
    settings = [f"algo.network_sharing={network_sharing}", f"algo.seating={seating}"]
    caller = single_opponent(load_player("call", kuhn()))
    message = f"^algo.network_sharing: {network_sharing} needs self-play; "
    with nullcontext() if learns else pytest.raises(ConfigError, match=message):
        compose_learner(["algo=ppo", *settings], kuhn(), opponents=caller)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("actor_critic", ["hands_per_iteration=1", "minibatches=1", "enumerate_deals=false"]),
        ("apu", ["variant=dual_apu_ctrl", "episodes_per_iteration=1"]),
        ("reinforce", ["hands_per_iteration=1"]),
        ("vpg", ["hands_per_iteration=1"]),
    ],
)
def test_iterations_without_a_decision_have_finite_metrics(algo, settings):
    """In the big blind, the learner has no decision in a hand if its opponent folds."""
    game = load_game("limit_holdem")
    own = [f"algo.{setting}" for setting in settings]
    own += [] if algo == "apu" else ["algo.seating=shuffled"]
    words = [f"algo={algo}", "net=mlp_small", *own]
    learner = compose_learner(words, game, opponents=single_opponent(load_player("fold", game)))
    decided = []
    for _ in range(20):
        before = learner.progress.decisions
        assert all(np.isfinite(value) for value in learner.learn().values())
        decided.append(learner.progress.decisions - before)
    assert 0 in decided
    assert max(decided) > 0
    assert learner.progress.hands == (40 if algo == "apu" else 20)


ACTOR_CRITIC = {"actor_lr": "_actor", "critic_lr": "_critic"}
# For each learner: by the key of a learning rate, the attribute of the network that it trains.
LEARNERS = {
    "ppo": {"lr": "_actor_critic"},
    "vpg": ACTOR_CRITIC,
    "actor_critic": ACTOR_CRITIC,
    "apu": {"actor_lr": "_networks.actor", "critic_lr": "_networks.critic"},
    "nfsp": {"lr": "_q_network", "average_policy.lr": "_average_policy.module"},
    "nfsp_ppo": {"lr": "_actor_critic", "average_policy.lr": "_averages.average_policy.module"},
    "vine": ACTOR_CRITIC,
    "deep_cfr": {"regret_lr": "_regrets.module", "average_lr": "_average.module"},
    "public_policy_gradient": {
        "lr": "_actor",
        "average_policy.lr": "_averages.average_policy.module",
    },
}
LINEAR = "{{_target_: poker_rl.config.schedules.Linear, start: 1e-2, end: {}, horizon: 1.0}}"


def build_learner(name, *overrides):
    more = {"nfsp": ["algo.eta=0.5"], "apu": ["algo.variant=dual_apu_ctrl"]}.get(name, [])
    return create_algorithm(name, load_game("kuhn"), *list_small_overrides(name), *more, *overrides)


def copy_weights(learner, name):
    """Return copies of the weights of each network, by the key of its learning rate."""
    copies = {}
    for key, path in LEARNERS[name].items():
        module = learner
        for part in path.split("."):
            module = module[part] if isinstance(module, dict) else getattr(module, part)
        copies[key] = torch.cat([weight.detach().flatten() for weight in module.parameters()])
    return copies


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, paths in LEARNERS.items() for key in paths]
)
def test_learning_rate_of_0_stops_only_its_own_network(name, key):
    """The rate of `key` is 0 after its first steps; from then on only other networks move."""
    ends = {other: 0.0 if other == key else 1e-2 for other in LEARNERS[name]}
    learner = build_learner(name, *(f"++algo.{k}={LINEAR.format(end)}" for k, end in ends.items()))
    start = copy_weights(learner, name)
    for _ in range(20):
        learner.learn()
        now = copy_weights(learner, name)
        if not any(torch.equal(now[other], start[other]) for other in start):
            break
    learner.learn()
    before = copy_weights(learner, name)
    for _ in range(3):
        learner.learn()
    now = copy_weights(learner, name)
    assert [other for other in now if torch.equal(now[other], before[other])] == [key]


@pytest.mark.parametrize(("name", "key"), [("ppo", "lr"), ("vpg", "entropy_coef")])
def test_schedules_count_the_decisions_of_one_instance(name, key):
    algo = build_learner(name, "algo.instances=4")
    algo.learn()
    done = algo.progress.decisions
    assert algo.learn()[f"schedule/{key}"] == pytest.approx(getattr(algo, key).value(done // 4))
    assert getattr(algo, key).value(done // 4) != getattr(algo, key).value(done)


def test_epsilon_schedule_counts_the_decisions_of_one_agent():
    falls = "{_target_: poker_rl.config.schedules.Linear, start: 0.5, end: 0.0, horizon: 1000.0}"
    dqn = build_learner("dqn", "algo.network_sharing=per_seat", f"++algo.epsilon={falls}")
    while not (done := dqn.progress.decisions):
        dqn.learn()
    assert dqn.learn()["schedule/epsilon"] == dqn.epsilon.value(done // 2) > dqn.epsilon.value(done)
