"""DQN and NFSP: transitions, TD targets and numbers of updates by hand, resuming, learning."""

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import (
    always_fold,
    average_settings,
    compute_winnings,
    cpu_context,
    learn_decisions,
    measure_exploitability,
    mlp,
)
from random_games import game as game_of
from toy_games import kuhn

from poker_rl.algos.dqn import DQN
from poker_rl.algos.nfsp import NFSP
from poker_rl.config import ConfigError
from poker_rl.config.option_files import load_option
from poker_rl.config.schedules import Constant, Linear
from poker_rl.learning import HAND_ENDED, NEXT_PENDING, RolloutBatch
from poker_rl.learning.buffers.insertion_rules import ExponentialReservoir


def build(kind, game, seed, opponent, **changed):
    """Build a learner with the settings of `conf/algo/dqn.yaml`, changed for small runs."""
    settings = {key: value for key, value in load_option("algo", "dqn").items() if key[0] != "_"}
    settings |= {"tables": 16, "rollout_steps": 2, "train_freq": 8, "batch_size": 16}
    settings |= {"learning_starts": 32, "replay_capacity": 500, "target_update_interval": 5}
    settings |= {"lr": Constant(start=3e-3), "network_sharing": "per_seat"}
    settings |= {"epsilon": Linear(start=0.2, end=0.0, horizon=1000)}
    return kind(**settings | changed, context=cpu_context(game, mlp(32), seed, opponent))


def dqn(game, seed=0, opponent=None, **changed):
    return build(DQN, game, seed, opponent, **changed)


def nfsp(game, seed=0, opponent=None, **changed):
    settings = {"eta": 0.3, "average_policy": average_settings()} | changed
    return build(NFSP, game, seed, opponent, **settings)


def get_items(learner, replica=0):
    items = learner._buffer.state_dict()["items"]
    return {name: parts[replica].numpy() for name, parts in items.items()}


def make_batch(next_, reward, replica):
    """Return decisions of Kuhn poker; the observation of decision i is the bits of i."""
    count = len(next_)
    observation = (np.arange(count)[:, None] >> np.arange(11) & 1).astype(np.uint8)
    columns = {"observation": observation, "hidden_cards": np.empty((count, 0), np.uint8)}
    columns |= {"mask": np.tile([False, True, True], (count, 1))}
    columns |= {"action": np.arange(count) % 2 + 1, "log_prob": np.zeros(count, np.float32)}
    columns |= dict.fromkeys(("seat", "agent", "replica"), np.array(replica))
    columns |= {"next_row": np.array(next_), "reward": np.array(reward, np.float32)}
    return RolloutBatch(table=np.zeros(count, np.int64), **columns)


def test_transitions_lead_to_the_next_decision_of_the_same_agent():
    learner = dqn(kuhn(), reward_scale=2.0)
    next_ = [2, 3, HAND_ENDED, NEXT_PENDING, HAND_ENDED]
    batch = make_batch(next_, [0, 0, 3, 0, -1], [0, 1, 0, 1, 1])
    assert learner._store_transitions(batch) == 4  # a pending decision is stored later
    first, second = get_items(learner), get_items(learner, 1)
    np.testing.assert_array_equal(first["reward"], [0, 1.5])
    np.testing.assert_array_equal(second["reward"], [0, -0.5])
    np.testing.assert_array_equal(first["action"], [1, 1])
    np.testing.assert_array_equal(second["action"], [2, 1])
    numbers = np.unpackbits(first["next"], axis=1)[:, :11] @ (1 << np.arange(11))
    np.testing.assert_array_equal(numbers, [2, 0])
    np.testing.assert_array_equal(first["legal"], [[0b01100000], [0]])
    assert np.unpackbits(second["next"], axis=1)[0, :11] @ (1 << np.arange(11)) == 3


def test_td_target_is_the_best_legal_value_of_the_target_network():
    learner = dqn(kuhn(), gamma=0.9, batch_size=64)
    for _ in range(30):
        learner.learn()
    batch = learner._buffer.sample(64)
    q = learner._q_network(batch["observation"]).detach()
    target = learner._target_network(batch["next"]).detach()
    assert (learner._q_network(batch["next"]) != target).any()
    ends, continues, total = 0, 0, 0.0
    for k in range(2):
        for i in range(64):
            legal = [a for a in range(3) if batch["legal"][k, i, a]]
            best = max((float(target[k, i, a]) for a in legal), default=0.0)
            continues, ends = continues + bool(legal), ends + (not legal)
            td_target = float(batch["reward"][k, i]) + 0.9 * best
            total += (float(q[k, i, int(batch["action"][k, i])]) - td_target) ** 2 / 64
    assert ends > 10
    assert continues > 10
    assert learner._compute_loss(batch).item() == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize(
    ("network_sharing", "updates", "every", "tables"),
    [("shared", 2, 256, 64), ("per_seat", 3, 7, 5)],
)
def test_number_of_updates_per_agent_decision_is_exact(network_sharing, updates, every, tables):
    settings = {"network_sharing": network_sharing, "gradient_steps": updates}
    settings |= {"train_freq": every, "tables": tables, "learning_starts": 20}
    learner = nfsp(kuhn(), **settings)
    networks = 1 if network_sharing == "shared" else 2
    start = None
    for _ in range(12):
        before = learner.progress.decisions, learner.progress.updates
        learner.learn()
        decisions, done = learner.progress.decisions, learner.progress.updates
        if learner._buffer.min_items_per_replica < 20:
            assert done == 0
            continue
        start = before[0] if start is None else start
        # `decisions` counts those of all agents, but `every` counts those of one agent
        due = decisions * updates // (every * networks) - start * updates // (every * networks)
        assert done == due
    assert learner.progress.updates == learner._replay_optimizer.updates > 0


