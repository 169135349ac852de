"""NFSP with PPO: which policy plays, which decisions are learned from, resuming, learning."""

from itertools import pairwise

import numpy as np
import pytest
from bitwise_resume import check_bitwise_resume
from decision_recorder import record_decisions
from learner_contexts import (
    average_settings,
    cpu_context,
    learn_decisions,
    measure_exploitability,
    mlp,
    ppo_settings,
    set_outputs,
)
from random_games import game as game_of

from poker_rl.algos.nfsp_ppo import NFSPWithPPO
from poker_rl.learning import NEXT_PENDING


def nfsp(game, seed=0, **changed):
    settings = ppo_settings(**{"average_policy": average_settings(), "eta": 0.3} | changed)
    return NFSPWithPPO(**settings, context=cpu_context(game, mlp(32, init="orthogonal"), seed))


def test_each_hand_has_one_policy_and_a_share_eta_is_stored():
    learner = nfsp(game_of("leduc"), tables=512, average_policy=average_settings(capacity=100_000))
    batches = record_decisions(learner)
    for _ in range(6):
        learner.learn()
    total = responses = 0
    for batch, responds in batches:
        assert len(responds) == len(batch)
        rows = np.flatnonzero(batch.next_row >= 0)
        np.testing.assert_array_equal(responds[rows], responds[batch.next_row[rows]])
        total += len(batch)
        responses += int(responds.sum())
    assert responses / total == pytest.approx(0.3, abs=0.03)
    # the next batch begins with the pending decisions, by seat and table; each keeps its policy
    for (batch, responds), (following, next_responds) in pairwise(batches):
        pending = np.flatnonzero(batch.next_row == NEXT_PENDING)
        pending = pending[np.lexsort((batch.table[pending], batch.seat[pending]))]
        assert len(pending)
        np.testing.assert_array_equal(responds[pending], next_responds[: len(pending)])
        for name in ("table", "seat", "observation", "mask", "action", "log_prob"):
            carried, repeated = getattr(batch, name)[pending], getattr(following, name)
            np.testing.assert_array_equal(carried, repeated[: len(pending)])
    stored = sum(int(responds[batch.next_row != NEXT_PENDING].sum()) for batch, responds in batches)
    assert learner._averages.average_policy.buffer.min_items_per_replica == stored > 1000
    assert learner.progress.decisions == sum((b.next_row != NEXT_PENDING).sum() for b, _ in batches)


def test_average_policy_plays_with_the_average_network():
    """The actor always raises and the average network always calls, to show which one plays."""
    learner = nfsp(game_of("leduc"), tables=256)
    set_outputs(learner._actor, [0.0, 0.0, 50.0])
    set_outputs(learner._rollout.non_learning_network, [0.0, 50.0, 0.0])
    batches = record_decisions(learner)
    learner.learn()
    batch, responds = batches[0]
    assert (batch.action[responds & batch.mask[:, 2]] == 2).all()  # the actor raises
    assert (batch.action[~responds] == 1).all()


def test_resume_is_bitwise_equal():
    game = game_of("leduc")
    check_bitwise_resume(game, lambda seed: nfsp(game, seed))


def test_average_policy_approaches_equilibrium():
    """Uniform play has exploitability 0.458; three seeds ended at 0.276 to 0.282."""
    policy = average_settings(capacity=20_000, gradient_steps=8, batch_size=128)
    learner = nfsp(game_of("kuhn"), tables=256, average_policy=policy)
    learn_decisions(learner, 80_000)
    players = learner.players()
    assert list(players) == ["average", "weight_average", "current"]
    assert measure_exploitability(game_of("kuhn"), players["average"]) < 0.33
