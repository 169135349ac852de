"""All-action actor-critic: targets and advantages by hand, exploration, NeuRD, learning."""

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import (
    average_settings,
    build_learner,
    learn_decisions,
    measure_exploitability,
    mlp,
    record_results,
)
from random_games import game as game_of

from poker_rl.algos.all_action_actor_critic import compute_neurd_loss
from poker_rl.config import ConfigError
from poker_rl.config.schedules import Constant, Linear, LogLinear
from poker_rl.learning import HAND_ENDED, RolloutBatch
from poker_rl.learning.advantages import compute_retrace_targets_and_advantages
from poker_rl.nets.action_probs import masked_log_softmax


def learner(game, seed=0, opponent=None, **changed):
    settings = {"hands_per_iteration": 144, "enumerate_deals": True, "minibatches": 2}
    settings |= {"actor_lr": Constant(start=3e-3), "critic_lr": Constant(start=5e-3)}
    settings |= {"kl_uniform_coef": Constant(start=0.2), "reward_scale": 2.0, "ema_decay": 0.9}
    return build_learner("actor_critic", game, mlp(16), seed, opponent, settings | changed)


def two_decisions(behavior_prob, reward):
    """Return one hand in which an agent decides twice between two legal actions of three."""
    mask = np.array([[False, True, True], [True, True, False]])
    columns = {
        "observation": np.zeros((2, 1), np.uint8),
        "hidden_cards": np.zeros((2, 0), np.uint8),
    }
    columns |= dict.fromkeys(("table", "seat", "agent", "replica"), np.zeros(2, np.int64))
    columns |= {"next_row": np.array([1, HAND_ENDED]), "reward": np.array([0, reward], np.float32)}
    log_prob = np.log(behavior_prob, dtype=np.float32)
    return RolloutBatch(mask=mask, action=np.array([2, 0]), log_prob=log_prob, **columns)


def test_targets_and_advantages_match_hand_calculation():
    batch = two_decisions(behavior_prob=[0.5, 0.8], reward=6)
    policy = np.array([[0, 0.75, 0.25], [0.4, 0.6, 0]], np.float32)
    values = np.array([[9, 1, 2], [0.5, -1, 9]], np.float32)
    target, advantage = compute_retrace_targets_and_advantages(
        batch, policy, values, retrace_lambda=0.9, min_behavior_prob=0.02, reward_scale=2
    )

    last = 6 / 2
    mean = 0.4 * 0.5 - 0.6 * 1
    ratio = min(1, 0.4 / 0.8)
    first = mean + 0.9 * ratio * (last - 0.5)
    assert target == pytest.approx([first, last], rel=1e-6)

    correction = (first - 2) / 0.5
    baseline = 0.75 * 1 + 0.25 * 2
    row = [0, 1 - baseline - 0.25 * correction, 2 - baseline + 0.75 * correction]
    assert advantage[0] == pytest.approx(row, rel=1e-5)
    assert advantage[1, 2] == 0


def test_retrace_ratio_is_clipped_at_one():
    """The ratio of the second action, 0.9 in the policy over 0.3 in the behavior policy, is 3."""
    policy = np.array([[0, 0.75, 0.25], [0.9, 0.1, 0]], np.float32)
    batch, zeros = two_decisions(behavior_prob=[0.5, 0.3], reward=6), np.zeros((2, 3), np.float32)
    target, _ = compute_retrace_targets_and_advantages(
        batch, policy, zeros, 0.9, 0.02, reward_scale=2
    )
    assert target == pytest.approx([0.9 * 6 / 2, 6 / 2])


@pytest.mark.parametrize("actor_gradient", ["policy", "neurd"])
def test_approaches_equilibrium_on_kuhn(actor_gradient):
    """Uniform play has exploitability .458; seeds 0 to 5 end between .09 and .25."""
    game, steps = game_of("kuhn"), 60_000
    rates = {
        "kl_uniform_coef": LogLinear(start=0.5, end=0.1, horizon=0.8 * steps),
        "actor_lr": Linear(start=3e-3, end=3e-4, horizon=steps),
        "critic_lr": Linear(start=5e-3, end=1e-3, horizon=steps),
    }
    algorithm = learner(game, ema_decay=0.97, actor_gradient=actor_gradient, **rates)
    learn_decisions(algorithm, steps)
    for player in algorithm.players().values():
        assert measure_exploitability(game, player) < 0.22


AVERAGE = average_settings(capacity=100, iteration_weight_power=1.5)


