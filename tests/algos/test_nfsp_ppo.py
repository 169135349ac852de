"""Fictitious self-play with PPO: who plays what, whose rows are learnt, resuming, learning."""

from itertools import pairwise

import numpy as np
import pytest
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
from resuming import check_bitwise_resume

from poker_rl.algos.nfsp_ppo import NFSPWithPPO
from poker_rl.learning import NEXT_PENDING


def nfsp(game, seed=0, **changed):
    settings = ppo_settings(**{"average_policy": average_settings(), "eta": 0.3} | changed)
    return NFSPWithPPO(**settings, context=cpu_context(game, mlp(32, init="orthogonal"), seed))


def test_a_hand_is_played_by_one_policy_and_eta_of_them_are_learnt():
    learner = nfsp(game_of("leduc"), tables=512, average_policy=average_settings(capacity=100_000))
    batches = record_decisions(learner)
    for _ in range(6):
        learner.learn()
    total = own = 0
    for batch, responds in batches:
        assert len(responds) == len(batch)
        rows = np.flatnonzero(batch.next_row >= 0)
        np.testing.assert_array_equal(responds[rows], responds[batch.next_row[rows]])
        total += len(batch)
        own += int(responds.sum())
    assert own / total == pytest.approx(0.3, abs=0.03)
    # rows carried over keep their policy, to the next batch's first rows, ordered by seat and table
    for (batch, responds), (following, then) in pairwise(batches):
        pending = np.flatnonzero(batch.next_row == NEXT_PENDING)
        pending = pending[np.lexsort((batch.table[pending], batch.seat[pending]))]
        assert len(pending)
        np.testing.assert_array_equal(responds[pending], then[: len(pending)])
        for name in ("table", "seat", "observation", "mask", "action", "log_prob"):
            carried, again = getattr(batch, name)[pending], getattr(following, name)
            np.testing.assert_array_equal(carried, again[: len(pending)])
    learnt = sum(int(responds[batch.next_row != NEXT_PENDING].sum()) for batch, responds in batches)
    assert learner._averages.average_policy.buffer.min_replica_size == learnt > 1000
    assert learner.progress.decisions == sum((b.next_row != NEXT_PENDING).sum() for b, _ in batches)


def test_average_play_is_the_average_networks():
    """The two networks are told apart by what they were made to always do."""
    learner = nfsp(game_of("leduc"), tables=256)
    set_outputs(learner._actor, [0.0, 0.0, 50.0])
    set_outputs(learner._rollout.non_learning_network, [0.0, 50.0, 0.0])
    batches = record_decisions(learner)
    learner.learn()
    batch, responds = batches[0]
    assert (batch.action[responds & batch.mask[:, 2]] == 2).all()  # where a raise is legal
    assert (batch.action[~responds] == 1).all()


def test_resumed_equals_uninterrupted_to_the_bit():
    game = game_of("leduc")
    check_bitwise_resume(game, lambda seed: nfsp(game, seed))


def test_the_average_comes_near_equilibrium():
    """Uniform play has 0.458; three seeds came to 0.276 to 0.282."""
    policy = average_settings(capacity=20_000, gradient_steps=8, batch_size=128)
    learner = nfsp(game_of("kuhn"), tables=256, average_policy=policy)
    learn_decisions(learner, 80_000)
    players = learner.players()
    assert list(players) == ["average", "weight_average", "current"]
    assert measure_exploitability(game_of("kuhn"), players["average"]) < 0.33
