"""Hands against earlier selves: who sits where, whose rows are learnt, which copies there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from decision_recorder import record_decisions
from learner_contexts import cpu_context
from ppo_settings import ppo_settings

from poker_rl.algos.ppo import PPO
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.learning.opponent_pool import OpponentPool, OpponentPoolSettings
from poker_rl.nets.dense import MLPConfig

NET = MLPConfig(hidden_sizes=[16], activation="relu", init="orthogonal", features="observation")


def ppo(share: float, every: int = 1000, keep: int = 3, **changed: Any) -> PPO:
    earlier = OpponentPoolSettings(play_prob=share, snapshot_interval=every, capacity=keep)
    game = build(load_option("game", "kuhn_3p"), "game")
    return PPO(
        **ppo_settings(**{"opponent_pool": earlier} | changed), context=cpu_context(game, NET)
    )


def always(module: Any, action: int) -> None:
    """Have a network put nearly all probability on one action."""
    last = module.layers[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.zero_()
        last.bias[..., action] = 50.0


def test_in_a_share_of_hands_one_seat_learns_and_the_rest_play_an_earlier_self() -> None:
    learner = ppo(0.4, tables=512)
    assert learner._opponent_pool is not None
    assert learner._step_rollout.best_response_seats is not None
    learner._opponent_pool.update = lambda iterations: None  # type: ignore[method-assign]
    always(learner._actor, 2)
    always(learner._opponent_pool.opponent_network, 1)
    learnt = record_decisions(learner)
    learner.learn()
    ((batch, own),) = learnt
    free = batch.mask[:, 2]
    np.testing.assert_array_equal(batch.action[free], np.where(own, 2, 1)[free])
    seats = learner._step_rollout.best_response_seats.is_best_response.sum(1)
    assert set(seats) <= {1, 3}
    assert (seats == 1).mean() == pytest.approx(0.4, abs=0.07)


def test_the_pool_is_an_even_sample_of_the_whole_run() -> None:
    """A reservoir: each of 40 policies is among the four with the same prob, a tenth."""
    learner = ppo(0.5, every=1, keep=4, tables=8)
    bias = learner._actor.layers[-1].bias  # type: ignore[union-attr]
    pools = []
    for seed in range(300):
        selves = OpponentPool(learner.opponent_pool, learner.services, learner._actor)
        selves._generator = np.random.default_rng(seed)
        for number in range(40):
            with torch.no_grad():
                bias.fill_(number)
            selves.update(number)
        name = next(one for one in selves.opponent_network.state_dict() if one.endswith("1.bias"))
        pool = [int(one[name].flatten()[0]) for one in selves.state_dict()["snapshots"]]
        assert len(set(pool)) == 4
        assert int(selves.opponent_network.state_dict()[name].flatten()[0]) in pool  # who plays
        pools += pool
    counts = np.bincount(pools, minlength=40).reshape(4, 10).sum(1)  # of each quarter of the run
    assert counts.sum() == 1200
    assert np.abs(counts - 300).max() < 5 * np.sqrt(300 * 0.75)
