"""Checkpoints of a run and snapshots of its players.

`state.pt` holds the full state of a run. It is written under another name, read back, flushed to
the disk and then renamed, so that it is complete at any moment. `players/<decisions>.pt` is a
snapshot of the players, {"game": game.to_dict(), "players": {name: player.to_dict()}}; older
snapshots are kept. Exported players are snapshots in safetensors files, which can't hold code. In
such a file, the entry `poker_rl` of the metadata is the snapshot as JSON, in which {"tensor": NAME}
stands for a tensor.
"""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.input_checks import (
    MIB,
    ConfigError,
    memory_errors_as_config_errors,
    open_regular_file,
)
from poker_rl.config.plugins import check_optional_packages
from poker_rl.storage.disk import atomic_replacement, name_path_in_errors

STATE_FILE = "state.pt"
PLAYERS_FOLDER = "players"
SAFETENSORS_SUFFIX = ".safetensors"
METADATA_KEY = "poker_rl"
MAX_METADATA_BYTES = MIB  # the settings of players take only some kilobytes
TENSOR_KEY = "tensor"

# Exceptions that `load_state_dict` and similar functions may raise for wrong values.
LOAD_STATE_ERRORS = (
    *(ArithmeticError, AttributeError, LookupError),
    *(RuntimeError, TypeError, ValueError),
)
# Exceptions that zipfile, pickle and torch may raise for damaged files and for other file formats.
UNREADABLE_FILE_ERRORS = (*LOAD_STATE_ERRORS, EOFError, zipfile.BadZipFile, pickle.UnpicklingError)

MACHINE_MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def save_atomically(path: Path, tree: dict[str, Any]) -> None:
    """Save nested tensors and plain values; the file is never incomplete, even after a crash."""
    with atomic_replacement(path) as new_path:
        try:
            with new_path.open("wb") as file:
                torch.save(tree, file)
        except RuntimeError as error:
            # When the disk is full, torch.save raises a RuntimeError instead of the OSError.
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
        # Test loading the file: some values, such as NumPy scalars, can be saved but not loaded.
        torch.load(new_path, map_location="cpu", weights_only=True, mmap=True)


def load_checked(path: Path) -> dict[str, Any]:
    """Load a file of `save_atomically` to the CPU; raise ConfigError if it can't be loaded."""
    try:
        with name_path_in_errors(path), memory_errors_as_config_errors(str(path)):
            with (
                open_regular_file(path, MACHINE_MEMORY_BYTES) as file,
                zipfile.ZipFile(file) as archive,
            ):
                is_compressed = any(one.compress_type for one in archive.infolist())
                # torch.load does not verify the checksums. A compressed file could be huge.
                if is_compressed or archive.testzip() is not None:
                    raise zipfile.BadZipFile
            return dict(torch.load(path, map_location="cpu", weights_only=True))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except UNREADABLE_FILE_ERRORS as error:
        raise ConfigError(f"{path} is damaged or no checkpoint") from error


def map_tensors(tree: Any, function: Callable[[str, torch.Tensor], Any], path: str = "") -> Any:
    """Replace each tensor in nested values by `function(path, tensor)`; a path is like "a.0"."""
    if isinstance(tree, torch.Tensor):
        return function(path, tree)
    prefix = f"{path}." if path else ""
    if isinstance(tree, Mapping):
        return {key: map_tensors(tree[key], function, f"{prefix}{key}") for key in tree}
    if isinstance(tree, list | tuple):
        values = enumerate(tree)
        return type(tree)(map_tensors(value, function, f"{prefix}{n}") for n, value in values)
    return tree


def find_non_finite_tensors(tree: Any) -> list[str]:
    """Return the paths (see `map_tensors`) of all tensors that contain a NaN or an infinity."""
    tensors: dict[str, torch.Tensor] = {}
    map_tensors(tree, tensors.__setitem__)
    # The minimum and the maximum of a tensor are NaN if any of its values is NaN.
    return [
        path
        for path, tensor in tensors.items()
        if tensor.is_floating_point() and tensor.numel()
        if not all(bound.isfinite() for bound in tensor.aminmax())
    ]


def save_snapshot(folder: Path, decisions: int, tree: dict[str, Any]) -> Path:
    """Save a snapshot of players after `decisions` decisions in a run folder; return its path."""
    path = folder / PLAYERS_FOLDER / f"{decisions}.pt"
    path.parent.mkdir(exist_ok=True)
    save_atomically(path, copy_to_cpu(tree))
    return path


def copy_to_cpu(tree: Any) -> Any:
    """Return a copy of nested values with every tensor on the CPU, in its own storage.

    torch.save always saves the whole storage of a tensor. For a view of one of K network replicas,
    it would save all K.
    """
    return map_tensors(tree, lambda _, tensor: tensor.detach().cpu().clone())


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
    """Load a snapshot, {"game": …, "players": {name: state}}; raise ConfigError if it is none."""
    is_safetensors = path.suffix == SAFETENSORS_SUFFIX
    tree = load_safetensors(path) if is_safetensors else load_checked(path)
    if not all(isinstance(tree.get(key), dict) for key in ("game", "players")):
        raise ConfigError(f"{path} is no player snapshot: one lies in players/ of a run folder")
    return tree


def save_safetensors(path: Path, tree: Mapping[str, Any]) -> None:
    """Save nested tensors and plain values in a safetensors file."""
    from safetensors.torch import save_file

    tensors: dict[str, torch.Tensor] = {}

    def replace_by_reference(name: str, tensor: torch.Tensor) -> dict[str, str]:
        tensors[name] = tensor.contiguous()
        return {TENSOR_KEY: name}

    metadata = {METADATA_KEY: json.dumps(map_tensors(tree, replace_by_reference))}
    with atomic_replacement(path) as new_path:
        save_file(tensors, new_path, metadata)


def load_safetensors(path: Path) -> dict[str, Any]:
    """Return the nested values of a file of `save_safetensors`, with tensors on the CPU.

    Raise ConfigError if the file is missing or not such a file, or safetensors is not installed.
    """
    check_optional_packages("export", str(path), "safetensors")
    from safetensors import SafetensorError, safe_open

    def resolve_reference(mapping: dict[str, Any]) -> Any:
        return tensors[mapping[TENSOR_KEY]] if mapping.keys() == {TENSOR_KEY} else mapping

    try:
        open_regular_file(path, MACHINE_MEMORY_BYTES).close()
        with safe_open(path, "pt") as file:
            text = file.metadata()[METADATA_KEY]
            if len(text) > MAX_METADATA_BYTES:
                raise ValueError("too long")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return dict(json.loads(text, object_hook=resolve_reference))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (SafetensorError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} is damaged or no player of poker-rl export") from error
