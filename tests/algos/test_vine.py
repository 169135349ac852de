"""Vine rollouts: advantages against exact ones, rarely played actions, warm start, learning."""

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import (
    build_learner,
    cpu_context,
    learn_decisions,
    measure_exploitability,
    ppo_settings,
)
from torch import nn
from toy_games import kuhn, label, leduc
from tree_values import compute_counterfactual_values

from poker_rl.algos.ppo import PPO
from poker_rl.config.schedules import Constant, Linear, LogLinear
from poker_rl.games import get_tree
from poker_rl.nets import MLPConfig

NET = MLPConfig(hidden_sizes=[32], activation="relu", init="torch", features="observation")


def learner(game, seed=0, opponent=None, **changed):
    settings = {"tables": 40, "rollout_steps": 3, "replay_capacity": 1000, "gradient_steps": 4}
    settings |= {"actor_lr": Constant(start=1e-3), "critic_lr": Constant(start=1e-3)}
    settings |= {"kl_old_coef": Constant(start=0.1), "entropy_coef": Constant(start=0.05)}
    settings |= {"batch_size": 16, "output_init_scale": 1.0, "ema_decay": 0.95}
    return build_learner("vine", game, NET, seed, opponent, settings | changed)


class KnownValues(nn.Module):
    """Critic that looks up the value of an information set, `value` [I], by its inputs."""

    def __init__(self, inputs, value):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))  # gives the module one replica
        self._values = {row.tobytes(): float(value[i]) for i, row in enumerate(inputs)}

    def forward(self, x):
        rows = x[0].numpy().astype(np.uint8)
        return torch.tensor([[[self._values[row.tobytes()]] for row in rows]])


@pytest.mark.parametrize("game", [kuhn(3), leduc()], ids=label)
def test_advantages_average_to_the_exact_ones(game, monkeypatch):
    """With an exact critic, means of 200 samples or more are within 6 standard errors."""
    tree, scale = get_tree(game), 2.0
    settings = {"tables": 2000, "rollout_steps": 30, "gradient_steps": 0, "min_action_prob": 0.0}
    algo = learner(game, reward_scale=scale, **settings)
    policy = algo.players()["weight_average"].action_probs(tree.infoset_records)
    regrets, values = np.zeros(tree.legal_mask.shape), np.zeros(tree.infoset_count)  # exact
    for seat in range(game.seats):
        own = tree.infoset_seat == seat
        sums, reach, seat_values = compute_counterfactual_values(tree, policy, seat)
        regrets[own] = (sums / reach[:, None])[own]
        values[own] = (seat_values / reach)[own]
    inputs = algo.services.encode_seen_and_hidden_cards(tree.infoset_records)[0]
    algo._critic_ema.module = KnownValues(inputs, values / scale)
    added = []
    monkeypatch.setattr(algo._buffer, "add", lambda replica, **parts: added.append(parts))
    algo.services.rollout.play_steps(algo._choose_actions_and_store_values, 30)
    row_index = {row.tobytes(): i for i, row in enumerate(inputs)}
    sums = np.zeros((3, *tree.legal_mask.shape))  # count, sum and sum of squares of samples
    for parts in added:
        for row, action, count, estimates, probs in zip(
            *(parts[name] for name in ("observation", "action", "count", "advantage", "policy")),
            strict=True,
        ):
            i = row_index[row.tobytes()]
            assert sorted(action[:count]) == np.flatnonzero(tree.legal_mask[i]).tolist()
            assert probs[:count] == pytest.approx(policy[i, action[:count]], abs=1e-5)
            sums[:, i, action[:count]] += estimates[:count] ** np.arange(3)[:, None]
    number = sums[0]
    frequent = number >= 200
    assert frequent.sum() >= min(60, tree.legal_mask.sum())
    mean, square = sums[1:, frequent] / number[frequent]
    error = np.sqrt(np.maximum(square - mean**2, 0) / number[frequent])
    assert (abs(mean - regrets[frequent] / scale) <= 6 * error + 1e-5).all()


def test_rarely_played_actions_are_not_tried(monkeypatch):
    """Of the decisions with a single likely action, `single_action_share` is stored."""
    game = leduc()
    algo = learner(game, tables=3000, min_action_prob=0.4, single_action_share=0.25)
    added = []
    monkeypatch.setattr(algo._buffer, "add", lambda replica, **parts: added.append(parts))
    batch = algo.services.rollout.play_steps(algo._choose_actions_and_store_values, 3)
    count = np.concatenate([parts["count"] for parts in added])
    probs = np.concatenate([parts["policy"] for parts in added])
    advantage = np.concatenate([parts["advantage"] for parts in added])
    tree, policy = get_tree(game), algo.players()["weight_average"].action_probs
    tried = (policy(tree.infoset_records) >= 0.4).sum(1)
    rows, _ = algo.services.encode_seen_and_hidden_cards(tree.infoset_records)
    infoset_of = {row.tobytes(): i for i, row in enumerate(rows)}
    expected = np.array([max(tried[infoset_of[row.tobytes()]], 1) for row in batch.observation])
    assert count.max() == 2
    assert (count == 2).sum() == (expected == 2).sum()
    single = (expected == 1).sum()
    assert (count == 1).sum() == pytest.approx(single / 4, abs=5 * np.sqrt(single * 3 / 16))
    assert (probs[count == 1, 0] == 1).all()
    assert not advantage[count == 1].any()
    assert probs.sum(1) == pytest.approx(np.ones(len(probs)))


def test_approaches_equilibrium_on_kuhn():
    """Uniform play has exploitability .458; seeds 0 to 4 end between .090 and .107."""
    game, steps = kuhn(), 150_000
    lr = Linear(start=3e-3, end=1e-4, horizon=steps)
    settings = {"tables": 256, "replay_capacity": 20_000, "gradient_steps": 8, "batch_size": 256}
    settings |= {"entropy_coef": LogLinear(start=0.3, end=0.05, horizon=steps)}
    algo = learner(game, output_init_scale=0.01, actor_lr=lr, critic_lr=lr, **settings)
    learn_decisions(algo, steps)
    assert measure_exploitability(game, algo.players()["weight_average"]) < 0.15


@pytest.mark.parametrize(
    "changed",
    [
        {"network_sharing": "per_seat", "instances": 2},
        {"batch_size": 100, "max_actions": 2, "min_action_prob": 0.4},
    ],
)
def test_settings_train_and_resume_bitwise(changed):
    game = kuhn(3)
    check_bitwise_resume(game, lambda seed: learner(game, seed, **changed))


def test_warm_start_from_ppo_copies_the_critic_to_its_average():
    game = kuhn()
    ppo = PPO(**ppo_settings(), context=cpu_context(game, NET, 4))
    ppo.learn()
    source, from_ppo = ppo.state_dict(), learner(game, seed=3)
    from_ppo.warm_start(source)
    state = from_ppo.state_dict()
    for name in ("networks", "weight_average"):
        assert all(torch.equal(state[name][key], source[name][key]) for key in source[name])
    critic = from_ppo._critic.state_dict()
    assert all(torch.equal(state["value_average"][key], critic[key]) for key in critic)
