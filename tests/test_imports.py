"""Who may import whom: the rooms of the house, read from the sources."""

from __future__ import annotations

import ast
import re

import pytest
from architecture import GROUND, arrows, floors, imports, modules, room_of

# The rooms from top to bottom, and the rooms that each of them imports.
ROOMS = {
    "cli": {"config", "play", "reports", "runs", "storage"},
    "play": {"algos", "config", "evaluation", "games", "players", "runs", "storage"},
    "reports": {"config", "evaluation", "games", "players", "runs", "storage"},
    "runs": {"algos", "config", "evaluation", "games", "learning", "players", "storage"},
    "algos": {"config", "games", "learning", "nets", "players"},
    "evaluation": {"config", "games", "players", "storage"},
    "learning": {"config", "games", "nets", "players"},
    "players": {"config", "games", "nets", "storage"},
    "games": {"config"},
    "nets": {"config"},
    "storage": {"config"},
    "config": set(),
}

# Learners that build on another one, and the solver that is asked for by its name; all others
# import no algorithm.
BUILDS_ON = {
    "algos.nfsp": {"algos.dqn"},
    "algos.nfsp_ppo": {"algos.ppo"},
    "algos.public_cfr": {"algos.cfr"},
    "algos.solve": {"algos.load"},
}

# Libraries that only these modules may know.
ONLY_IN = {
    "optuna": {"runs.space", "runs.study", "runs.trial", "runs.tune"},
    "hydra": {"config.compose", "config.overrides", "config.sweeps"},
    "omegaconf": {"config.build", "config.compose", "config.options", "config.sweeps"},
}
NEVER_IN = {"games": {"torch", "hydra", "omegaconf", "matplotlib", "yaml"}}


def test_rooms_import_what_the_plan_says() -> None:
    assert arrows() == ROOMS


def test_hydra_is_imported_late() -> None:
    """Only names as the command line takes them need it, and importing it takes half a second."""
    needs = {f"poker_rl.{module}" for module in ONLY_IN["hydra"]}
    for module, path in modules().items():
        if module not in ONLY_IN["hydra"]:
            at_once = {
                node.module
                for node in ast.parse(path.read_text()).body
                if isinstance(node, ast.ImportFrom)
            }
            assert not at_once & needs, module


def test_no_arrow_runs_up() -> None:
    order = list(ROOMS)
    for room, others in ROOMS.items():
        assert all(order.index(room) < order.index(other) for other in others), room
    assert floors(ROOMS)[GROUND] == 1


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_what_it_imports(room: str) -> None:
    docstring = ast.get_docstring(ast.parse(modules()[room].read_text()))
    assert docstring, room
    says = docstring.partition("Imports")[2].partition(".")[0]
    assert {other for other in ROOMS if other in says.replace(",", " ").split()} == ROOMS[room]


@pytest.mark.parametrize("module", modules())
def test_imports_what_it_may(module: str) -> None:
    for name in imports(modules()[module]):
        library = name.partition(".")[0]
        assert module in ONLY_IN.get(library, {module}), f"{module} imports {library}"
        assert library not in NEVER_IN.get(room_of(module), set()), f"{module} imports {library}"
        private = library != "poker_rl" and re.search(r"\._[a-z]", name)
        assert not private, f"{module} imports {name}, which any new version may change"
        ours = name.removeprefix("poker_rl.")
        # The room itself, unlike a learner in it, makes all of them importable from one place.
        if module.startswith("algos.") and ours.startswith("algos."):
            other = ".".join(ours.split(".")[:2])
            allowed = {"algos.algorithm", *BUILDS_ON.get(module, ())}
            assert other in allowed, f"{module} imports {other}"
