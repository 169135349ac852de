"""Who may import whom: the rooms of the house, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import poker_rl

PACKAGE = Path(poker_rl.__file__).parent

# What a learner is made of, besides its own file.
PARTS = {
    *("advantages", "agents", "average", "clock", "descent", "memory", "minibatches", "nets"),
    *("rollout", "schedules", "soft_targets", "weight_average"),
}
EVERYTHING = {""}

# A room, and what of ours it may import: modules or whole packages. The longest name counts.
MAY_IMPORT = {
    "": set(),
    "advantages": {"games", "rollout"},
    "agents": {
        *("games", "memory", "minibatches", "nets", "players", "rollout"),
        *("room", "settings"),
    },
    "algos": {"algos.algorithm", "games", "players", "settings", *PARTS},
    "algos.algorithm": {"players", "settings"},
    "algos.nfsp_ppo": {"algos.ppo", "games", "players", "settings", *PARTS},
    "algos.nfsp": {"algos.algorithm", "algos.dqn", "games", "players", "settings", *PARTS},
    "amounts": {"nets", "settings"},
    "average": {"clock", "descent", "memory", "nets", "schedules", "settings"},
    "board": {"disk"},
    "checkpoint": {"disk", "settings"},
    "cli": EVERYTHING,
    "clock": set(),
    "compose": {"config", "settings"},
    "config": {"schedules", "settings", "yaml_text"},
    "descent": {"clock", "nets", "schedules"},
    "disk": {"settings"},
    "evaluate_job": EVERYTHING,
    "evaluation": {"disk", "evaluation", "folder", "games", "players", "rollout", "settings"},
    "folder": {"disk", "settings"},
    "games": {"games", "settings"},
    "history": {"nets", "settings"},
    "horizons": {"config", "schedules", "settings"},
    "job": EVERYTHING,
    "listing": set(),
    "memory": {"room", "settings"},
    "minibatches": {"games", "nets"},
    "nets": {"settings"},
    "players": {"checkpoint", "games", "nets", "players", "settings"},
    "record": {
        *("algos.algorithm", "board", "disk", "evaluation.drawing", "evaluation.measurement"),
        *("folder", "settings"),
    },
    "resume": {"checkpoint", "disk", "folder", "settings"},
    "rollout": {"games", "players"},
    "room": {"settings"},
    "run": {
        *("algos.algorithm", "evaluation.measurement"),
        *("checkpoint", "disk", "folder", "games", "horizons", "record", "resume", "settings"),
        "stop",
    },
    "schedules": {"settings"},
    "settings": set(),
    "soft_targets": {"memory"},
    "stop": set(),
    "sweep": {"disk", "stop"},
    "warm_start": {"algos.algorithm", "checkpoint", "folder", "games", "settings"},
    "weight_average": set(),
    "yaml_text": {"settings"},
}

# Libraries that only these rooms may know.
ONLY_IN = {
    "hydra": {"compose"},
    "omegaconf": {"compose", "config"},
}
NEVER_IN = {"games": {"torch", "hydra", "omegaconf", "matplotlib", "yaml"}}

MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    .removesuffix("__init__")
    .strip("."): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imports(path: Path) -> Iterator[str]:
    """The dotted names a file imports, late imports and those for types too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                inner = name.removeprefix("poker_rl.")
                yield name if inner in MODULES else str(node.module)


def within(module: str, room: str) -> bool:
    return room == "" or module == room or module.startswith(f"{room}.")


def room_of(module: str) -> str:
    rooms = [room for room in MAY_IMPORT if room and within(module, room)]
    assert rooms or not module, f"say in MAY_IMPORT what {module} may import"
    return max(rooms, key=len, default="")


@pytest.mark.parametrize("module", MODULES)
def test_imports_what_its_room_may(module: str) -> None:
    room = room_of(module)
    for name in imports(MODULES[module]):
        library = name.partition(".")[0]
        assert room in ONLY_IN.get(library, {room}), f"{module} imports {library}"
        assert library not in NEVER_IN.get(room, set()), f"{module} imports {library}"
        if library == "poker_rl":
            ours = name.removeprefix("poker_rl").strip(".")
            if ours:  # the package itself holds only its version
                allowed = any(within(ours, other) for other in MAY_IMPORT[room])
                assert allowed, f"{module} imports {ours}"


def test_every_room_is_there() -> None:
    gone = [room for room in MAY_IMPORT if not any(within(module, room) for module in MODULES)]
    assert not gone