@pytest.mark.parametrize(
    "changed",
    [
        {"network_sharing": "per_betting_node", "instances": 3, "average_policy": AVERAGE},
        {"network_sharing": "per_agent", "seating": "shuffled", "actor_gradient": "neurd"},
    ],
)
def test_settings_train_and_resume_bitwise(changed):
    game = game_of("kuhn_3p")
    check_bitwise_resume(game, lambda seed: learner(game, seed, **changed))


def test_only_the_traverser_explores():
    settings = {"hands_per_iteration": 1000, "enumerate_deals": False, "exploration": 0.5}
    algorithm = learner(game_of("leduc"), **settings)
    batches = record_results(algorithm.services.rollout, "play_full_hands")
    algorithm.learn()
    (batch,), policy = batches, np.concatenate(algorithm._recorded_policies)
    prob = policy[np.arange(len(batch)), batch.action]
    traverses = batch.agent == algorithm._traverser_of_table[batch.table]
    prob = np.where(traverses, 0.5 * prob + 0.5 / batch.mask.sum(1), prob)
    np.testing.assert_allclose(np.exp(batch.log_prob), prob, rtol=1e-5)
    assert 0 < traverses.sum() < len(batch)


def test_each_deal_is_played_equally_often_by_each_traverser():
    algorithm = learner(game_of("kuhn_3p"), hands_per_iteration=144)
    decks, traversers = algorithm._decks, algorithm._traverser_of_table
    pairs, counts = np.unique(np.column_stack([decks, traversers]), axis=0, return_counts=True)
    assert len(pairs) == 3 * 24
    assert (counts == 2).all()
    with pytest.raises(ConfigError, match=r"^hands_per_iteration: 96, .* 72, for .* kuhn_3p"):
        learner(game_of("kuhn_3p"), hands_per_iteration=96)
    with pytest.raises(ConfigError, match=r"^hands_per_iteration: 960, .* of limit_holdem"):
        learner(game_of("limit_holdem"), hands_per_iteration=960)


def test_advantage_correction_of_improbable_actions_is_bounded():
    batch = two_decisions(behavior_prob=[0.5, 1e-6], reward=1)
    policy = np.array([[0, 0.5, 0.5], [1e-6, 1, 0]], np.float32)
    _, advantage = compute_retrace_targets_and_advantages(
        batch, policy, np.zeros((2, 3), np.float32), 0.9, 0.02, 1
    )
    assert advantage[1, 0] == pytest.approx(1 / 0.02, rel=1e-3)


def test_neurd_step_does_not_depend_on_the_action_probability():
    logits = torch.tensor([[[0.0, -12.0, 1.0, 5.0]]], requires_grad=True)
    mask = torch.tensor([[[True, True, True, False]]])
    advantage, kl_weight = torch.tensor([[[1.0, 4.0, -2.0, 9.0]]]), 0.5
    log_pi = masked_log_softmax(logits, mask)
    compute_neurd_loss(log_pi, advantage, mask, kl_weight, logit_limit=20).sum().backward()
    legal_log_pi = torch.log_softmax(logits.detach()[0, 0, :3], 0)
    steps = advantage[0, 0, :3] - kl_weight * legal_log_pi
    steps = [*(steps - steps.mean()).tolist(), 0]
    assert (-logits.grad[0, 0]).tolist() == pytest.approx(steps, rel=1e-5)
    assert max(steps) == steps[1]  # action 1, of probability 1.7e-6, has the largest step

    optimum = torch.log_softmax(advantage[:, :, :3] / kl_weight, 2)
    optimum = torch.cat([optimum, torch.full((1, 1, 1), -9.0)], 2).requires_grad_()
    compute_neurd_loss(optimum, advantage, mask, kl_weight, logit_limit=20).sum().backward()
    assert optimum.grad[0, 0].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-5)


def test_neurd_keeps_logits_within_the_limit_and_lets_them_return():
    logits = torch.tensor([[[3.0, -3.0, 0.0, 0.0], [3.0, -3.0, 0.0, 0.0]]], requires_grad=True)
    mask = torch.ones(1, 2, 4, dtype=torch.bool)
    advantage = torch.tensor([[[1.0, -1.0, 2.0, -2.0], [-1.0, 1.0, 2.0, -2.0]]])
    log_pi = masked_log_softmax(logits, mask)
    compute_neurd_loss(log_pi, advantage, mask, 0.0, logit_limit=2.0).sum().backward()
    steps = (-logits.grad[0]).tolist()
    assert steps == [pytest.approx([0, 0, 2, -2]), pytest.approx([-1, 1, 2, -2])]
