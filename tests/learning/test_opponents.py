"""Opponents sampled for each seat: who plays, what is reported, and resuming to the bit."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from poker_rl.algos.algorithm_loader import build_algorithm
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.schedule_horizons import resolve_horizons
from poker_rl.config.validation import ConfigError
from poker_rl.games import load_game
from poker_rl.games.game_tree import get_tree
from poker_rl.learning.opponents import SELF, OpponentSettings
from poker_rl.learning.rollout import PendingDecisions, Rollout
from poker_rl.players.player_loader import load_player

KUHN = load_game("kuhn")
CALL = 1  # action of Kuhn poker


def call(rows: PendingDecisions) -> tuple[np.ndarray, np.ndarray]:
    return np.full(len(rows.table), CALL), np.zeros(len(rows.table))


def test_weights_are_shares_and_winnings_are_those_from_each_opponent() -> None:
    """All hands are shown down, for 1 with `call` and for 2 with `raise`."""
    players = {name: load_player(name, KUHN) for name in ("call", "raise")}
    settings = OpponentSettings(players=players, weights=[1, 3])
    rollout = Rollout(KUHN, 4000, 0, opponents=settings, seating="shuffled")
    assert rollout.opponents is not None
    batch = rollout.play_full_hands(call)
    won = batch.reward[batch.reward != 0]
    metrics = rollout.opponents.pop_metrics()
    assert metrics["opponents/raise/share"] == pytest.approx(0.75, abs=0.03)
    for name, chips in (("call", 1), ("raise", 2)):
        part = won[abs(won) == chips]
        assert metrics[f"opponents/{name}/share"] == len(part) / len(won)
        assert metrics[f"opponents/{name}/won"] == pytest.approx(part.mean())
    assert rollout.opponents.pop_metrics() == {}


def test_each_seat_has_an_opponent_of_its_own() -> None:
    """With three at the table, one opponent may raise and the other only call."""
    game = load_game("kuhn_3p")
    players = {name: load_player(name, game) for name in ("call", "raise")}
    rollout = Rollout(game, 2000, 0, opponents=OpponentSettings(players=players))
    rollout.play_full_hands(call)
    has_raise = (rollout.tables.payoffs() > 2).any(1)  # the winner has 2 from each
    assert has_raise.mean() == pytest.approx(3 / 4, abs=0.05)


def learner(algo: str, *overrides: str) -> Any:
    words = [f"algo={algo}", "game=kuhn", "budget=20000", *overrides]
    players = {SELF: None, "uniform": load_player("uniform", KUHN)}
    settings = OpponentSettings(players=players, self_interval=2)
    config = resolve_horizons(compose_plain_config(words))
    return build_algorithm(config, KUHN, torch.device("cpu"), 3, settings)


def test_self_is_a_snapshot_of_the_headline_player() -> None:
    one = learner("reinforce", "algo.hands_per_iteration=64", "algo.lr=0.5", "algo.instances=2")
    opponents, records = one.services.rollout.opponents, get_tree(KUHN).infoset_records
    (headline, *_) = one.players().values()
    before = [headline.select_instance(k).action_probs(records) for k in range(2)]
    metrics = one.learn()
    assert metrics["opponents/self/share"] + metrics["opponents/uniform/share"] == 1
    (headline, *_) = one.players().values()
    for k in range(2):
        snapshot = opponents._self_players[k].action_probs(records)
        np.testing.assert_array_equal(snapshot, before[k])
        assert abs(headline.select_instance(k).action_probs(records) - snapshot).max() > 0.01


@pytest.mark.parametrize(
    ("algo", "overrides"),
    [
        ("ppo", ["algo.instances=2", "algo.seating=shuffled", "algo.tables=16"]),
        ("reinforce", ["algo.hands_per_iteration=32"]),
        ("vpg", ["algo.seating=shuffled"]),
        ("actor_critic", ["algo.seating=shuffled"]),
        ("dqn", ["algo.seating=shuffled"]),
        ("nfsp", ["algo.seating=shuffled"]),
        ("nfsp_ppo", []),
        ("apu", ["algo.variant=dual_apu_ctrl", "algo.opponent_pool.play_prob=0"]),
    ],
)
def test_every_learner_with_networks_meets_opponents_and_resumes(
    algo: str, overrides: list[str]
) -> None:
    one, other = (learner(algo, *overrides) for _ in range(2))
    for _ in range(3):
        metrics = one.learn()
    assert metrics["opponents/self/share"] + metrics["opponents/uniform/share"] == pytest.approx(1)
    other.load_state_dict(deepcopy(one.state_dict()))
    for _ in range(2):
        rows = [dict(each.learn()) for each in (one, other)]
        for row in rows:
            del row["time/outside_networks"]
        assert rows[0] == rows[1]


def test_learners_in_self_play_take_no_opponents() -> None:
    for algo in ("vine", "sd_cfr"):
        with pytest.raises(ConfigError, match=r"opponents: .* plays itself"):
            learner(algo)
    with pytest.raises(ConfigError, match="play_prob: needs self-play; with opponents: 0"):
        learner("ppo", "algo.opponent_pool.play_prob=0.5")
