"""Checkpoints of a run and snapshots of its players.

`state.pt` holds the full state of a run. It is written under another name, read back, flushed to
the disk and then renamed, so that it is complete at any moment. `players/<decisions>.pt` is a
snapshot of the players, {"game": game.state(), "players": {name: player.state()}}, and is never
replaced.
"""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.untrusted_files import open_regular_file
from poker_rl.config.validation import ConfigError, error_prefix, memory_errors_as_config_errors
from poker_rl.storage.disk import atomic_replacement, name_path_in_errors
from poker_rl.storage.safetensors_file import SAFETENSORS_SUFFIX, load_safetensors

STATE_FILE = "state.pt"
PLAYERS_FOLDER = "players"

# Exceptions that `load_state_dict` and similar functions raise for wrong values.
LOAD_STATE_ERRORS = (
    *(ArithmeticError, AttributeError, LookupError),
    *(RuntimeError, TypeError, ValueError),
)
# Exceptions that zipfile, pickle and torch raise for files that are damaged or no checkpoints.
UNREADABLE_FILE_ERRORS = (*LOAD_STATE_ERRORS, EOFError, zipfile.BadZipFile, pickle.UnpicklingError)

MACHINE_MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def save_atomically(path: Path, tree: dict[str, Any]) -> None:
    """Save nested tensors and plain values; the file is never incomplete, even after a crash."""
    with atomic_replacement(path) as new_path:
        try:
            with new_path.open("wb") as file:
                torch.save(tree, file)
        except RuntimeError as error:
            # When the disk is full, torch.save replaces the OSError by a RuntimeError.
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
        # Read the file, because some values, such as NumPy scalars, can be saved but not loaded.
        torch.load(new_path, map_location="cpu", weights_only=True, mmap=True)


def load_checked(path: Path) -> dict[str, Any]:
    """Load a file of `save_atomically` onto the CPU; raise ConfigError if it is damaged."""
    try:
        with (
            name_path_in_errors(path),
            error_prefix(str(path)),
            memory_errors_as_config_errors("file"),
        ):
            with (
                open_regular_file(path, MACHINE_MEMORY_BYTES) as file,
                zipfile.ZipFile(file) as archive,
            ):
                if archive.testzip() is not None:  # torch.load does not verify the checksums
                    raise zipfile.BadZipFile
            return dict(torch.load(path, map_location="cpu", weights_only=True))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except UNREADABLE_FILE_ERRORS as error:
        raise ConfigError(f"{path} is damaged or no checkpoint") from error


def find_non_finite_tensors(tree: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of the floating-point tensors that hold a NaN or an infinity."""
    if isinstance(tree, torch.Tensor):
        if tree.is_floating_point() and tree.numel():
            low, high = tree.aminmax()  # minimum and maximum are NaN if any value is
            if not (low.isfinite() and high.isfinite()):
                yield path
    elif isinstance(tree, Mapping | list | tuple):
        items = tree.items() if isinstance(tree, Mapping) else enumerate(tree)
        for key, value in items:
            yield from find_non_finite_tensors(value, f"{path}.{key}" if path else str(key))


def save_snapshot(folder: Path, decisions: int, tree: dict[str, Any]) -> Path:
    """Save a snapshot of the players in a run folder; return its path."""
    path = folder / PLAYERS_FOLDER / f"{decisions}.pt"
    path.parent.mkdir(exist_ok=True)
    save_atomically(path, copy_to_cpu(tree))
    return path


def copy_to_cpu(tree: Any) -> Any:
    """Return a copy of nested values with every tensor on the CPU, in its own storage.

    torch.save always saves the whole storage. For a view, such as one network of a stack of many,
    it would save the whole stack.
    """
    if isinstance(tree, torch.Tensor):
        return tree.detach().cpu().clone()
    if isinstance(tree, Mapping):
        return {key: copy_to_cpu(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(copy_to_cpu(value) for value in tree)
    return tree


def list_snapshots(folder: Path) -> list[Path]:
    """Return the player snapshots of a run folder, oldest first."""
    paths = (folder / PLAYERS_FOLDER).glob("*.pt")
    return sorted((p for p in paths if p.stem.isdecimal()), key=lambda path: int(path.stem))


def find_newest_snapshot(folder: Path) -> Path:
    """Return the newest player snapshot of a run folder; raise ConfigError if there is none."""
    paths = list_snapshots(folder)
    if not paths:
        raise ConfigError(f"{folder} holds no player snapshots (players/*.pt)")
    return paths[-1]


def load_snapshot(path: Path) -> dict[str, Any]:
    """Return a snapshot, {"game": ..., "players": {name: state}}."""
    is_safetensors = path.suffix == SAFETENSORS_SUFFIX
    tree = load_safetensors(path) if is_safetensors else load_checked(path)
    if not all(isinstance(tree.get(key), dict) for key in ("game", "players")):
        raise ConfigError(f"{path} is no player snapshot: one lies in players/ of a run folder")
    return tree
