"""States from a file, each with one value changed: refused in a line, or harmless."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from poker_rl.algos.algorithm_loader import load_algorithm
from poker_rl.config.validation import ConfigError
from poker_rl.games.game_loader import load_game
from poker_rl.players.player import NonFiniteProbsError
from poker_rl.storage.checkpoint import LOAD_STATE_ERRORS
from poker_rl.training.run_checkpoints import check_state_types

REFUSED = re.compile(r"(\w+): (\d+) of (\d+) damaged states refused")
PPO = ["algo.tables=4", "algo.rollout_steps=8", "algo.minibatches=2"]
REPLAY = ["algo.tables=4", "algo.batch_size=8", "algo.replay_capacity=50"]
LEARNERS = {
    "ppo": PPO,
    "nfsp_ppo": PPO,
    "reinforce": ["algo.hands_per_iteration=4"],
    "dqn": [*REPLAY, "algo.learning_starts=10"],
    "nfsp": [*REPLAY, "algo.learning_starts=10"],
    "vine": [*REPLAY, "algo.rollout_steps=8"],
    "sd_cfr": ["algo.traversals=8"],
    "apu": ["algo.variant=dual_apu", "algo.batch_size=8"],
    "mccfr": [],
    "cfr": [],
    "public_cfr": [],
}


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values in a state, each with the keys that lead to it."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))
    else:
        yield path, tree


def damages(leaf: Any) -> Iterator[Any]:
    """Yield what may stand in the place of a value."""
    yield "x"
    if isinstance(leaf, int):
        yield from (-1, 2**63 - 1, 2**200)
    if isinstance(leaf, torch.Tensor):
        yield from (leaf.flatten()[:1], torch.zeros(3, 5), leaf.double())
        if not leaf.is_floating_point() and leaf.dtype != torch.bool and leaf.numel():
            bounds = torch.iinfo(leaf.dtype)
            for value, index in ((bounds.min, 0), (bounds.max, -1), (127, leaf.numel() // 2)):
                changed = leaf.clone(memory_format=torch.contiguous_format)
                changed.view(-1)[index] = value
                yield changed


def learn_from_damaged(name: str) -> None:
    """Learn on from all damaged states that are accepted; a process that survives this says so."""
    game = load_game("leduc" if name == "public_cfr" else "kuhn")
    learner = load_algorithm(name, game, *LEARNERS[name])
    fresh = copy.deepcopy(learner.state_dict())
    for _ in range(3):
        learner.learn()
    whole, refused, count = copy.deepcopy(learner.state_dict()), 0, 0
    for path, leaf in leaves(whole):
        for value in damages(leaf) if path else ():
            state = copy.deepcopy(whole)
            inner = state
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            count += 1
            try:
                check_state_types({"algorithm": state}, {"algorithm": fresh}, Path("state.pt"))
                learner.load_state_dict(state)
            except (*LOAD_STATE_ERRORS, ConfigError):
                refused += 1
                continue
            try:
                learner.learn()
            except (ConfigError, NonFiniteProbsError):
                pass
            except Exception:
                print(name, path, str(value)[:60], file=sys.stderr)
                raise
    print(f"{name}: {refused} of {count} damaged states refused", flush=True)


@pytest.mark.parametrize("names", [[*LEARNERS][::2], [*LEARNERS][1::2]], ids=["even", "odd"])
def test_no_damaged_state_ends_the_process(names: list[str]) -> None:
    """In a process of its own, as compiled loops and kernels check no bounds and may kill it."""
    program = f"import sys; sys.path[:0] = {sys.path}; import test_damaged_states as t; "
    program += f"[t.learn_from_damaged(name) for name in {names}]"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name, *_ in REFUSED.findall(done.stdout)] == names
