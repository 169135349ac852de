"""States from a file, each with one value changed: refused in a line, or harmless."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from small_learners import LEARNERS

from poker_rl.algos.algorithm_loader import load_algorithm
from poker_rl.config.validation import ConfigError
from poker_rl.games.game_loader import load_game
from poker_rl.players.player import NonFiniteProbsError
from poker_rl.storage.checkpoint import LOAD_STATE_ERRORS
from poker_rl.training.run_checkpoints import check_state_types

# The states of PPO and DQN are parts of those of their fictitious self-play.
NAMES = [name for name in LEARNERS if name not in ("mmd", "dqn")] + ["cfr", "mccfr", "public_cfr"]


def iterate_leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the values in a state, each with the keys that lead to it."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from iterate_leaves(value, (*path, key))
    elif path:
        yield path, tree


def select_kinds(state: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield one of the values whose paths differ in numbers alone, as those of all layers do."""
    seen = set()
    for path, leaf in iterate_leaves(state):
        kind = re.sub(r"\d+", "0", repr(path))
        if kind not in seen:
            seen.add(kind)
            yield path, leaf


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
    """Learn on from all damaged states that are accepted, and print the name at the end."""
    game = load_game("leduc" if name == "public_cfr" else "kuhn")
    more = ["algo.variant=dual_apu"] if name == "apu" else []
    learner = load_algorithm(name, game, *LEARNERS.get(name, []), *more)
    fresh = copy.deepcopy(learner.state_dict())
    for _ in range(3):
        learner.learn()
    whole, refused = copy.deepcopy(learner.state_dict()), 0
    for path, leaf in select_kinds(whole):
        for value in damages(leaf):
            state = copy.deepcopy(whole)
            inner = state
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
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
    assert refused > 10
    print(name, flush=True)


def test_no_damaged_state_ends_the_process() -> None:
    """In a process of its own, as compiled loops and kernels check no bounds and may kill it."""
    program = f"import sys; sys.path[:0] = {sys.path}; import test_damaged_states as t; "
    program += f"[t.learn_from_damaged(name) for name in {NAMES}]"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == NAMES
