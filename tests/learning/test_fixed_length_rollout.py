"""Rollouts of fixed length: advantages, game rules, groups of tables, sampling of actions."""

import numpy as np
import pytest
import torch
from decision_recorder import order_decisions
from learner_contexts import compose_learner, single_opponent

from poker_rl.games import load_game
from poker_rl.games.tables import Tables, copy_records
from poker_rl.learning import NEXT_PENDING, Rollout
from poker_rl.learning.advantages import compute_gae, compute_gae_and_completeness
from poker_rl.learning.fixed_length_rollout import FixedLengthRollout
from poker_rl.nets.action_probs import sample_actions_without_waiting
from poker_rl.players import load_player
from poker_rl.players.player import sample_actions_and_log_probs

SEES_CARDS = "algo.critic_view=perfect_information"
SELF_PLAY = {
    "leduc": ["algo.tables=37", "algo.rollout_steps=5"],
    "kuhn": ["algo.tables=37", "algo.rollout_steps=1", "algo.minibatches=1"],
    "limit_holdem_6p": ["algo.tables=33", "algo.rollout_steps=8", "net=mlp_relu", SEES_CARDS],
    "limit_holdem_2to9": ["algo.tables=33", "algo.rollout_steps=8", "algo.seating=shuffled"],
    "big2": ["algo.tables=9", "algo.rollout_steps=20", "algo.include_forced_moves=false"],
}
POOL = "algo.opponent_pool={play_prob: 0.5, snapshot_interval: 1, capacity: 2}"
CASES = [
    *((game, None, overrides) for game, overrides in SELF_PLAY.items()),
    ("leduc", "call", ["algo.tables=37", "algo.rollout_steps=5", "algo.seating=shuffled"]),
    ("leduc", None, ["algo.tables=19", "algo.rollout_steps=5", "algo.instances=2", POOL]),
]
IDS = [f"{game} {opponent or ''} {len(overrides)}" for game, opponent, overrides in CASES]


def ppo(game_name, opponent, overrides, device="cpu"):
    """Return a PPO learner."""
    game = load_game(game_name)
    words = ["algo=ppo", f"game={game_name}", "budget=20000", *overrides]
    player = None if opponent is None else load_player(opponent, game)
    return compose_learner(words, game, 3, single_opponent(player), device)


@pytest.mark.parametrize(("game", "opponent", "overrides"), CASES, ids=IDS)
def test_advantages_follow_the_decisions_of_each_agent(game, opponent, overrides):
    learner = ppo(game, opponent, overrides)
    rollout, pool = learner._rollout, learner._opponent_pool
    gamma, gae_lambda, reward_scale = 0.9, 0.8, 2.0
    total = opponents = 0
    for iteration in range(6):
        if pool is not None:
            pool.update(iteration)
        rollout.play()
        batch = rollout.batch
        rows, is_learner = order_decisions(batch)
        value = torch.randn(batch.action.shape, generator=torch.Generator().manual_seed(iteration))
        advantage, is_complete = compute_gae_and_completeness(
            batch, value, gamma, gae_lambda, reward_scale
        )
        values, reward = value[batch.is_decision].numpy(), rows.reward / np.float32(reward_scale)
        expected = compute_gae(reward, values, rows.next_row, gamma, gae_lambda)
        np.testing.assert_allclose(advantage[batch.is_decision], expected, atol=1e-5)
        assert not advantage[~batch.is_decision].any()
        ended = rows.next_row != NEXT_PENDING
        np.testing.assert_array_equal(is_complete[batch.is_decision], ended)
        assert not is_complete[~batch.is_decision].any()
        total += ended.sum()
        opponents += int((~is_learner).sum())
    assert total > 100
    assert bool(opponents) == (pool is not None)


