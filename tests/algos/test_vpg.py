"""VPG: objectives, means per network, the batch rule, resuming."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
from empty_iterations import check_iterations_without_decisions
from learner_contexts import cpu_context
from toy_games import kuhn, leduc

from poker_rl.algos.vpg import VPG, find_nth_decision_hand
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.config.schedules import Constant
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.exact.exploitability import exploitability
from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker.fixed_limit import FixedLimitPoker
from poker_rl.learning.rollout import HAND_ENDED, RolloutBatch
from poker_rl.nets.dense import MLPConfig

NODE_AGENTS: dict[str, Any] = {
    "network_sharing": "per_betting_node",
    "hands_per_iteration": 50,
    "min_network_decisions": 30,
}


def vpg(
    game: FixedLimitPoker, seed: int = 0, opponent: Any = None, rank: bool = False, **changed: Any
) -> VPG:
    settings: dict[str, Any] = {
        "hands_per_iteration": 64,
        "min_network_decisions": None,
        "gradient_steps": 1,
        "objective": "log_probability",
        "clip_coef": 0.2,
        "gae_lambda": 1.0,
        "entropy_coef": Constant(start=0.0),
        "actor_lr": Constant(start=1e-3),
        "critic_lr": Constant(start=1e-3),
        "max_grad_norm": None,
        "reward_scale": 1.0,
        "ema_decay": 0.9,
        "network_sharing": "shared",
        "instances": 1,
        "seating": "fixed",
    }
    net = MLPConfig(
        hidden_sizes=[7],
        activation="relu",
        init="torch",
        features="rank" if rank else "observation",
    )
    return VPG(**(settings | changed), context=cpu_context(game, net, seed, opponent))


def weights(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in module.parameters()])


def played(learner: VPG) -> tuple[RolloutBatch, Any]:
    """The batch of one call of `learn`, and what it told."""
    batches: list[RolloutBatch] = []
    play = learner._play_batch

    def once() -> tuple[RolloutBatch, int]:
        batch, hands = play()
        batches.append(batch)
        return batch, hands

    learner._play_batch = once  # type: ignore[method-assign]
    told = learner.learn()
    learner._play_batch = play  # type: ignore[method-assign]
    return batches[0], told


def test_with_one_step_a_batch_clipping_never_binds() -> None:
    plain, clipped = (
        vpg(kuhn(), objective=objective) for objective in ("log_probability", "clipped_ratio")
    )
    other = vpg(kuhn(), objective="probability")
    start = weights(plain._actor)
    for _ in range(5):
        for learner in (plain, clipped, other):
            learner.learn()
    assert not torch.equal(weights(plain._actor), start)
    torch.testing.assert_close(weights(plain._actor), weights(clipped._actor), atol=1e-6, rtol=1e-4)
    assert (weights(plain._actor) - weights(other._actor)).abs().max() > 1e-4


def test_with_several_steps_clipping_binds() -> None:
    changed = {"gradient_steps": 20, "actor_lr": Constant(start=1e-2), "objective": "clipped_ratio"}
    free, clipped = vpg(kuhn(), clip_coef=1e9, **changed), vpg(kuhn(), clip_coef=0.05, **changed)
    for learner in (free, clipped):
        learner.learn()
    assert (weights(free._actor) - weights(clipped._actor)).abs().max() > 1e-3
    assert free.progress.updates == 20


@pytest.mark.parametrize(
    ("objective", "value", "slope"),
    [("log_probability", np.log(0.3), 1.0), ("probability", 0.3, 0.3), ("clipped_ratio", 1.0, 1.0)],
)
def test_objectives_and_their_gradients(objective: str, value: float, slope: float) -> None:
    learner = vpg(kuhn(), objective=objective)
    log_prob = torch.full((1,), float(np.log(0.3)), requires_grad=True)
    told = learner._compute_objective(torch.tensor([-2.0]), log_prob, log_prob.detach())
    assert told.item() == pytest.approx(-2 * value)
    told.sum().backward()  # type: ignore[no-untyped-call]
    assert log_prob.grad is not None
    assert log_prob.grad.item() == pytest.approx(-2 * slope)


def test_each_member_has_the_mean_of_its_own_decisions() -> None:
    learner = vpg(kuhn(), rank=True, objective="probability", **NODE_AGENTS)
    first = {name: weight.clone() for name, weight in learner._critic.state_dict().items()}
    actor = {name: weight.clone() for name, weight in learner._actor.state_dict().items()}
    batch, told = played(learner)
    critic_losses, actor_losses = [], []
    for member in range(4):
        rows = np.flatnonzero(batch.replica == member)
        card = torch.from_numpy(batch.observation[rows])
        w = [first[f"layers.{i}.{part}"][member] for i in (0, 1) for part in ("weight", "bias")]
        value = (torch.relu(card @ w[0] + w[1]) @ w[2] + w[3])[:, 0].numpy()
        won = batch.reward[rows].copy()  # in Kuhn poker the decision is the last or next to last
        goes_on = batch.next_row[rows] >= 0
        won[goes_on] = batch.reward[batch.next_row[rows][goes_on]]
        critic_losses.append(np.mean((value - won) ** 2))
        a = [actor[f"layers.{i}.{part}"][member] for i in (0, 1) for part in ("weight", "bias")]
        logits = torch.relu(card @ a[0] + a[1]) @ a[2] + a[3]
        policy = logits.masked_fill(~torch.from_numpy(batch.mask[rows]), -np.inf).softmax(1).numpy()
        taken = policy[np.arange(len(rows)), batch.action[rows]]
        actor_losses.append(-np.mean((won - value) * taken))
    assert told["loss/critic"] == pytest.approx(np.mean(critic_losses), rel=1e-4)
    assert told["loss/actor"] == pytest.approx(np.mean(actor_losses), rel=1e-3)
    w = [first[f"layers.{i}.{part}"][0] for i in (0, 1) for part in ("weight", "bias")]
    cards = torch.tensor([[-1.0], [0.0], [1.0]])
    edge = (torch.relu(cards @ w[0] + w[1]) @ w[2] + w[3]).mean().item()
    assert told["value/first_move"] == pytest.approx(edge, abs=1e-6)


@pytest.mark.parametrize("instances", [1, 3])
def test_a_batch_ends_when_the_member_that_acts_least_has_acted_so_often(instances: int) -> None:
    learner = vpg(kuhn(), rank=True, instances=instances, **NODE_AGENTS)
    batch, _ = played(learner)
    decided = np.bincount(batch.replica, minlength=4 * instances).reshape(instances, 4)
    assert (decided.min(1) == 30).all()
    assert (decided.max(1) > 30).all()
    # hands are whole: every one begins and ends in the batch, and rows follow in order of time
    follows = batch.next_row >= 0
    assert (batch.next_row[follows] > np.flatnonzero(follows)).all()
    assert (batch.seat[batch.next_row[follows]] == batch.seat[follows]).all()
    assert (batch.next_row >= HAND_ENDED).all()
    assert (np.abs(batch.reward[~follows]) > 0).all()
    opened = sum(int((batch.replica == 4 * i).sum()) for i in range(instances))  # first moves
    assert learner.progress.hands == opened
    assert learner.progress.decisions == len(batch)


def test_the_nth_decision_of_each_network() -> None:
    hand = np.array([3, 0, 1, 2, 0, 3, 5])
    copy = np.array([0, 0, 0, 1, 1, 1, 0])
    np.testing.assert_array_equal(find_nth_decision_hand(hand, copy, 2, 1), [0, 0])
    np.testing.assert_array_equal(find_nth_decision_hand(hand, copy, 2, 3), [3, 3])


def test_a_member_that_never_decides_is_told() -> None:
    game = kuhn()
    call = build(load_option("player", "call"), "player", game=game)
    learner = vpg(
        game,
        opponent=call,
        network_sharing="per_betting_node",
        hands_per_iteration=1,
        min_network_decisions=5,
    )
    with pytest.raises(
        ConfigError, match=r"algo\.min_network_decisions: .* 0 times in 1,000 hands, not 5"
    ):
        learner.learn()


@pytest.mark.parametrize("network_sharing", ["shared", "per_seat", "per_agent", "per_betting_node"])
@pytest.mark.parametrize("game", [kuhn(3), leduc()])
def test_any_number_of_seats_and_every_sharing(game: FixedLimitPoker, network_sharing: str) -> None:
    call = build(load_option("player", "call"), "player", game=game)
    for opponent in (None, call) if network_sharing != "per_agent" else (None,):
        learner = vpg(
            game,
            opponent=opponent,
            network_sharing=network_sharing,
            instances=2,
            seating="shuffled",
            gae_lambda=0.9,
        )
        for _ in range(2):
            metrics = learner.learn()
        assert all(np.isfinite(value) for value in metrics.values())
        for player in learner.players().values():
            policy = player.action_probs(np.tile(get_tree(game).infoset_records, 2))
            np.testing.assert_allclose(policy.sum(1), 1)


@pytest.mark.parametrize(
    "changed",
    [
        NODE_AGENTS | {"instances": 2},
        {"gradient_steps": 3, "max_grad_norm": 0.5, "instances": 2, "seating": "shuffled"},
    ],
)
def test_a_resumed_run_goes_on_to_the_bit(changed: dict[str, Any]) -> None:
    one = vpg(kuhn(), **changed)
    for _ in range(3):
        one.learn()
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    other = vpg(kuhn(), seed=9, **changed)
    other.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(3):
        a, b = dict(one.learn()), dict(other.learn())
        a.pop("time/outside_networks"), b.pop("time/outside_networks")
        assert a == b
    for name, player in one.players().items():
        assert torch.equal(weights(player.module), weights(other.players()[name].module))  # type: ignore
    assert one.progress == other.progress


def test_self_play_on_kuhn_comes_closer_to_equilibrium() -> None:
    learner = vpg(
        kuhn(),
        hands_per_iteration=256,
        entropy_coef=Constant(start=0.2),
        actor_lr=Constant(start=1e-2),
        critic_lr=Constant(start=1e-2),
    )
    tree = get_tree(kuhn())
    for _ in range(200):
        learner.learn()
    policy = learner.players()["current"].action_probs(tree.infoset_records)
    # over 6 seeds: mean .148, standard deviation .016, of which four; uniform play has .458
    assert exploitability(tree, policy) < 0.22


def test_hands_in_which_it_decides_nothing_do_no_harm() -> None:
    """In the big blind, of an opponent who folds."""
    game = build(load_option("game", "limit_holdem"), "game")
    folds = build(load_option("player", "fold"), "opponent", game=game)
    algorithm = vpg(game, opponent=folds, hands_per_iteration=1, seating="shuffled")
    check_iterations_without_decisions(algorithm, hands=20)


def test_a_small_game_with_drawn_seats_has_no_list_of_first_moves() -> None:
    small = {"ranks": "JQK", "suits": "s", "hole_cards": 1, "max_seats": 3}
    streets = {"board_cards": [0], "raise_sizes": [2], "max_raises": [1]}
    drawn = build(load_option("game", "limit_holdem_2to9") | small | streets, "game")
    assert drawn.count_deals() < 1000
    assert "value/first_move" not in vpg(drawn).learn()
