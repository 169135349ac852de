"""What a run leaves to go on from: its full state, replaced atomically, and small player snapshots.

`state.pt` is readable at any moment: it is written beside itself, read back, flushed to the disk
and then renamed. `players/<decisions>.pt` holds the players of one moment,
{"game": game.state(), "players": {name: player.state()}}, and is kept.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.settings import Refused
from poker_rl.storage.disk import at, demand_file, replaced

STATE = "state.pt"
PLAYERS = "players"

# The parts of state.pt, beside "settings": those that the run was trained with.
PARTS = ("names", "game", "progress", "algorithm", "record")

# What a file of the right form raises where its values are taken up.
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

# What zipfile, pickle and torch raise on files that are damaged or something else.
UNREADABLE = (
    RuntimeError,
    EOFError,
    ValueError,
    KeyError,
    zipfile.BadZipFile,
    pickle.UnpicklingError,
)


def save(path: Path, tree: dict[str, Any]) -> None:
    """Write tensors and plain values, leaving at any moment the old file or the new one.

    Raises:
        OSError: if the disk does not take it; the old file stays.
        pickle.UnpicklingError: if the tree holds anything but tensors and plain values.
    """
    with replaced(path) as beside:
        try:
            with beside.open("wb") as file:
                torch.save(tree, file)
        except RuntimeError as error:
            # torch.save turns a full disk into an error of its own.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
        # weights_only would refuse a stray NumPy scalar or Path only when someone resumes.
        torch.load(beside, map_location="cpu", weights_only=True, mmap=True)


def load(path: Path) -> dict[str, Any]:
    """Read what `save` wrote, on the CPU.

    Raises:
        Refused: if the file is missing, damaged or holds anything else.
    """
    try:
        demand_file(path)
        with at(path):
            with zipfile.ZipFile(path) as file:  # torch.load itself skips the checksums
                damaged = file.testzip()
            if damaged is None:
                tree = torch.load(path, map_location="cpu", weights_only=True)
                if isinstance(tree, dict):
                    return tree
    except FileNotFoundError:
        raise Refused(f"{path}: no such file") from None
    except UNREADABLE as error:
        raise Refused(f"{path} is damaged or no checkpoint") from error
    raise Refused(f"{path} is damaged or no checkpoint")


def load_state(path: Path) -> dict[str, Any]:
    """The whole state of a run, {part: ...}.

    Raises:
        Refused: if the file is missing, damaged or something else.
    """
    tree = load(path)
    for part in PARTS:
        if not isinstance(tree.get(part), dict):
            raise Refused(f"{path} is damaged or no checkpoint: it has no {part}")
    if not all(type(count) is int and count >= 0 for count in tree["progress"].values()):
        raise Refused(f"{path} is damaged or no checkpoint: its progress is not in whole numbers")
    return tree


def not_finite(tree: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of the floating tensors that hold a NaN or an infinity."""
    if isinstance(tree, torch.Tensor):
        if tree.is_floating_point() and tree.numel():
            low, high = tree.aminmax()  # spreads NaN, and needs no mask as large as the tensor
            if not (low.isfinite() and high.isfinite()):
                yield path
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from not_finite(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            yield from not_finite(value, f"{path}.{index}")


def save_snapshot(folder: Path, decisions: int, tree: dict[str, Any]) -> Path:
    """Keep the players of one moment in a run folder."""
    path = folder / PLAYERS / f"{decisions}.pt"
    path.parent.mkdir(exist_ok=True)
    save(path, compact(tree))
    return path


def compact(tree: Any) -> Any:
    """The same tree with each tensor on the CPU in storage of its own.

    A view, such as one network out of many copies, would otherwise be saved with all of them.
    """
    if isinstance(tree, torch.Tensor):
        return tree.detach().cpu().clone()
    if isinstance(tree, Mapping):
        return {key: compact(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(compact(value) for value in tree)
    return tree


def snapshots(folder: Path) -> list[Path]:
    """The player snapshots of a run folder, oldest first."""
    paths = (folder / PLAYERS).glob("*.pt")
    return sorted((p for p in paths if p.stem.isdecimal()), key=lambda path: int(path.stem))


def newest(folder: Path) -> Path:
    """The latest player snapshot of a run folder.

    Raises:
        Refused: if there is none.
    """
    paths = snapshots(folder)
    if not paths:
        raise Refused(f"{folder} holds no player snapshots (players/*.pt)")
    return paths[-1]


def load_snapshot(path: Path) -> dict[str, Any]:
    """A snapshot, {"game": ..., "players": {name: state}}.

    Raises:
        Refused: if the file is missing, damaged or something else.
    """
    tree = load(path)
    if not all(isinstance(tree.get(key), dict) for key in ("game", "players")):
        raise Refused(f"{path} is no player snapshot: one lies in players/ of a run folder")
    return tree
