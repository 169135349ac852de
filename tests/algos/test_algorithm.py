"""What all algorithms have in common: what they are given, and the parts that they save."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from averages import average
from givens import given
from ppo_settings import ppo_settings
from toy_games import kuhn

from poker_rl.algos.load import build_algorithm
from poker_rl.algos.ppo import PPO
from poker_rl.config.build import build, find, takes
from poker_rl.config.compose import composed
from poker_rl.config.horizons import resolved
from poker_rl.config.options import CONF, option
from poker_rl.config.settings import Refused
from poker_rl.nets.dense import MLP

OPTIONS = sorted(path.stem for path in (CONF / "algo").glob("*.yaml"))
CLASSES = {target for name in OPTIONS if (target := option("algo", name).get("_target_"))}


@pytest.mark.parametrize("target", sorted(CLASSES))
def test_what_is_no_setting_is_one_object_or_the_game(target: str) -> None:
    kind = find(target, "algo._target_")
    beside = set(takes(kind)) - {field.name for field in fields(kind)}
    assert beside in ({"given"}, {"game"}, {"game", "seed"})  # of learners, and of solvers


@pytest.mark.parametrize("settings", [None, average()], ids=["without", "with"])
def test_a_part_that_a_learner_lacks_is_not_saved(settings: Any) -> None:
    net = MLP(hidden=[4], activation="relu", init="torch", features="observation")
    learner = PPO(**ppo_settings(average=settings), given=given(kuhn(), net))
    state = learner.state_dict()
    assert ("average" in state) == (settings is not None)
    assert {"progress", "agents", "networks", "optimiser"} <= state.keys()
    learner.load_state_dict(state)


@pytest.mark.parametrize("algo", ["ppo", "nfsp_ppo", "vpg", "actor_critic", "reinforce", "dqn"])
@pytest.mark.parametrize(
    ("members", "seating", "learns"),
    [
        ("agent", "fixed", False),
        ("agent", "shuffled", False),
        ("seat", "fixed", False),
        ("seat", "shuffled", True),
        ("shared", "fixed", True),
    ],
)
def test_no_network_is_left_to_an_opponent(
    algo: str, members: str, seating: str, learns: bool
) -> None:
    """Networks of seats or agents that the opponent plays would stay as they were drawn."""
    game = kuhn()
    caller = build(option("player", "call"), "opponent", game=game)
    own = [f"algo.members={members}", f"algo.seating={seating}"]
    settings = resolved(composed([f"algo={algo}", *own]))
    if not learns:
        with pytest.raises(Refused, match=f"^algo.members: {members} needs self-play; "):
            build_algorithm(settings, game, torch.device("cpu"), 0, caller)
        return
    build_algorithm(settings, game, torch.device("cpu"), 0, caller)
