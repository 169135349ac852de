"""Opponents sampled for each seat, and opponents from the pool of earlier policies."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from decision_recorder import record_decisions
from learner_contexts import compose_learner, cpu_context, mlp, ppo_settings, set_outputs
from small_learners import list_small_overrides

from poker_rl.algos.ppo import PPO
from poker_rl.config import ConfigError
from poker_rl.games import get_tree, load_game
from poker_rl.learning import Rollout
from poker_rl.learning.opponent_pool import OpponentPool, OpponentPoolSettings
from poker_rl.learning.opponents import SELF, OpponentSettings
from poker_rl.players import load_player

KUHN = load_game("kuhn")
CALL = 1  # action of Kuhn poker


def call(rows):
    return np.full(len(rows.table), CALL), np.zeros(len(rows.table))


def test_opponent_weights_are_shares_and_winnings_are_per_opponent():
    """Every hand has a showdown; 1 chip is won or lost against `call`, 2 against `raise`."""
    players = {name: load_player(name, KUHN) for name in ("call", "raise")}
    settings = OpponentSettings(players=players, weights=[1, 3])
    rollout = Rollout(KUHN, 4000, 0, opponents=settings, seating="shuffled")
    batch = rollout.play_full_hands(call)
    won = batch.reward[batch.reward != 0]
    metrics = rollout.opponents.pop_metrics()
    assert metrics["opponents/raise/share"] == pytest.approx(0.75, abs=0.03)
    for name, chips in (("call", 1), ("raise", 2)):
        part = won[abs(won) == chips]
        assert metrics[f"opponents/{name}/share"] == len(part) / len(won)
        assert metrics[f"opponents/{name}/won"] == pytest.approx(part.mean())
    assert rollout.opponents.pop_metrics() == {}


def test_opponents_are_sampled_for_each_seat():
    """Each of two opponents is `raise` with probability 1/2, so 3/4 of the hands have a raise."""
    game = load_game("kuhn_3p")
    players = {name: load_player(name, game) for name in ("call", "raise")}
    rollout = Rollout(game, 2000, 0, opponents=OpponentSettings(players=players))
    rollout.play_full_hands(call)
    has_raise = (rollout.tables.payoffs() > 2).any(1)  # else a winner gets 1 chip from each
    assert has_raise.mean() == pytest.approx(3 / 4, abs=0.05)


def learner(algo, *overrides):
    words = [f"algo={algo}", "game=kuhn", "budget=20000", *overrides]
    players = {SELF: None, "uniform": load_player("uniform", KUHN)}
    settings = OpponentSettings(players=players, self_interval=2)
    return compose_learner(words, KUHN, 3, settings)


def test_opponent_self_is_a_snapshot_of_the_headline_player():
    trained = learner("reinforce", "algo.hands_per_iteration=64", "algo.lr=0.5", "algo.instances=2")
    opponents, records = trained.services.rollout.opponents, get_tree(KUHN).infoset_records
    (headline, *_) = trained.players().values()
    before = [headline.select_instance(k).action_probs(records) for k in range(2)]
    metrics = trained.learn()
    assert metrics["opponents/self/share"] + metrics["opponents/uniform/share"] == 1
    (headline, *_) = trained.players().values()
    for k in range(2):
        snapshot = opponents._self_players[k].action_probs(records)
        np.testing.assert_array_equal(snapshot, before[k])
        assert abs(headline.select_instance(k).action_probs(records) - snapshot).max() > 0.01


@pytest.mark.parametrize(
    ("algo", "overrides"),
    [
        ("ppo", ["algo.instances=2", "algo.seating=shuffled"]),
        ("reinforce", []),
        ("vpg", ["algo.seating=shuffled"]),
        ("actor_critic", ["algo.seating=shuffled"]),
        ("nfsp", ["algo.seating=shuffled"]),
        ("nfsp_ppo", []),
        ("apu", ["algo.variant=dual_apu_ctrl", "algo.opponent_pool.play_prob=0"]),
    ],
)
def test_network_learners_play_opponents_and_resume(algo, overrides):
    first, resumed = (learner(algo, *list_small_overrides(algo), *overrides) for _ in range(2))
    for _ in range(3):
        metrics = first.learn()
    assert metrics["opponents/self/share"] + metrics["opponents/uniform/share"] == pytest.approx(1)
    resumed.load_state_dict(deepcopy(first.state_dict()))
    for _ in range(2):
        rows = [dict(each.learn()) for each in (first, resumed)]
        for row in rows:
            del row["time/outside_networks"]
        assert rows[0] == rows[1]


def test_self_play_learners_refuse_opponents():
    for algo in ("vine", "deep_cfr", "public_policy_gradient"):
        with pytest.raises(ConfigError, match=r"opponents: .* plays itself"):
            learner(algo)
    with pytest.raises(ConfigError, match="play_prob: needs self-play; with opponents: 0"):
        learner("ppo", "algo.opponent_pool.play_prob=0.5")


def ppo(play_prob, interval=1000, capacity=3, **changed):
    pool = OpponentPoolSettings(play_prob=play_prob, snapshot_interval=interval, capacity=capacity)
    context = cpu_context(load_game("kuhn_3p"), mlp(16, init="orthogonal"))
    return PPO(**ppo_settings(opponent_pool=pool, **changed), context=context)


def test_in_pool_hands_one_seat_learns_and_the_others_play_a_snapshot():
    learner = ppo(0.4, tables=512)
    learner._opponent_pool.update = lambda iterations: None
    set_outputs(learner._actor, [0.0, 0.0, 50.0])
    set_outputs(learner._opponent_pool.opponent_network, [0.0, 50.0, 0.0])
    batches = record_decisions(learner)
    learner.learn()
    ((batch, is_learner),) = batches
    may_raise = batch.mask[:, 2]
    np.testing.assert_array_equal(batch.action[may_raise], np.where(is_learner, 2, 1)[may_raise])
    seats = learner.services.rollout.is_learning_seat.sum(1)
    assert set(seats) <= {1, 3}
    assert (seats == 1).mean() == pytest.approx(0.4, abs=0.07)


def test_pool_is_a_uniform_sample_of_the_whole_run():
    """Each of 40 policies is among the four in the pool at the end with probability 1/10."""
    learner = ppo(0.5, interval=1, capacity=4, tables=8)
    bias = learner._actor.layers[-1].bias
    stored = []
    for seed in range(300):
        pool = OpponentPool(learner.opponent_pool, learner.services, learner._actor)
        pool._generator = np.random.default_rng(seed)
        for number in range(40):
            with torch.no_grad():
                bias.fill_(number)
            pool.update(number)
        name = next(key for key in pool.opponent_network.state_dict() if key.endswith("1.bias"))
        numbers = [int(net[name].flatten()[0]) for net in pool.state_dict()["snapshots"]]
        assert len(set(numbers)) == 4
        assert int(pool.opponent_network.state_dict()[name].flatten()[0]) in numbers  # plays now
        stored += numbers
    counts = np.bincount(stored, minlength=40).reshape(4, 10).sum(1)  # by quarter of the run
    assert counts.sum() == 1200
    assert np.abs(counts - 300).max() < 5 * np.sqrt(300 * 0.75)
