"""A run in several processes: the first one measures, writes and speaks, the others learn with it.

What is the same in all of them, networks and counters, is in `state.pt`, with what the first one
has of its own, tables and memories. Each of the others leaves its own in
`workers/<decisions>_<rank>.pt` before `state.pt` is replaced, so there is at any moment a whole
checkpoint: that of the decisions that `state.pt` tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from poker_rl.config.settings import Refused
from poker_rl.learning import processes
from poker_rl.storage import checkpoint

WORKERS = "workers"


def lead(algorithm: Any, folder: Path, saved: dict[str, int] | None) -> None:
    """Tell the other processes where the run is and how far, and see that all can go on.

    Args:
        saved: counters at the checkpoint that the run goes on from, None if it begins.
    """
    if processes.count() == 1:
        return
    processes.from_first((str(folder.resolve()), saved))
    agree(algorithm)
    processes.meet()


def agree(algorithm: Any, left: dict[str, Any] | None = None) -> None:
    """Let a learner be in all processes what it is in the first one, its own parts excepted.

    Args:
        left: those of this process as a checkpoint has them; None: they stay what they are.
    """
    own, shared = apart(algorithm.state_dict(), algorithm.own)
    shared = processes.from_first(checkpoint.compact(shared))
    if not processes.first():
        algorithm.load_state_dict(whole(shared, own if left is None else left))


def left_at(folder: Path, decisions: int, rank: int) -> Path:
    """Where a process other than the first one leaves what is its own at a checkpoint."""
    return folder / WORKERS / f"{decisions}_{rank}.pt"


def demand_left(folder: Path, decisions: int) -> None:
    """Refuse a checkpoint that lacks what another process of the run left.

    Raises:
        Refused: naming the file.
    """
    for rank in range(1, processes.count()):
        path = left_at(folder, decisions, rank)
        if not path.exists():
            raise Refused(f"{path}: no such file")


def tidy(folder: Path, decisions: int) -> None:
    """Remove what processes left, or left half written, at other checkpoints than this one's."""
    for path in (folder / WORKERS).glob("*_*.pt*"):
        if path.name.partition("_")[0] != str(decisions):
            path.unlink(missing_ok=True)


def apart(state: dict[str, Any], names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a state that have one of these names, at any depth, and all others."""
    own, rest = {}, {}
    for name, part in state.items():
        if name in names:
            own[name] = part
        elif isinstance(part, dict):
            inner, rest[name] = apart(part, names)
            if inner:
                own[name] = inner
        else:
            rest[name] = part
    return own, rest


def whole(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What `apart` took apart."""
    both = one | other
    return both | {name: whole(one[name], other[name]) for name in one.keys() & other.keys()}
