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
from typing import Any, BinaryIO

import torch

from poker_rl.config.untrusted_files import MAX_DEPTH, MIB, open_regular_file
from poker_rl.config.validation import ConfigError, error_prefix, memory_errors_as_config_errors
from poker_rl.storage.disk import atomic_replacement, naming_path
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
MAX_PICKLE_BYTES = 4 * MIB  # torch needs a second for each mebibyte; pickles of runs have kilobytes
MAX_STORAGE_SHARING = 10  # number of tensors that may share the same bytes, as views do


def save_atomically(path: Path, tree: dict[str, Any]) -> None:
    """Save nested tensors and plain values; the file is never incomplete, even after a crash."""
    with atomic_replacement(path) as new_path:
        try:
            with new_path.open("wb") as file:
                torch.save(tree, file)
        except RuntimeError as error:
            # When the disk is full, torch.save replaces the OSError by a RuntimeError.
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
        # This fails for values such as NumPy scalars, which could not be loaded by a resumed run.
        torch.load(new_path, map_location="cpu", weights_only=True, mmap=True)


def load_checked(path: Path) -> dict[str, Any]:
    """Load a file of `save_atomically` onto the CPU; raise ConfigError if it is damaged."""
    try:
        with naming_path(path), error_prefix(str(path)), memory_errors_as_config_errors("file"):
            with open_regular_file(path, MACHINE_MEMORY_BYTES) as file:
                pickle_bytes = check_archive(file)
            tree = torch.load(path, map_location="cpu", weights_only=True)
            check_loaded_values(tree, pickle_bytes, path.stat().st_size)
        return dict(tree)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except UNREADABLE_FILE_ERRORS as error:
        raise ConfigError(f"{path} is damaged or no checkpoint") from error


def check_archive(file: BinaryIO) -> int:
    """Check size and checksums of a zip archive; return the size of its pickle in bytes.

    A compressed archive is an error, because `torch.save` never compresses. The checksums are
    verified here, because `torch.load` does not verify them.
    """
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        archive_bytes = file.seek(0, os.SEEK_END)
        is_compressed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
        if is_compressed or sum(entry.file_size for entry in entries) > archive_bytes:
            raise ConfigError("unpacks to more bytes than it has, unlike a checkpoint")
        sizes = [entry.file_size for entry in entries if entry.filename.endswith("/data.pkl")]
        if sum(sizes) > MAX_PICKLE_BYTES:
            raise ConfigError(
                f"its data.pkl has {sum(sizes):,} bytes; allowed: up to {MAX_PICKLE_BYTES:,}"
            )
        if archive.testzip() is not None:
            raise zipfile.BadZipFile
    return sum(sizes)


def check_loaded_values(tree: Any, pickle_bytes: int, file_bytes: int) -> None:
    """Check that nested values are not larger than their file, and that tensors are plain.

    A few lists that contain each other can stand for billions of values, and so can a tensor whose
    strides are 0. Therefore the values are counted: each takes at least one byte of the pickle, and
    at most `MAX_STORAGE_SHARING` tensors share a byte of the file.
    """
    tensor_bytes_left = MAX_STORAGE_SHARING * file_bytes
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        children: list[Any] = []
        if isinstance(node, torch.Tensor):
            tensor_bytes_left -= node.numel() * node.element_size()
            if node.layout != torch.strided or node.device.type != "cpu" or node.is_quantized:
                raise ConfigError("holds a tensor that is sparse, quantized or not on the CPU")
        elif isinstance(node, Mapping):
            children = [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple | set):
            children = list(node)
        pickle_bytes -= len(children)
        if tensor_bytes_left < 0 or pickle_bytes < 0 or depth > MAX_DEPTH:
            raise ConfigError("refers to itself: it stands for more values than it has bytes")
        pending += [(child, depth + 1) for child in children]


def find_non_finite_tensors(tree: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of the floating-point tensors that hold a NaN or an infinity."""
    if isinstance(tree, torch.Tensor):
        if tree.is_floating_point() and tree.numel():
            low, high = tree.aminmax()  # both are NaN if any value is NaN; needs no mask in memory
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

    torch.save always saves the whole storage. For a view, such as one of many replicas, it would
    save all the replicas.
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