def test_target_network_is_copied_at_its_interval():
    learner = dqn(kuhn(), train_freq=1000, target_update_interval=5)
    while learner._buffer.min_items_per_replica < 32:
        learner.learn()
    history = []
    for turn in range(1, 11):
        learner._update_networks(1)
        history.append([weight.detach().clone() for weight in learner._q_network.parameters()])
        last_copy = turn // 5 * 5
        if last_copy:
            now = list(learner._target_network.parameters())
            assert all(torch.equal(a, b) for a, b in zip(now, history[last_copy - 1], strict=True))


def test_epsilon_greedy_probabilities_are_over_legal_actions():
    learner = dqn(kuhn(), epsilon=Constant(start=0.3), tables=64)
    batches, act = [], learner._choose_actions
    learner._choose_actions = lambda rows: batches.append(rows) or act(rows)
    learner.learn()
    rows = batches[0]
    with torch.no_grad():
        x = torch.from_numpy(rows.observation)[None].expand(2, -1, -1)
        value = learner._q_network(x)[0].numpy()
    policy = learner._compute_epsilon_greedy_probs(value, rows.mask)
    for i in range(len(policy)):  # each is seat 0's first decision in a hand
        legal = np.flatnonzero(rows.mask[i])
        best = legal[value[i, legal].argmax()]
        expected = np.zeros(3)
        expected[legal] = 0.3 / len(legal)
        expected[best] += 0.7
        np.testing.assert_allclose(policy[i], expected, atol=1e-12)


def test_best_response_plays_and_stores_a_share_eta_of_hands():
    eta = 0.3
    average = average_settings(capacity=100_000)
    learner = nfsp(kuhn(), eta=eta, tables=64, train_freq=10**6, average_policy=average)
    for _ in range(50):
        learner.learn()
    total = learner.progress.decisions + len(learner.services.rollout.unfinished_batch)
    stored_count = learner._average_policy.buffer.items_added
    assert total == 50 * 64 * 2
    sd = np.sqrt(eta * (1 - eta) / total * 2)  # x 2: a hand's two decisions are stored together
    assert abs(stored_count.sum() / total - eta) <= 4 * sd
    is_response = learner.services.rollout.is_learning_seat
    both = (is_response[:, 0] & is_response[:, 1]).mean()
    assert both < 0.2  # 0.3 x 0.3 = 0.09 if agents sample independently; 0.3 if together


def all_features():
    average = {"insertion_rule": ExponentialReservoir(insertion_prob=0.3), "gradient_steps": 2}
    average |= {"capacity": 60, "iteration_weight_power": 1.0}
    changed = {"network_sharing": "per_agent", "seating": "shuffled", "max_grad_norm": 1.0}
    return changed | {"average_policy": average_settings(**average)}


@pytest.mark.parametrize(("optimiser", "changed"), [("adam", all_features()), ("sgd", {})])
def test_resume_is_bitwise_equal(optimiser, changed):
    game = game_of("leduc")
    fixed = {"optimizer": optimiser, "replay_capacity": 100}
    check_bitwise_resume(game, lambda seed: nfsp(game, seed, **fixed, **changed), steps=15)


def test_dqn_learns_to_beat_a_player_who_always_folds():
    """A player that always bets wins the ante in each hand, because the opponent folds."""
    folds = always_fold(kuhn())
    settings = {"network_sharing": "shared", "seating": "shuffled", "train_freq": 4}
    learner = dqn(kuhn(), opponent=folds, **settings)
    learn_decisions(learner, 4000)
    assert compute_winnings(kuhn(), learner.players()["greedy"], folds) == pytest.approx([1, 1])


def test_average_policy_approaches_equilibrium():
    """Uniform play has exploitability 0.458. 6 runs ended at 0.136 +- 0.028; 0.25 is 4 sd above."""
    fast = {"batch_size": 128, "lr": Constant(start=5e-3)}
    average = average_settings(capacity=100_000, max_grad_norm=None, **fast)
    settings = {"tables": 128, "rollout_steps": 1, "train_freq": 64, "replay_capacity": 20_000}
    settings |= {"eta": 0.2, "target_update_interval": 25, "average_policy": average}
    learner = nfsp(kuhn(), **settings, **fast)
    learn_decisions(learner, 60_000)
    assert measure_exploitability(kuhn(), learner.players()["average"]) < 0.25


def test_buffers_smaller_than_learning_starts_are_refused():
    average = {"average_policy": average_settings(capacity=20)}
    with pytest.raises(
        ConfigError, match=r"^learning_starts: 32 .*; average_policy.capacity holds 20$"
    ):
        nfsp(kuhn(), **average)


def test_average_policy_loss_weights_later_iterations_more():
    average = average_settings(batch_size=8, iteration_weight_power=2.0)
    learner = nfsp(kuhn(), rollout_steps=16, learning_starts=4, eta=1.0, average_policy=average)
    for _ in range(4):
        learner.learn()
    part = learner._average_policy
    batch = part.buffer.sample(50)
    logits = part.module(batch["observation"]).detach().double().numpy()
    iteration, mask = batch["iteration"].numpy(), batch["mask"].numpy()
    loss = 0.0
    for replica, row in np.ndindex(iteration.shape):
        legal = np.flatnonzero(mask[replica, row])
        probs = np.exp(logits[replica, row, legal]) / np.exp(logits[replica, row, legal]).sum()
        error = -sum(batch["policy"][replica, row, legal].numpy() * np.log(probs))
        loss += (iteration[replica, row] / iteration.max()) ** 2 * error / iteration.shape[1]
    assert len(np.unique(iteration)) > 2
    assert part._compute_loss(batch).item() == pytest.approx(loss, rel=1e-5)
