"""What a run leaves to go on from: its full state, replaced atomically, and small player snapshots.

`state.pt` is readable at any moment: it is written beside itself, read back, flushed to the disk
and then renamed. `players/<decisions>.pt` holds the players of one moment,
{"game": game.state(), "players": {name: player.state()}}, and is kept.
"""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch

from poker_rl.config.files import MIB, open_file
from poker_rl.config.settings import Refused, about, in_memory
from poker_rl.config.yaml_text import DEEPEST
from poker_rl.storage.disk import at, replaced

STATE = "state.pt"
PLAYERS = "players"

# The parts of state.pt, beside "settings": those that the run was trained with.
PARTS = ("names", "game", "progress", "algorithm", "record")

# What a file of the right form raises where its values are taken up.
MISFITS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # bytes of this machine
LARGEST_PICKLE = 4 * MIB  # torch reads a mebibyte of it in a second; those of runs have kilobytes
SHARED = 10  # how often a byte of a file may be in its tensors: some are views of the same numbers

# What zipfile, pickle and torch raise on files that are damaged or something else.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
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
        with at(path), about(str(path)), in_memory("file"):
            with open_file(path, MEMORY) as file:
                values = check_archive(file)
            tree = torch.load(path, map_location="cpu", weights_only=True)
            check_tree(tree, values, path.stat().st_size)
        if isinstance(tree, dict):
            return tree
    except FileNotFoundError:
        raise Refused(f"{path}: no such file") from None
    except UNREADABLE as error:
        raise Refused(f"{path} is damaged or no checkpoint") from error
    raise Refused(f"{path} is damaged or no checkpoint")


def check_archive(file: BinaryIO) -> int:
    """Check that an archive unpacks to no more bytes than it has; return those of its pickle.

    `torch.save` never compresses. Checked here are its sums too, which torch.load skips.

    Raises:
        Refused: if it does, or its pickle is too large.
        zipfile.BadZipFile: if it is damaged.
    """
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        size = file.seek(0, os.SEEK_END)
        packed = any(one.compress_type != zipfile.ZIP_STORED for one in entries)
        if packed or sum(one.file_size for one in entries) > size:
            raise Refused("unpacks to more bytes than it has, and no checkpoint does")
        pickled = sum(one.file_size for one in entries if one.filename.endswith("/data.pkl"))
        if pickled > LARGEST_PICKLE:
            raise Refused(f"its data.pkl has {pickled:,} bytes; allowed: up to {LARGEST_PICKLE:,}")
        if archive.testzip() is not None:
            raise zipfile.BadZipFile
    return pickled


def check_tree(tree: Any, values: int, size: int) -> None:
    """Check that a tree can be walked in the time that it took to read it.

    A few lists that refer to each other can stand for billions of values, and a tensor whose
    strides are 0 for as many numbers.

    Args:
        values: bytes of the pickle: a value takes at least one.
        size: bytes of the whole file: tensors may share some of them.

    Raises:
        Refused: if it can't, or a tensor is not a plain one.
    """
    room = SHARED * size
    left = [(tree, 0)]
    while left:
        node, depth = left.pop()
        inner: list[Any] = []
        if isinstance(node, torch.Tensor):
            room -= node.numel() * node.element_size()
            if node.layout != torch.strided or node.device.type != "cpu" or node.is_quantized:
                raise Refused("holds a tensor that is not a plain one, and no checkpoint does")
        elif isinstance(node, Mapping):
            inner = [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple | set):
            inner = list(node)
        values -= len(inner)
        if room < 0 or values < 0 or depth > DEEPEST:
            raise Refused("refers to itself: it stands for more values than it has bytes")
        left += [(one, depth + 1) for one in inner]


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
