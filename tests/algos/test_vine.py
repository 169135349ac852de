"""Rollouts of every action: their advantages against exact ones, and what is learnt from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from givens import given
from ppo_settings import ppo_settings
from resuming import demand_resumes_to_the_bit
from torch import Tensor, nn
from toy_games import kuhn, label, leduc
from tree_values import counterfactual

from poker_rl.algos.ppo import PPO
from poker_rl.algos.vine import Vine
from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.config.schedules import Constant, Linear, Log
from poker_rl.config.settings import Refused
from poker_rl.evaluation.exploitability import exploitability
from poker_rl.games.poker.limit import Poker
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import MLP

NET = MLP(hidden=[32], activation="relu", init="torch", features="observation")


def learner(game: Poker, seed: int = 0, opponent: Any = None, **changed: Any) -> Vine:
    settings: dict[str, Any] = {
        "tables": 40,
        "steps": 3,
        "least": 0.003,
        "most": 16,
        "lone": 0.2,
        "replay": 1000,
        "updates": 4,
        "batch": 16,
        "actor_lr": Constant(start=1e-3),
        "critic_lr": Constant(start=1e-3),
        "adam_epsilon": 1e-5,
        "gradient_norm": 0.5,
        "last": Constant(start=0.1),
        "entropy": Constant(start=0.05),
        "reward_scale": 2.0,
        "last_scale": 1.0,
        "weight_average": 0.95,
        "members": "shared",
        "instances": 1,
    }
    return Vine(**settings | changed, given=given(game, NET, seed, opponent))


class Told(nn.Module):
    """A critic that was told the value of each infoset [I], and knows it by what is seen there."""

    def __init__(self, seen: np.ndarray, value: np.ndarray) -> None:
        super().__init__()
        self.copies = nn.Parameter(torch.zeros(1))  # one
        self._place = {row.tobytes(): float(value[i]) for i, row in enumerate(seen)}

    def forward(self, x: Tensor) -> Tensor:
        rows = x[0].numpy().astype(np.uint8)
        return torch.tensor([[[self._place[row.tobytes()]] for row in rows]])


@pytest.mark.parametrize("game", [kuhn(), kuhn(3), leduc()], ids=label)
def test_advantages_are_the_exact_ones_in_the_mean(
    game: Poker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the critic is right, at each infoset met 200 times and more, within 6 standard errors."""
    tree, scale = tree_of(game), 2.0
    one = learner(game, tables=2000, steps=30, updates=0, least=0.0, reward_scale=scale)
    policy = one.players()["weight_average"].probabilities(tree.records)
    regrets, won = np.zeros(tree.legal.shape), np.zeros(tree.size)  # of a decision
    for seat in range(game.seats):
        own = tree.owner == seat
        sums, met, wins = counterfactual(tree, policy, seat)
        regrets[own] = (sums / met[:, None])[own]
        won[own] = (wins / met)[own]
    seen = one._agents.known(tree.records)[0]
    one._judge.module = Told(seen, won / scale)
    added: list[dict[str, np.ndarray]] = []
    monkeypatch.setattr(one._memory, "add", lambda copy, **parts: added.append(parts))
    one._agents.rollout.stream(one._act, 30)
    place = {row.tobytes(): i for i, row in enumerate(seen)}
    sums = np.zeros((3, *tree.legal.shape))  # number, sum and sum of squares
    for parts in added:
        for row, action, count, told, chances in zip(
            *(parts[name] for name in ("observation", "action", "count", "advantage", "policy")),
            strict=True,
        ):
            i = place[row.tobytes()]
            assert sorted(action[:count]) == np.flatnonzero(tree.legal[i]).tolist()
            assert chances[:count] == pytest.approx(policy[i, action[:count]], abs=1e-5)
            sums[:, i, action[:count]] += told[:count] ** np.arange(3)[:, None]
    number = sums[0]
    often = number >= 200
    assert often.sum() >= min(60, tree.legal.sum())
    mean, square = sums[1:, often] / number[often]
    error = np.sqrt(np.maximum(square - mean**2, 0) / number[often])
    assert (abs(mean - regrets[often] / scale) <= 6 * error + 1e-5).all()


