"""Constructor parameters, saved parts and opponents of all algorithms."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from learner_contexts import sole
from toy_games import kuhn

from poker_rl.algos.algorithm_loader import build_algorithm
from poker_rl.config.build import build, find_dataclass, list_constructor_parameters
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, load_option
from poker_rl.config.schedule_horizons import resolve_horizons
from poker_rl.config.validation import ConfigError
from poker_rl.games.game_loader import load_game

OPTIONS = sorted(path.stem for path in (SHIPPED_OPTION_DIR / "algo").glob("*.yaml"))
CLASSES = {target for name in OPTIONS if (target := load_option("algo", name).get("_target_"))}


@pytest.mark.parametrize("target", sorted(CLASSES))
def test_what_is_no_setting_is_one_object_or_the_game(target: str) -> None:
    kind = find_dataclass(target, "algo._target_")
    beside = set(list_constructor_parameters(kind)) - {field.name for field in fields(kind)}
    assert beside in ({"context"}, {"game"}, {"game", "seed"})  # of learners, and of solvers


@pytest.mark.parametrize("algo", ["ppo", "dqn"])
@pytest.mark.parametrize(
    ("network_sharing", "seating", "learns"),
    [
        ("per_agent", "fixed", False),
        ("per_agent", "shuffled", False),
        ("per_seat", "fixed", False),
        ("per_seat", "shuffled", True),
        ("shared", "fixed", True),
    ],
)
def test_no_network_is_left_to_an_opponent(
    algo: str, network_sharing: str, seating: str, learns: bool
) -> None:
    """Networks of seats or agents that the opponent plays would stay as they were drawn."""
    game = kuhn()
    caller = build(load_option("player", "call"), "opponent", game=game)
    own = [f"algo.network_sharing={network_sharing}", f"algo.seating={seating}"]
    settings = resolve_horizons(compose_plain_config([f"algo={algo}", *own]))
    if not learns:
        with pytest.raises(
            ConfigError, match=f"^algo.network_sharing: {network_sharing} needs self-play; "
        ):
            build_algorithm(settings, game, torch.device("cpu"), 0, sole(caller))
        return
    build_algorithm(settings, game, torch.device("cpu"), 0, sole(caller))


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("actor_critic", ["hands_per_iteration=1", "minibatches=1", "enumerate_deals=false"]),
        ("apu", ["variant=dual_apu_ctrl", "episodes_per_iteration=1"]),
        ("reinforce", ["hands_per_iteration=1"]),
        ("vpg", ["hands_per_iteration=1"]),
    ],
)
def test_iterations_without_a_decision_do_no_harm(algo: str, settings: list[str]) -> None:
    """In the big blind the learner decides nothing if its opponent folds."""
    game = load_game("limit_holdem")
    folds = build(load_option("player", "fold"), "opponent", game=game)
    own = [f"algo.{setting}" for setting in settings]
    own += [] if algo == "apu" else ["algo.seating=shuffled"]
    config = resolve_horizons(compose_plain_config([f"algo={algo}", "net=mlp_small", *own]))
    learner = build_algorithm(config, game, torch.device("cpu"), 0, sole(folds))
    decided = []
    for _ in range(20):
        before = learner.progress.decisions
        assert all(np.isfinite(value) for value in learner.learn().values())
        decided.append(learner.progress.decisions - before)
    assert 0 in decided
    assert max(decided) > 0
    assert learner.progress.hands == (40 if algo == "apu" else 20)