@pytest.mark.parametrize(("game", "overrides"), SELF_PLAY.items(), ids=SELF_PLAY)
def test_rollout_batch_agrees_with_the_rules(game, overrides):
    learner = ppo(game, None, overrides)
    rollout, services = learner._rollout, learner.services
    count = len(services.rollout.agent_of_seat)
    tables = Tables(services.game, count, 0)
    has_forced = services.rollout.include_forced_moves
    forced = ended = 0
    for _ in range(6):
        tables.load_records(copy_records(services.rollout.tables.records))
        if tables.records["over"].any():  # before the first deal
            tables.deal()
        rollout.play()
        batch = rollout.batch
        seats = batch.payoffs.shape[2]
        for step in range(learner.rollout_steps):
            row, mask = seats + step, tables.legal_mask()
            seat = tables.records["to_act"]
            is_decision = np.full(count, True) if has_forced else mask.sum(1) > 1
            np.testing.assert_array_equal(batch.is_decision[row], is_decision)
            np.testing.assert_array_equal(batch.seat[row], seat)
            np.testing.assert_array_equal(batch.mask[row], mask)
            observations, hidden_cards = services.encode_seen_and_hidden_cards(tables.records)
            np.testing.assert_array_equal(batch.observation[row], observations)
            np.testing.assert_array_equal(batch.hidden_cards[row], hidden_cards)
            action = batch.action[row].numpy()
            assert mask[np.arange(count), action].all()
            assert not batch.log_prob[row][torch.from_numpy(~is_decision)].any()
            forced += int((~is_decision).sum())
            tables.step(action)
            is_over = tables.records["over"] != 0
            np.testing.assert_array_equal(batch.is_over[step], is_over)
            over = np.flatnonzero(is_over)
            np.testing.assert_array_equal(batch.payoffs[step][over], tables.payoffs(over))
            tables.deal(over)
            ended += len(over)
    assert services.rollout.hands_played == ended > 5
    assert bool(forced) == (not has_forced)


@pytest.mark.parametrize(
    ("game", "overrides"),
    [(game, overrides) for game, overrides in SELF_PLAY.items() if game != "limit_holdem_2to9"],
)
def test_three_groups_of_tables_play_as_one_group(game, overrides):
    rollouts = []
    for count in (1, 3):
        learner = ppo(game, None, overrides)
        parts = learner.services, learner.rollout_steps, learner._actor
        rollouts.append(FixedLengthRollout(*parts, groups=count))
    for _ in range(5):
        for rollout in rollouts:
            rollout.play()
        whole, parts = (vars(rollout.batch) for rollout in rollouts)
        for name, expected in whole.items():
            if game == "big2" and name == "log_prob":  # rounding depends on the batch size
                torch.testing.assert_close(parts[name], expected, atol=1e-6, rtol=0)
            else:
                assert torch.equal(parts[name], expected), name


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-24])
def test_no_illegal_action_is_sampled(uniform):
    """Cases: random numbers near 0 and 1, one legal action, probabilities of 0, NaN logits."""
    rows = {
        "single": ([9.0, 0.0, 9.0, 9.0], [0, 1, 0, 0]),
        "inner": ([9.0, 0.0, 1.0, 9.0], [0, 1, 1, 0]),
        "unlikely": ([9.0, -200.0, 0.0, 9.0], [0, 1, 1, 0]),
        "unlikely last": ([9.0, 0.0, -200.0, 9.0], [0, 1, 1, 0]),
        "all": ([0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1]),
        "diverged": ([np.nan, np.nan, np.nan, np.nan], [0, 0, 1, 1]),
        "infinite": ([0.0, np.inf, np.inf, 0.0], [0, 0, 1, 1]),
    }
    logits = torch.tensor([row for row, _ in rows.values()])
    legal = torch.tensor([mask for _, mask in rows.values()]).bool()
    action, _ = sample_actions_without_waiting(logits, legal, torch.full((len(rows),), uniform))
    assert legal.gather(1, action[:, None]).all()
    assert action[2] == 2
    assert action[3] == 1


def test_actions_are_sampled_by_their_probabilities():
    """Of n evenly spaced random numbers, n p (rounded) sample an action of probability p."""
    count = 100_000
    logits = torch.tensor([0.3, -2.0, 4.0, 1.0, 0.0, -90.0, 2.0, 1.5])
    legal = torch.tensor([False, True, False, True, True, True, True, False])
    uniform = (torch.arange(count).double() + 0.5).div(count).float()
    action, log_prob = sample_actions_without_waiting(
        logits.expand(count, -1), legal.expand(count, -1), uniform
    )
    probs = torch.where(legal, logits.double().exp(), 0)
    probs = probs / probs.sum()
    counts = action.bincount(minlength=8)
    assert (counts - count * probs).abs().max() < 1.1
    assert not counts[~legal].any()
    assert not counts[5]
    assert torch.equal(action, action.sort().values)
    torch.testing.assert_close(log_prob, probs.log()[action].float())


def test_rollout_can_leave_out_forced_moves():
    game, generator = load_game("big2"), np.random.default_rng(0)
    rollout = Rollout(game, 64, 0, include_forced_moves=False)

    def act(rows):
        uniform = generator.random(len(rows.mask), np.float32)
        return sample_actions_and_log_probs(torch.zeros(rows.mask.shape), rows.mask, uniform)

    while rollout.hands_played < 100:
        batch = rollout.play_steps(act, 20)
        assert (batch.mask.sum(1) > 1).all()
        follows = np.flatnonzero(batch.next_row >= 0)
        for column in (batch.table, batch.seat):
            np.testing.assert_array_equal(column[follows], column[batch.next_row[follows]])