def test_actions_that_are_hardly_ever_played_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """And of decisions with one likely action a share is kept."""
    game = leduc()
    one = learner(game, tables=3000, least=0.4, lone=0.25)
    added: list[dict[str, np.ndarray]] = []
    monkeypatch.setattr(one._memory, "add", lambda copy, **parts: added.append(parts))
    batch = one._agents.rollout.stream(one._act, 3)
    count = np.concatenate([parts["count"] for parts in added])
    chances = np.concatenate([parts["policy"] for parts in added])
    advantage = np.concatenate([parts["advantage"] for parts in added])
    tree, policy = tree_of(game), one.players()["weight_average"].probabilities
    tried = (policy(tree.records) >= 0.4).sum(1)
    seen = {row.tobytes(): i for i, row in enumerate(one._agents.known(tree.records)[0])}
    expected = np.array([max(tried[seen[row.tobytes()]], 1) for row in batch.observation])
    assert count.max() == 2
    assert (count == 2).sum() == (expected == 2).sum()
    alone = (expected == 1).sum()
    assert (count == 1).sum() == pytest.approx(alone / 4, abs=5 * np.sqrt(alone * 3 / 16))
    assert (chances[count == 1, 0] == 1).all()
    assert not advantage[count == 1].any()
    assert chances.sum(1) == pytest.approx(np.ones(len(chances)))


def test_no_more_actions_are_tried_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    one = learner(leduc(), least=0.0, most=2)
    added: list[dict[str, np.ndarray]] = []
    monkeypatch.setattr(one._memory, "add", lambda copy, **parts: added.append(parts))
    one._agents.rollout.stream(one._act, 3)
    for parts in added:
        assert parts["action"].shape[1] == 2
        assert (parts["policy"][:, 0] >= parts["policy"][:, 1]).all()


def test_comes_near_equilibrium_on_kuhn() -> None:
    """Uniform play is exploitable by .458."""
    game, steps = kuhn(), 150_000
    one = learner(
        game,
        tables=256,
        replay=20_000,
        updates=8,
        batch=256,
        last_scale=0.01,
        actor_lr=Linear(start=3e-3, end=1e-4, horizon=steps),
        critic_lr=Linear(start=3e-3, end=1e-4, horizon=steps),
        entropy=Log(start=0.3, end=0.05, horizon=steps),
    )
    while one.progress.decisions < steps:
        one.learn()
    tree = tree_of(game)
    player = one.players()["weight_average"]
    assert exploitability(tree, player.probabilities(tree.records)) < 0.15


@pytest.mark.parametrize(
    "changed", [{}, {"members": "seat", "instances": 2}, {"batch": 100, "most": 2, "least": 0.4}]
)
def test_every_setting_trains_and_resumes_to_the_bit(changed: dict[str, Any]) -> None:
    game = kuhn(3)
    demand_resumes_to_the_bit(game, lambda: learner(game, seed=3, **changed))


def test_a_warm_start_goes_on_from_its_networks_or_those_of_ppo() -> None:
    game = kuhn()
    first, warm = learner(game, seed=1), learner(game, seed=2)
    for _ in range(3):
        first.learn()
    learnt = first.state_dict()
    warm.take_over(learnt)
    state = warm.state_dict()
    for name in ("networks", "weight_average", "value_average"):
        assert all(torch.equal(state[name][key], learnt[name][key]) for key in learnt[name])
    assert warm.progress.iterations == 0
    from_ppo = learner(game, seed=3)
    ppo = PPO(**ppo_settings(), given=given(game, NET, 4))
    ppo.learn()
    learnt = ppo.state_dict()
    from_ppo.take_over(learnt)
    state = from_ppo.state_dict()
    for name in ("networks", "weight_average"):
        assert all(torch.equal(state[name][key], learnt[name][key]) for key in learnt[name])
    critic = from_ppo._critic.state_dict()
    assert all(torch.equal(state["value_average"][key], critic[key]) for key in critic)


def test_an_opponent_is_refused() -> None:
    game = kuhn()
    caller = build(option("player", "call"), "opponent", game=game)
    with pytest.raises(Refused, match=r"^opponent: "):
        learner(game, opponent=caller)
